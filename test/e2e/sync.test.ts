import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parseOid } from '../../src/ids.ts';
import { deleteEpicCheckpoints, openOrch, saveCheckpoint, sync } from '../../src/index.ts';
import { fetchSnapshot } from '../../src/sync/fetch-epic.ts';
import { epicRef, expectSound, fail, list, reasonsOf, save, show } from '../support/checkpoints.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import type { TestRepository } from '../support/repository.ts';

// Many processes: a loaded machine takes many times as long.
vi.setConfig({ testTimeout: 180_000 });

const trackedRef = 'refs/orchestration-local/remotes/origin/epics/x';

function saveEpic(repository: TestRepository, epicId: string) {
  return saveCheckpoint({ epicId }, { cwd: repository.folder });
}

/** Every ref that is not orch's own, HEAD, index, config and what a fetch of the user's leaves behind. */
function lookAtUsers(repository: TestRepository): string[] {
  const refs = repository.git('for-each-ref').split('\n');
  const files = ['HEAD', 'index', 'config', 'FETCH_HEAD', 'packed-refs', 'ORIG_HEAD'].map((name) => {
    const found = repository.tryGit('hash-object', join('.git', name));
    return `${name} ${found.stdout.trim()}`;
  });
  return [...refs.filter((line) => !line.includes('refs/orchestration')), ...files];
}

describe('the first sync to an address', () => {
  it('says what it would publish, publishes nothing unasked, and remembers a yes', async () => {
    const hub = makeHub();
    const clone = cloneOf(hub, 'clone');
    clone.write('README', 'committed here only\n');
    clone.git('commit', '--quiet', '--all', '--message', 'Not pushed yet');
    clone.write('secret-notes.txt', 'mine\n');
    await save(clone, ['one', 'two']);
    const error = fail(clone, ['sync']);
    expect(error).toMatchObject({ status: 2, code: 'USAGE', hint: expect.stringContaining('--dry-run') });
    expect(error.message).toBe(
      'the first sync to origin would publish 2 checkpoints, 1 snapshot of your files (1 untracked file), 1 commit not on origin yet; not a terminal, so orch cannot ask',
    );
    expect(hub.git('for-each-ref', 'refs/orchestration')).toBe('');

    const { stdout, status } = runOrch(clone, ['sync', '--dry-run']);
    expect(status).toBe(0);
    expect(stdout.replace(/[0-9a-f]{9}/, 'HASH')).toBe(
      [
        'publish  x: 2 checkpoints',
        'publish  1 snapshot of your files',
        '           untracked  secret-notes.txt',
        'publish  1 commit not on origin yet',
        '           HASH  Not pushed yet',
        '',
      ].join('\n'),
    );
    expect(hub.git('for-each-ref', 'refs/orchestration')).toBe('');
    expect(clone.git('for-each-ref', 'refs/orchestration-local')).toBe('');

    expect(runOrch(clone, ['sync', '-y']).stdout).toMatch(/^x +↑ 2 checkpoints\nsnapshots +↑ 1 session\n$/);
    await save(clone, ['three']);
    expect(runOrch(clone, ['sync']).status).toBe(0);
    // Another address under the same name is asked about anew.
    hub.git('clone', '--quiet', '--bare', hub.folder, join(hub.home, 'elsewhere'));
    clone.git('remote', 'set-url', 'origin', join(hub.home, 'elsewhere'));
    expect(fail(clone, ['sync']).code).toBe('USAGE');
  });

  it('asks for nothing where it only fetches, or sends no files where none are wanted', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    await save(laptop, ['one']);
    expect(orchJson(laptop, ['sync', '-y', '--no-snapshots'])).toMatchObject({ snapshots: { pushed: 0 } });
    expect(hub.git('for-each-ref', 'refs/orchestration/snapshots')).toBe('');
    expect(runOrch(desk, ['sync'])).toMatchObject({ status: 0, stdout: 'x  ↓ 1 checkpoint\n' });
    // A yes to checkpoints is none to files, and one to a single epic is none to all.
    expect(fail(laptop, ['sync']).message).toContain('1 snapshot of your files');
    await save(desk, ['two']);
    await saveEpic(desk, 'y');
    expect(orchJson(desk, ['sync', '-y', '--epic', 'y'])).toMatchObject({ pushed: [{ epicId: 'y' }] });
    expect(fail(desk, ['sync']).message).toContain('1 checkpoint');
    mkdirSync(join(laptop.folder, '.orchestration'));
    laptop.write('.orchestration/config.yaml', 'sync:\n  snapshots: false\n');
    expect(orchJson(laptop, ['sync'])).toMatchObject({ snapshots: { pushed: 0 } });
  });
});

