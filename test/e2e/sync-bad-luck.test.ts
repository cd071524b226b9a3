import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { saveCheckpoint, sync } from '../../src/index.ts';
import { startInBackground } from '../support/background.ts';
import {
  commitFiles,
  documentPath,
  epicRef,
  expectSound,
  type List,
  readText,
  reasonsOf,
  repositoryAt,
  save,
  show,
} from '../support/checkpoints.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, type Hub, makeHub, syncIn } from '../support/remotes.ts';
import type { TestRepository } from '../support/repository.ts';
import { readHistory } from '../support/sessions.ts';
import { buryLockHolders, cost, epic, note, withOrch } from '../support/store.ts';

// Many processes: a loaded machine takes many times as long.
vi.setConfig({ testTimeout: 180_000 });

function tipOf(repository: TestRepository): string {
  return repository.git('rev-parse', epicRef);
}

/** The reasons of epic x, in no order. */
function reasons(repository: TestRepository): (string | null)[] {
  const all = orchJson<List>(repository, ['checkpoint', 'list', '--epic', 'x', '--all']);
  return reasonsOf(all).filter(Boolean).sort();
}

async function makePair(): Promise<{ hub: Hub; laptop: TestRepository; desk: TestRepository }> {
  const hub = makeHub();
  const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
  await save(laptop, ['one', 'two']);
  await syncIn(laptop);
  await syncIn(desk);
  return { hub, laptop, desk };
}

describe('a remote on which refs are not what they were', () => {
  it('was set back, or lost everything: what is here is sent again', async () => {
    const { hub, laptop, desk } = await makePair();
    const tip = tipOf(laptop);
    hub.git('update-ref', epicRef, `${epicRef}~1`);
    expect(await syncIn(desk)).toMatchObject({ pushed: [{ epicId: 'x', checkpoints: 1 }], fetched: [] });
    expect(tipOf(hub)).toBe(tip);
    for (const ref of hub.git('for-each-ref', '--format=%(refname)', 'refs/orchestration').split('\n'))
      hub.git('update-ref', '-d', ref);
    // Each sends the epic, but only its own sessions' files.
    expect(await syncIn(desk)).toMatchObject({ pushed: [{ checkpoints: 2 }], snapshots: { pushed: 0 } });
    expect(await syncIn(laptop)).toMatchObject({
      pushed: [],
      snapshots: { pushed: 1 },
      skipped: [],
      errors: [],
    });
    expect([tipOf(laptop), tipOf(desk), tipOf(hub)]).toEqual([tip, tip, tip]);
  });

  it('was set back, and somebody went on from there: both lines are joined', async () => {
    const { hub, laptop, desk } = await makePair();
    hub.git('update-ref', epicRef, `${epicRef}~1`);
    desk.git('update-ref', epicRef, `${epicRef}~1`);
    await save(desk, ['another two']);
    await syncIn(desk);
    expect((await syncIn(laptop)).merged).toMatchObject([{ epicId: 'x' }]);
    await syncIn(desk);
    expect(tipOf(desk)).toBe(tipOf(laptop));
    expect(reasons(desk)).toEqual(['another two', 'one', 'two']);
  });

  it('has what cannot be read: that epic is left as it is and told, the others go on', async () => {
    const { hub, laptop, desk } = await makePair();
    await saveCheckpoint({ epicId: 'y', reason: 'fine' }, { cwd: laptop.folder });
    const [next] = await save(laptop, ['three']);
    const path = documentPath(next);
    const text = laptop.git('show', `${epicRef}:${path}`);
    const message = laptop.git('log', '-1', '--format=%B', epicRef);
    const put = (content: string) => {
      const commit = commitFiles(laptop, `${epicRef}~1`, { [path]: content }, message);
      laptop.git(
        'push',
        '--quiet',
        '--force',
        'origin',
        `${commit}:${epicRef}`,
        'refs/orchestration/epics/y',
      );
    };
    const before = tipOf(desk);
    put(text.replace('"format": 1', '"format": 3'));
    const newer = runOrch(desk, ['sync', '--json']);
    expect(errorOf(newer)).toMatchObject({
      code: 'FORMAT_UNSUPPORTED',
      hint: expect.stringContaining('Update'),
    });
    expect(newer.status).toBe(6);
    expect(newer.stdout).toBe('');
    expect(errorOf(newer).data).toMatchObject({
      fetched: [{ epicId: 'y', checkpoints: 1 }],
      pushed: [],
      errors: [{ epicId: 'x', code: 'FORMAT_UNSUPPORTED' }],
    });
    put(text.replace('three', 'THREE'));
    expect(await syncIn(desk)).toMatchObject({ errors: [{ epicId: 'x', code: 'INTEGRITY' }], fetched: [] });
    expect(tipOf(desk)).toBe(before);
    expect(await save(desk, ['still works'])).toMatchObject([{ seq: 3 }]);
    expectSound(hub);
  });

  it('has names no orch gives: they are left alone', async () => {
    const { hub, desk } = await makePair();
    const tip = tipOf(hub);
    for (const name of ['epics/X', 'epics/a/b', 'epics/con', 'snapshots/x/nobody'])
      hub.git('update-ref', `refs/orchestration/${name}`, tip);
    const { stderr, stdout, status } = runOrch(desk, ['sync']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'origin: already up to date\n' });
    expect(stderr).toContain('skipped refs/orchestration/epics/X: it differs from x only by case');
    expect(stderr).toContain('skipped refs/orchestration/epics/a/b: not a name that orch uses');
    expect(desk.git('for-each-ref', 'refs/orchestration/epics').split('\n')).toHaveLength(1);
  });
});

