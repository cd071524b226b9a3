import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deleteEpicCheckpoints, saveCheckpoint } from '../../src/index.ts';
import { endAfterwards, startInBackground } from '../support/background.ts';
import { expectSound, listFiles, readText, repositoryAt, save } from '../support/checkpoints.ts';
import { orchJson, runOrch, startOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { statusOf, waitUntil, writeConfig } from '../support/supervised.ts';

type Item = { readonly kind: string; readonly name: string; readonly reason: string };
type Cleaned = {
  readonly scanned: number;
  readonly removed: readonly Item[];
  readonly kept: readonly Item[];
  readonly bytes: number;
  readonly dryRun: boolean;
};

/** The time so many days from now: files have the real time, so the clock must go on from there. */
function inDays(days: number): Record<string, string> {
  return { ORCH_NOW: new Date(Date.now() + days * 86_400_000).toISOString() };
}

function clean(repository: TestRepository, days: number, ...args: string[]): Cleaned {
  return orchJson<Cleaned>(repository, ['cleanup', ...args], { env: inDays(days) });
}

const named = (items: readonly Item[]) =>
  items.map(({ kind, name }) => `${kind} ${name.split(' ')[0]}`).sort();

function refsBelow(repository: TestRepository, prefix: string): string[] {
  return repository
    .git('for-each-ref', '--format=%(refname)', prefix)
    .split('\n')
    .filter((ref) => ref !== '');
}

/** A checkpoint with a change of its own, in a session of its own (agents share none), some hours apart. */
async function work(
  repository: TestRepository,
  epicId: string,
  content: string,
  hours: number,
): Promise<string> {
  repository.write('work', `${content}\n`);
  const now = Date.parse(inDays(hours / 24).ORCH_NOW ?? '');
  const input = { epicId, reason: content, agent: content };
  return (await saveCheckpoint(input, { cwd: repository.folder, clock: { now: () => now } })).sessionId;
}

async function workThrice(repository: TestRepository): Promise<string[]> {
  const sessions: string[] = [];
  for (const [at, content] of ['one', 'two', 'three'].entries())
    sessions.push(await work(repository, 'x', content, at));
  return sessions;
}

/** What stands below .git, byte for byte. */
function contentOf(repository: TestRepository): Map<string, string> {
  return new Map(
    listFiles(join(repository.folder, '.git')).map((path) => [path, readFileSync(path, 'latin1')]),
  );
}

describe('orch cleanup', () => {
  it('takes snapshots, failed epics and their trash away in their time, and nothing of the user', async () => {
    const repository = makeRepositoryWithCommit();
    const sessions = await workThrice(repository);
    runOrch(repository, ['start', '-e', 'bad', '--no-baseline', '--', 'sh', '-c', 'exit 3']);
    const branches = repository.git('for-each-ref', 'refs/heads');
    expect(clean(repository, 0).removed).toEqual([]);

    const before = contentOf(repository);
    const planned = clean(repository, 8, '--dry-run');
    expect(Object.keys(planned).sort()).toEqual([
      'archived',
      'bytes',
      'dryRun',
      'gitBytes',
      'kept',
      'removed',
      'scanned',
    ]);
    for (const item of planned.removed)
      expect(item).toMatchObject({
        kind: 'epic',
        ref: expect.any(String),
        reason: expect.any(String),
        bytes: null,
      });
    expect(planned.dryRun).toBe(true);
    expect(contentOf(repository)).toEqual(before);
    expect(named(planned.removed)).toEqual(['epic bad']);
    expect(clean(repository, 8).removed.map(({ name }) => name)).toEqual(['bad']);
    expect(refsBelow(repository, 'refs/orchestration/epics')).toEqual(['refs/orchestration/epics/x']);
    expect(refsBelow(repository, 'refs/orchestration-local/trash/bad')).toHaveLength(1);
    expect(clean(repository, 8).removed).toEqual([]);

    const later = clean(repository, 31);
    expect(named(later.removed)).toEqual(['snapshots x', 'snapshots x']);
    expect(later.bytes).toBeGreaterThan(0);
    const left = refsBelow(repository, 'refs/orchestration/snapshots/x');
    expect(left).toEqual([`refs/orchestration/snapshots/x/${sessions[2]}`]);
    const forgotten = readFileSync(join(repository.folder, '.git/orchestration/forgotten'), 'utf8');
    for (const session of sessions.slice(0, 2))
      expect(forgotten).toContain(`refs/orchestration/snapshots/x/${session} `);
    expect(refsBelow(repository, 'refs/orchestration-local/trash/bad')).toHaveLength(1);

    expect(named(clean(repository, 61).removed)).toContain('trash bad,');
    expect(refsBelow(repository, 'refs/orchestration-local/trash')).toEqual([]);
    expect(refsBelow(repository, 'refs/orchestration/snapshots/bad')).toEqual([]);
    expect(listFiles(join(repository.folder, '.git/orchestration/trash'))).toEqual([]);
    expect(repository.git('for-each-ref', 'refs/heads')).toBe(branches);
    expectSound(repository);
    const { total } = orchJson<{ total: number }>(repository, ['checkpoint', 'list', '-e', 'x']);
    expect(total).toBe(3);
  });

  it('keeps the last green code, and what runs', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'gates:\n  - { name: fine, run: "true" }\n');
    const green = orchJson<{ passed: boolean }>(repository, ['baseline', '-e', 'x']);
    expect(green.passed).toBe(true);
    const { checkpoints } = orchJson<{ checkpoints: { sessionId: string; gates: string }[] }>(repository, [
      'checkpoint',
      'list',
      '-e',
      'x',
    ]);
    const greens = checkpoints.filter(({ gates }) => gates === 'green');
    expect(greens).toHaveLength(1);
    for (const at of [1, 2, 3]) await work(repository, 'x', `more ${at}`, at);
    const { id } = startInBackground(repository, 'y');
    const { removed, kept } = clean(repository, 400);
    expect(named(removed)).toEqual(['snapshots x', 'snapshots x']);
    const stays = kept.filter(({ kind }) => kind === 'snapshots');
    const whyOf = (name: string) => stays.find((one) => one.name === name)?.reason;
    expect(stays).toHaveLength(3);
    expect(whyOf(`x ${greens[0]?.sessionId}`)).toBe('the code that last passed all gates');
    expect(whyOf(`y ${id}`)).toBe('its session is running');
  });

  it('takes the undo of a worktree that is gone, and no other', async () => {
    const repository = makeRepositoryWithCommit();
    await work(repository, 'x', 'then', 0);
    const linked = repositoryAt(repository.home, join(repository.home, 'linked'));
    repository.git('worktree', 'add', '--quiet', linked.folder);
    for (const place of [repository, linked]) {
      place.write('work', 'now\n');
      expect(runOrch(place, ['restore', '1', '-e', 'x', '-y']).status).toBe(0);
    }
    const undos = 'refs/orchestration-local/undo';
    expect(refsBelow(repository, undos)).toHaveLength(2);
    expect(named(clean(repository, 400).removed)).not.toContain('undo of');
    repository.git('worktree', 'remove', '--force', linked.folder);
    expect(named(clean(repository, 20).removed)).not.toContain('undo of');
    expect(named(clean(repository, 400).removed)).toContain('undo of');
    expect(refsBelow(repository, undos)).toEqual([`${undos}/main/00000001`]);
  });

  it('takes old undos away in their time, and keeps the last restore of each worktree', async () => {
    const repository = makeRepositoryWithCommit();
    await work(repository, 'x', 'then', 0);
    for (const content of ['one\n', 'two\n', 'three\n']) {
      repository.write('work', content);
      expect(runOrch(repository, ['restore', '1', '-e', 'x', '-y']).status).toBe(0);
    }
    const undos = 'refs/orchestration-local/undo/main';
    expect(refsBelow(repository, undos)).toHaveLength(3);
    clean(repository, 20);
    expect(refsBelow(repository, undos)).toHaveLength(3);
    clean(repository, 400);
    expect(refsBelow(repository, undos)).toEqual([`${undos}/00000003`]);
    expect(runOrch(repository, ['restore', '--undo', '-y']).status).toBe(0);
    expect(readText(repository.folder, 'work')).toBe('three\n');
  });

  it('keeps the newest code where the clock was set back', async () => {
    const repository = makeRepositoryWithCommit();
    await work(repository, 'x', 'by a clock that is ahead', 5);
    const newest = await work(repository, 'x', 'the newest', 0);
    const { removed, kept } = clean(repository, 400);
    expect(removed).toEqual([]);
    expect(kept.map(({ name }) => name)).toContain(`x ${newest}`);
    repository.git('reflog', 'expire', '--expire=now', '--all');
    repository.git('gc', '--quiet', '--prune=now');
    repository.write('work', 'lost\n');
    runOrch(repository, ['restore', 'latest', '-e', 'x', '-y']);
    expect(readFileSync(join(repository.folder, 'work'), 'utf8')).toBe('the newest\n');
  });

  it('takes the log of a failed session after a week, and of a run with it', async () => {
    const repository = makeRepositoryWithCommit();
    endAfterwards(repository, 'x');
    const fails = ['--', 'sh', '-c', 'echo hello; exit 3'];
    expect(runOrch(repository, ['start', '-e', 'x', '--no-baseline', '--background', ...fails]).status).toBe(
      0,
    );
    await waitUntil(() => statusOf(repository, 'x').session.status === 'failed');
    const { session } = statusOf(repository, 'x');
    const logs = join(repository.folder, '.git/orchestration/logs');
    await waitUntil(() => readFileSync(join(logs, `${session.id}.log`), 'utf8').includes('hello'));
    mkdirSync(join(logs, 'run-7'));
    writeFileSync(join(logs, 'run-7', 'build.log'), 'built\n');
    await work(repository, 'x', 'so that the epic stays', 1);
    expect(clean(repository, 6).removed).toEqual([]);
    const { removed, bytes } = clean(repository, 8);
    expect(removed.map(({ name }) => name)).toContain(`logs/${session.id}.log`);
    expect(bytes).toBeGreaterThan(0);
    expect(existsSync(join(logs, `${session.id}.log`))).toBe(false);
    expect(existsSync(join(logs, 'run-7', 'build.log'))).toBe(true);
    expect(named(clean(repository, 31).removed)).toContain('log logs/run-7');
    expect(existsSync(join(logs, 'run-7'))).toBe(false);
  });

  it('takes what a failed run keeps in the tree after a week, one that succeeded later, and either can go on', () => {
    const repository = makeRepositoryWithCommit();
    const plan = (name: string, last: string) =>
      `name: ${name}\ntasks:\n  - { id: a, run: echo made >> made-${name}, artifacts: [made-${name}], effects: [{ id: tell-${name}, run: [sh, -c, 'echo told >> told-${name}'] }] }\n  - { id: b, run: "${last}" }\n`;
    repository.write('fails.yaml', plan('fails', 'test -f mended'));
    repository.write('works.yaml', plan('works', 'true'));
    const run = (name: string, ...args: string[]) =>
      runOrch(repository, ['run', `${name}.yaml`, '-e', 'p', ...args]).status;
    expect([run('fails'), run('works')]).toEqual([3, 0]);
    const inTree = () =>
      repository
        .git(
          'ls-tree',
          '-r',
          '--name-only',
          'orchestration/epics/p',
          '.orchestration/checkpoints/p/artifacts/',
        )
        .split('\n')
        .map((path) => path.replace(/.*artifacts\/run-[a-z0-9]+\//, ''))
        .sort();
    const ofWorks = ['planned-writeback.json', 'writeback.json'];
    expect(inTree()).toEqual(['files/made-fails', ...ofWorks, ...ofWorks].sort());
    expect(named(clean(repository, 6).removed)).toEqual([]);
    expect(named(clean(repository, 8, '--dry-run').removed)).toContain('run p');
    expect(inTree()).toHaveLength(5);
    expect(named(clean(repository, 8).removed)).toContain('run p');
    expect(inTree()).toEqual(ofWorks);
    expect(repository.git('log', '-1', '--format=%s', 'orchestration/epics/p')).toContain(
      'Cleaned up after 1 run',
    );
    expect(named(clean(repository, 8).removed)).toEqual([]);
    // What it did is still known: it goes on behind that, and its files are there again.
    repository.write('mended', '');
    expect(run('fails', '--resume')).toBe(0);
    expect(readFileSync(join(repository.folder, 'told-fails'), 'utf8')).toBe('told\n');
    expect(inTree()).toEqual([...ofWorks, ...ofWorks].sort());
    expect(named(clean(repository, 40).removed).filter((name) => name === 'run p')).toHaveLength(2);
    expectSound(repository);
  });

  it('never takes what ended within a day, whatever --max-age-days says', async () => {
    const repository = makeRepositoryWithCommit();
    for (const at of [0, 1, 2]) await work(repository, 'x', `${at}`, at);
    expect(clean(repository, 0.9, '--max-age-days', '0').removed).toEqual([]);
    expect(clean(repository, 3, '--max-age-days', '5').removed).toEqual([]);
    expect(named(clean(repository, 3, '--max-age-days', '0').removed)).toEqual([
      'snapshots x',
      'snapshots x',
    ]);
  });

  it('takes what crashes left, when nobody can be at it any more', async () => {
    const repository = makeRepositoryWithCommit();
    const session = await work(repository, 'x', 'one', 0);
    const home = join(repository.folder, '.git/orchestration');
    const journal = join(home, 'journal', `${session}.jsonl`);
    const recorded = readFileSync(journal);
    await work(repository, 'x', 'two', 0.1);
    expect(existsSync(journal)).toBe(false);
    writeFileSync(journal, recorded);
    for (const folder of ['briefs', 'damaged', 'snapshot-index/0123456789abcdef', 'snapshot-objects/abc/aa'])
      mkdirSync(join(home, folder), { recursive: true });
    const left = ['.tmp-abc', 'live/.tmp-x', 'briefs/sess-gone.md', 'damaged/aabb'];
    const [own = ''] = readdirSync(join(home, 'snapshot-index')).filter((name) => !/^0123/.test(name));
    const indexes = [
      `snapshot-index/${own}/work-abc`,
      `snapshot-index/${own}/work-abc.lock`,
      'rules-index-abc',
    ];
    const deep = ['snapshot-index/0123456789abcdef/index', 'snapshot-objects/abc/aa/bb', ...indexes];
    const theirs = ['notes.txt', 'briefs/mine.txt', `snapshot-index/${own}/index`];
    mkdirSync(join(home, 'live'), { recursive: true });
    for (const name of [...left, ...deep, ...theirs.slice(0, 2)]) writeFileSync(join(home, name), 'x');
    expect(clean(repository, 0.5).removed).toEqual([]);
    expect(clean(repository, 2).removed).toHaveLength(9);
    expect(existsSync(journal)).toBe(false);
    expect(existsSync(join(home, 'damaged/aabb'))).toBe(true);
    expect(named(clean(repository, 31).removed)).toEqual(['damaged damaged/aabb', 'snapshots x']);
    for (const name of [...left, ...deep])
      expect([name, existsSync(join(home, name))]).toEqual([name, false]);
    for (const name of theirs) expect([name, existsSync(join(home, name))]).toEqual([name, true]);
  });

  it('says in words and in a report what went, what stayed, and why', async () => {
    const repository = makeRepositoryWithCommit();
    expect(runOrch(repository, ['cleanup']).stdout).toBe('✓ Checked 0, nothing to remove.\n');
    for (const at of [0, 1]) await work(repository, 'x', `${at}`, at);
    const report = join(repository.home, 'report.md');
    const ran = runOrch(repository, ['cleanup', '--report', report], { env: inDays(40) });
    expect(ran.stdout).toMatch(
      /^removed {2}snapshots {2}x sess-\w+ {2}its session ended 40d ago\nFreed: 0 B in files, and about \d+ B in git objects, which git frees at its next gc. Kept: 2.\n$/,
    );
    const text = readFileSync(report, 'utf8');
    expect(text).toMatch(/^# Cleanup of /);
    expect(text).toMatch(/- scanned: 3\n- removed: 1\n- kept: 2\n/);
    expect(text).toMatch(/## Removed\n[\s\S]*\| snapshots \| x sess-\w+ \| its session ended 40d ago \|/);
    expect(text).toMatch(/## Kept\n[\s\S]*\| the newest of its epic \|/);
  });

  it('refuses what it cannot do before it does anything', () => {
    const repository = makeRepositoryWithCommit();
    for (const args of [
      ['--max-age-days', 'soon'],
      ['--max-age-days', '-1'],
      ['--report', join(repository.home, 'no/such/folder/report.md')],
    ]) {
      const ran = runOrch(repository, ['cleanup', ...args]);
      expect([args, ran.status, ran.stdout]).toEqual([args, 2, '']);
    }
  });

  it('works without git, which then cannot tell the bytes', async () => {
    const repository = makeRepositoryWithCommit();
    for (const at of [0, 1]) await work(repository, 'x', `${at}`, at);
    const env = { ...inDays(40), ORCH_ENGINE: 'isomorphic' };
    const { removed, gitBytes } = orchJson<Cleaned & { gitBytes: null }>(repository, ['cleanup'], { env });
    expect([named(removed), gitBytes]).toEqual([['snapshots x'], null]);
    expect(refsBelow(repository, 'refs/orchestration/snapshots/x')).toHaveLength(1);
    expectSound(repository);
  });

  it('two at once do what one does', async () => {
    const repository = makeRepositoryWithCommit();
    for (const at of [0, 1, 2, 3]) await work(repository, 'x', `${at}`, at);
    runOrch(repository, ['start', '-e', 'bad', '--no-baseline', '--', 'sh', '-c', 'exit 3']);
    const env = inDays(40);
    const both = [1, 2].map(
      () =>
        new Promise<number | null>((resolve) => {
          startOrch(repository, ['cleanup'], { env }).on('close', resolve);
        }),
    );
    expect(await Promise.all(both)).toEqual([0, 0]);
    expect(refsBelow(repository, 'refs/orchestration/snapshots/x')).toHaveLength(1);
    expect(refsBelow(repository, 'refs/orchestration-local/trash/bad')).toHaveLength(1);
    expect(clean(repository, 40).removed).toEqual([]);
    expectSound(repository);
  });

  it('frees what was shared too, in each clone, and the next sync does not bring it back', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    const sessions = await workThrice(laptop);
    await syncIn(laptop);
    await syncIn(desk);
    const [, , last] = sessions;
    for (const clone of [laptop, desk]) {
      const removed = clean(clone, 40).removed.filter(({ kind }) => kind === 'snapshots');
      expect(removed).toHaveLength(clone === laptop ? 4 : 2);
      expect(await syncIn(clone)).toMatchObject({ fetched: [], snapshots: { fetched: 0, pushed: 0 } });
      const left = ['refs/orchestration/', 'refs/orchestration-local/']
        .flatMap((prefix) => refsBelow(clone, prefix))
        .filter((ref) => ref.includes('/snapshots/'));
      expect(left.every((ref) => ref.endsWith(`/${last}`))).toBe(true);
      expect(orchJson(clone, ['diff', 'latest', '-e', 'x'])).toMatchObject({ to: null });
    }
    expect(refsBelow(hub, 'refs/orchestration/snapshots/')).toHaveLength(3);
    desk.git('gc', '--quiet', '--prune=now');
    const expired = runOrch(desk, ['restore', '1', '-e', 'x', '--dry-run']);
    expect(expired.status).toBe(1);
    expect(expired.stderr).toContain('the code of ckpt 1 of x was cleaned up in this clone');
    const [, command = ''] = /: git (fetch origin \S+)\n/.exec(expired.stderr) ?? [];
    desk.git(...command.split(' '));
    expect(runOrch(desk, ['restore', '1', '-e', 'x', '--dry-run']).stdout).toContain('    A work\n');
    expectSound(desk);
  });

  it('keeps away what was deleted with more than was shared, also when git has collected it', async () => {
    const hub = makeHub();
    const laptop = cloneOf(hub, 'laptop');
    await save(laptop, ['shared']);
    await syncIn(laptop);
    await save(laptop, ['here only']);
    await deleteEpicCheckpoints('x', { cwd: laptop.folder });
    clean(laptop, 60);
    expect(refsBelow(laptop, 'refs/orchestration-local/trash/')).toEqual([]);
    laptop.git('gc', '--quiet', '--prune=now');
    expect(await syncIn(laptop)).toMatchObject({ fetched: [], errors: [] });
    expect(refsBelow(laptop, 'refs/orchestration/epics/')).toEqual([]);
  });
});