describe('a sync', () => {
  it("I1: leaves all that is the user's as it is, and works beside plain git", async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    for (const [key, value] of [
      ['fetch.prune', 'true'],
      ['remote.origin.prune', 'true'],
      ['push.followTags', 'true'],
      ['remote.origin.mirror', 'true'],
      ['remote.origin.tagOpt', '--tags'],
    ] as const)
      laptop.git('config', key, value);
    laptop.git('tag', '-a', 'v1', '-m', 'mine');
    hub.git('branch', 'new-there');
    writeFileSync(join(laptop.folder, '.git/hooks/pre-push'), '#!/bin/sh\ntouch hook-ran; exit 1\n');
    chmodSync(join(laptop.folder, '.git/hooks/pre-push'), 0o755);
    await save(laptop, ['one']);
    const before = [lookAtUsers(laptop), lookAtUsers(hub)];
    await syncIn(laptop);
    await save(desk, ['two']);
    await syncIn(desk);
    await syncIn(laptop);
    expect([lookAtUsers(laptop), lookAtUsers(hub)]).toEqual(before);
    expect(laptop.tryGit('status', '--porcelain').stdout).toBe('');

    // As documented: both are safe beside it.
    await save(desk, ['three']);
    desk.git('push', '--quiet', 'origin', 'refs/orchestration/epics/*');
    const tracking = 'refs/orchestration/epics/*:refs/orchestration-local/remotes/origin/epics/*';
    laptop.git('fetch', '--quiet', 'origin', tracking);
    expect(laptop.git('rev-parse', trackedRef)).toBe(desk.git('rev-parse', epicRef));
    expect(await syncIn(laptop)).toMatchObject({ fetched: [{ checkpoints: 1 }], pushed: [], errors: [] });
    expect(await syncIn(desk)).toMatchObject({ fetched: [], pushed: [], errors: [] });
    expect(laptop.git('rev-parse', epicRef)).toBe(desk.git('rev-parse', epicRef));
    expectSound(laptop);
  });

  it('works inside a pre-push hook', async () => {
    const hub = makeHub();
    const clone = cloneOf(hub, 'clone');
    await save(clone, ['one']);
    const hook = `#!/bin/sh\nexec '${process.execPath}' '${orchBin}' sync -y </dev/null\n`;
    writeFileSync(join(clone.folder, '.git/hooks/pre-push'), hook);
    chmodSync(join(clone.folder, '.git/hooks/pre-push'), 0o755);
    clone.git('push', '--quiet', 'origin', 'HEAD:refs/heads/other');
    expect(hub.git('rev-parse', epicRef)).toBe(clone.git('rev-parse', epicRef));
    expect(hub.git('rev-parse', 'other')).toBe(clone.git('rev-parse', 'HEAD'));
  });

  it('with nothing to do asks the remote once, and does nothing else', async () => {
    const clone = cloneOf(makeHub(), 'clone');
    await save(clone, ['one']);
    await syncIn(clone);
    const bin = join(clone.home, 'bin');
    mkdirSync(bin);
    writeFileSync(
      join(bin, 'git'),
      `#!/bin/sh\necho "$*" >> '${bin}/log'\nPATH='${process.env.PATH}' exec git "$@"\n`,
    );
    chmodSync(join(bin, 'git'), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const before = clone.git('for-each-ref');
    expect(runOrch(clone, ['sync'], { env }).stdout).toBe('origin: already up to date\n');
    const asked = readFileSync(join(bin, 'log'), 'utf8').trim().split('\n');
    const commands = asked.map(
      (line) => line.replace(/^(-c (core\.alternateRefsCommand=.*; f|\S+) )*/, '').split(' ')[0],
    );
    expect(commands).toEqual(['remote', 'ls-remote']);
    expect(clone.git('for-each-ref')).toBe(before);
  });

  it('takes a path or a URL for a remote, from where it was typed, and only the epic that is named', async () => {
    const hub = makeHub();
    const clone = cloneOf(hub, 'clone');
    await save(clone, ['one']);
    await saveEpic(clone, 'y');
    mkdirSync(join(clone.folder, 'below'));
    const args = ['sync', '../../hub/repository', '-y', '--epic', 'y'];
    expect(orchJson(clone, args, { cwd: join(clone.folder, 'below') })).toMatchObject({
      pushed: [{ epicId: 'y', checkpoints: 1 }],
      snapshots: { pushed: 1, fetched: 0 },
    });
    expect(hub.tryGit('rev-parse', '--verify', '--quiet', epicRef).status).toBe(1);
    expect(fail(clone, ['sync', '--epic', 'nothing'])).toMatchObject({ status: 1, code: 'EPIC_NOT_FOUND' });
    expect(fail(clone, ['sync', '--timeout', 'soon'])).toMatchObject({ status: 2, code: 'USAGE' });
    const env = { ORCH_ENGINE: 'isomorphic' };
    expect(fail(clone, ['sync'], { env })).toMatchObject({ status: 1, code: 'REPOSITORY_UNSUPPORTED' });
  });

  it('does not bring back what was deleted here, until others went on with it', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    await save(laptop, ['one']);
    await syncIn(laptop);
    await syncIn(desk);
    await deleteEpicCheckpoints('x', { cwd: desk.folder });
    expect(await syncIn(desk)).toMatchObject({ fetched: [], snapshots: { fetched: 0 }, returned: [] });
    expect(desk.tryGit('rev-parse', '--verify', '--quiet', epicRef).status).toBe(1);
    expect(hub.git('rev-parse', epicRef)).toBe(laptop.git('rev-parse', epicRef));
    await save(laptop, ['two']);
    await syncIn(laptop);
    const { stdout } = runOrch(desk, ['sync']);
    expect(stdout).toMatch(/^x +↓ 2 checkpoints +back from another clone, after it was deleted here$/m);
    expect(desk.git('rev-parse', epicRef)).toBe(laptop.git('rev-parse', epicRef));
  });

  it('beside a running session: it makes no checkpoint for it, says what is pending, and the session goes on', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    await save(desk, ['on the desk']);
    await syncIn(desk);
    const start = ['start', '-e', 'x', '--background', '--no-baseline'];
    const { session } = orchJson<{ session: { id: string } }>(laptop, start);
    orchJson(laptop, ['record', 'note', 'not saved yet']);
    const { stderr, stdout, status } = runOrch(laptop, ['sync', '-y']);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: 'x: 1 event not in a checkpoint yet, so not sent yet\n',
    });
    expect(stdout).toMatch(/^x +↑ 2 checkpoints {2}↓ 1 checkpoint {2}merged$/m);
    orchJson(laptop, ['record', 'note', 'after the join']);
    expect(orchJson(laptop, ['session', 'pause'])).toMatchObject({
      session: { id: session.id, status: 'paused' },
    });
    expect(orchJson(laptop, ['sync'])).toMatchObject({ pushed: [{ checkpoints: 1 }], pending: [] });
    await syncIn(desk);
    expect(reasonsOf(list(desk))).toContain('on the desk');
    const notes = Object.values(show(desk, 'latest').document.state.notes).map(({ value }) => value.text);
    expect(notes.sort()).toEqual(['after the join', 'not saved yet']);
  });
});