describe('a clone that is not whole, or not alone', () => {
  it('is shallow: its checkpoints and files go out all the same, and come in', async () => {
    const { hub, laptop } = await makePair();
    laptop.git('commit', '--quiet', '--allow-empty', '--message', 'second');
    laptop.git('push', '--quiet', 'origin', 'main');
    const shallow = cloneOf(hub, 'shallow', '--depth=1');
    expect(await syncIn(shallow)).toMatchObject({ fetched: [{ checkpoints: 2 }], errors: [] });
    await save(shallow, ['three']);
    expect(await syncIn(shallow)).toMatchObject({ pushed: [{ checkpoints: 1 }], snapshots: { pushed: 1 } });
    await syncIn(laptop);
    expect(reasons(laptop)).toEqual(['one', 'three', 'two']);
    expect(shallow.git('rev-parse', '--is-shallow-repository')).toBe('true');
    // To where nobody has the rest of its history, its files cannot go: that is said, and the rest goes.
    const bare = join(hub.home, 'empty');
    hub.git('init', '--quiet', '--bare', bare);
    const { pushed, errors } = await syncIn(shallow, bare);
    expect(pushed).toMatchObject([{ epicId: 'x' }]);
    expect(errors).not.toEqual([]);
    for (const { code, hint } of errors) {
      expect({ code, hint }).toEqual({
        code: 'REMOTE_REFUSED',
        hint: expect.stringContaining('--unshallow'),
      });
    }
  });

  it('is partial, or borrows its objects from another: it gets all it needs', async () => {
    const { hub, laptop } = await makePair();
    hub.git('config', 'uploadpack.allowFilter', 'true');
    const partial = cloneOf(hub, 'partial', '--filter=blob:none');
    const borrowing = cloneOf(hub, 'borrowing', '--reference', laptop.folder);
    for (const clone of [partial, borrowing]) {
      await syncIn(clone);
      await save(clone, [clone.folder]);
      expect((await syncIn(clone)).errors).toEqual([]);
    }
    // Nothing is left to be fetched when it is read.
    partial.git('remote', 'set-url', 'origin', '/nowhere');
    expect(reasons(partial)).toHaveLength(3);
    expect(orchJson(partial, ['checkpoint', 'verify'])).toMatchObject({ damaged: [] });
    expect(tipOf(hub)).toBe(tipOf(borrowing));
  });

  it('was copied: both go on, and neither counts the other', async () => {
    const { hub, laptop } = await makePair();
    const copy = repositoryAt(hub.home, join(hub.home, 'copy'));
    cpSync(laptop.folder, copy.folder, { recursive: true });
    await save(copy, ['in the copy']);
    await save(laptop, ['in the original']);
    for (const clone of [copy, laptop, copy]) expect((await syncIn(clone)).errors).toEqual([]);
    expect(tipOf(copy)).toBe(tipOf(laptop));
    expect(reasons(copy)).toEqual(['in the copy', 'in the original', 'one', 'two']);
    expect(Object.keys(show(copy, 'latest').document.state.ledger)).toHaveLength(2);
  });

  it('I4 I6: was copied while a session ran: the session is the original’s, and all money counts', async () => {
    const { hub, laptop } = await makePair();
    const session = startInBackground(laptop, 'x');
    const record = (clone: TestRepository, ...what: string[]) =>
      orchJson(clone, ['record', ...what, '-e', 'x']);
    record(laptop, 'cost', '1');
    const copy = repositoryAt(hub.home, join(hub.home, 'copy'));
    cpSync(laptop.folder, copy.folder, { recursive: true });

    expect(runOrch(copy, ['status']).stdout).toContain('○ running in another clone ');
    expect(errorOf(runOrch(copy, ['resume', '-e', 'x', '--background', '--json']))).toMatchObject({
      code: 'SESSION_ACTIVE',
      data: { sessionId: session.id, reason: 'elsewhere' },
    });
    const inherited = runOrch(copy, ['record', 'note', 'x', '--json'], { env: { ORCH_SESSION: session.id } });
    expect(errorOf(inherited).code).toBe('SESSION_NOT_FOUND');
    record(copy, 'cost', '2');
    record(laptop, 'cost', '4');
    orchJson(copy, ['resume', '-e', 'x', '--background', '--no-baseline', '--take-over']);
    record(copy, 'cost', '8');
    orchJson(copy, ['session', 'pause', '-e', 'x']);
    for (const clone of [copy, laptop, copy]) expect((await syncIn(clone)).errors).toEqual([]);
    record(laptop, 'cost', '16');
    expect(orchJson(laptop, ['session', 'pause', '-e', 'x'])).toMatchObject({ session: { id: session.id } });
    for (const clone of [laptop, copy]) expect((await syncIn(clone)).errors).toEqual([]);
    expect(tipOf(copy)).toBe(tipOf(laptop));
    expect(orchJson(copy, ['cost', '-e', 'x'])).toMatchObject({ budget: { spentUsd: 31 } });
  });

  it('was moved: it goes on', async () => {
    const { hub, laptop, desk } = await makePair();
    const moved = repositoryAt(hub.home, join(hub.home, 'moved'));
    renameSync(laptop.folder, moved.folder);
    await save(moved, ['from its new place']);
    expect(await syncIn(moved)).toMatchObject({ pushed: [{ checkpoints: 1 }], snapshots: { pushed: 1 } });
    await syncIn(desk);
    expect(tipOf(desk)).toBe(tipOf(moved));
  });

  it('I4 I6: came back from an old backup: nothing is lost, and nothing is counted twice', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    const work = (clone: TestRepository, id: string, micros: number) =>
      saveCheckpoint({ epicId: epic, facts: [note(id), cost(micros)] }, { cwd: clone.folder });
    await work(laptop, 'a', 1);
    const backup = join(hub.home, 'backup');
    cpSync(laptop.folder, backup, { recursive: true });
    await work(laptop, 'b', 10);
    await syncIn(laptop);
    await syncIn(desk);
    await work(desk, 'c', 100);
    await syncIn(desk);
    rmSync(laptop.folder, { recursive: true });
    renameSync(backup, laptop.folder);
    await work(laptop, 'd', 1_000);
    await syncIn(laptop);
    await work(laptop, 'e', 10_000);
    for (const clone of [laptop, desk, laptop]) expect((await syncIn(clone)).errors).toEqual([]);
    for (const clone of [laptop, desk]) {
      const { notes, micros } = await withOrch({ cwd: clone.folder }, readHistory);
      expect({ notes: [...notes].sort(), micros }).toEqual({
        notes: ['a', 'b', 'c', 'd', 'e'],
        micros: 11_111,
      });
    }
  });
});