describe('what other machines cannot see yet', () => {
  it('is told by status, from refs alone, and only where there was a sync', async () => {
    const hub = makeHub();
    const clone = cloneOf(hub, 'clone');
    await save(clone, ['one']);
    const read = () => orchJson<{ epics: { epicId: string; unpushed?: number }[] }>(clone, ['status']).epics;
    expect(read()[0]).not.toHaveProperty('unpushed');
    expect(runOrch(clone, ['status']).stdout).not.toContain('npushed');
    await syncIn(clone);
    expect(read()).toMatchObject([{ unpushed: 0 }]);
    expect(runOrch(clone, ['status']).stdout).not.toContain('npushed');
    await save(clone, ['two', 'three']);
    await saveEpic(clone, 'y');
    clone.git('remote', 'set-url', 'origin', '/nowhere');
    expect(Object.fromEntries(read().map(({ epicId, unpushed }) => [epicId, unpushed]))).toEqual({
      x: 2,
      y: 1,
    });
    expect(runOrch(clone, ['status']).stdout).toMatch(
      /^Unpushed: 3 checkpoints \((x, y|y, x)\)\. Share: orch sync$/m,
    );
  });
});

describe('resuming on another machine', () => {
  it('fetches an epic that is not here, once, and goes on from it', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    await save(laptop, ['done on the laptop']);
    await syncIn(laptop);
    const ran = runOrch(desk, ['resume', '-e', 'x', '--no-baseline', '--', 'true']);
    expect(ran).toMatchObject({ status: 0 });
    expect(reasonsOf(list(desk))).toContain('done on the laptop');
    expect(fail(desk, ['resume', '-e', 'never', '--no-baseline'])).toMatchObject({ code: 'EPIC_NOT_FOUND' });
    desk.git('remote', 'set-url', 'origin', 'git://127.0.0.1:1/x');
    const offline = fail(desk, ['resume', '-e', 'never', '--no-baseline']);
    expect(offline).toMatchObject({ status: 1, code: 'EPIC_NOT_FOUND' });
    expect(offline.stderr).toContain('could not be reached');
  });

  it('joins first what was fetched by other means', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    await save(laptop, ['on the laptop']);
    await syncIn(laptop);
    await save(desk, ['on the desk']);
    desk.git('fetch', '--quiet', 'origin', `${epicRef}:${trackedRef}`);
    expect(runOrch(desk, ['resume', '-e', 'x', '--no-baseline', '--', 'true']).status).toBe(0);
    expect(reasonsOf(list(desk))).toEqual(expect.arrayContaining(['on the laptop', 'on the desk']));
  });

  it('gets the code of a checkpoint whose files were not fetched along', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    laptop.write('new-file', 'made on the laptop\n');
    const [checkpoint] = await save(laptop, ['one']);
    await syncIn(laptop);
    await sync(null, { cwd: desk.folder }, { snapshots: false });
    const { sessionId: session, snapshot } = checkpoint;
    if (snapshot === null) throw new Error('no files were kept');
    const wanted = { epic: checkpoint.epicId, session, commit: snapshot };
    const orch = await openOrch({ cwd: desk.folder });
    try {
      expect(desk.tryGit('cat-file', '-e', snapshot).status).not.toBe(0);
      expect(await fetchSnapshot(orch, wanted, 'origin')).toBe(true);
      expect(desk.git('show', `${snapshot}:new-file`)).toBe('made on the laptop');
      expect(await fetchSnapshot(orch, { ...wanted, commit: parseOid('0'.repeat(40)) }, 'origin')).toBe(
        false,
      );
    } finally {
      orch.close();
    }
  });
});