describe('a sync that is cut short', () => {
  it('I3: at any write of its own: the next one finds it as it was, or done', async () => {
    const { hub, laptop, desk } = await makePair();
    const made = ['one', 'two'];
    let died = true;
    for (let at = 1; died; at += 5) {
      await save(laptop, [`laptop ${at}`]);
      await save(desk, [`desk ${at}`]);
      made.push(`laptop ${at}`, `desk ${at}`);
      await syncIn(laptop);
      const { disk, hasDied } = makeCrashingDisk({ at, torn: at % 2 === 0 });
      died = await withOrch({ cwd: desk.folder, disk }, (orch) =>
        sync(null, orch, { mayPublish: () => true }).then(
          () => false,
          (error) => {
            if (hasDied()) return true;
            throw error;
          },
        ),
      );
      buryLockHolders(desk.folder);
    }
    for (const clone of [desk, laptop]) expect((await syncIn(clone)).errors).toEqual([]);
    expect(tipOf(desk)).toBe(tipOf(laptop));
    expect(reasons(desk)).toEqual(made.sort());
    for (const each of [hub, laptop, desk]) expectSound(each);
  });

  it('by a full disk: it says so, changes nothing of what was there, and goes on with space', async () => {
    const { laptop, desk } = await makePair();
    await save(laptop, ['three']);
    await syncIn(laptop);
    await save(desk, ['another three']);
    const full = () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };
    const before = tipOf(desk);
    await withOrch({ cwd: desk.folder }, async (orch) => {
      const broken = { ...orch, disk: { ...orch.disk, write: full } };
      await expect(sync(null, broken, { mayPublish: () => true })).rejects.toMatchObject({
        code: 'WRITE_FAILED',
      });
    });
    expect(tipOf(desk)).toBe(before);
    expect((await syncIn(desk)).errors).toEqual([]);
    expect(reasons(desk)).toEqual(['another three', 'one', 'three', 'two']);
    expect(readText(desk.folder, 'README')).toBe('hello\n');
  });
});
