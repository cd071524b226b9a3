import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { GitEngine } from '../../src/git/engine.ts';
import { type Checkpoint, openOrch, saveCheckpoint } from '../../src/index.ts';
import { engines, epicRef, expectSound, list, listFiles, save, verify } from '../support/checkpoints.ts';
import { looseFile } from '../support/damage.ts';
import { runs } from '../support/depth.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { filesOf } from '../support/snapshots.ts';

const mark = ({ folder }: TestRepository) => join(folder, '.git/objects/tmp_orch-no-prune-ended');
const held = ({ folder }: TestRepository) => listFiles(join(folder, '.git/orchestration/held-objects'));

/**
 * What a prune does that looked at the refs before one of them moved, and removes objects afterwards: the ref is away
 * while it runs, and where it was again at its end.
 */
function pruneUnaware({ folder, git }: TestRepository, ref: string, before: string | null): void {
  const path = join(folder, '.git', ref);
  const now = readFileSync(path, 'utf8');
  if (before === null) rmSync(path);
  else writeFileSync(path, `${before}\n`);
  git('prune', '--expire=now');
  writeFileSync(path, now);
}

it.each([
  [2, ['prune', '--expire=now']],
  [600, ['gc', '--quiet', '--prune=now']],
])(
  'I2: a checkpoint and its snapshot of %i files survive a git %j just before their refs move',
  async (count, prune) => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const names = Array.from({ length: count }, (_, index) => `file-${index}`);
    for (const name of names) repository.write(name, `only in the next snapshot: ${name}\n`);
    const wrapEngine = (git: GitEngine): GitEngine => ({
      ...git,
      moveRefs: async (updates) => {
        repository.git(...prune);
        await git.moveRefs(updates);
      },
    });
    const [{ snapshot }] = await save(repository, ['two'], { wrapEngine });
    const kept = repository.git('ls-tree', '-r', '--name-only', snapshot ?? '').split('\n');
    expect(kept.sort()).toEqual(['README', ...names].sort());
    expect(verify(repository).found).toMatchObject({ checked: 2, damaged: [] });
    expectSound(repository);
  },
);

describe.each(engines)('I2: a prune that looked at the refs before they moved (%s)', (engine) => {
  const env = { ORCH_ENGINE: engine };

  it('takes no acknowledged checkpoint: the next command has all of it back', async () => {
    const repository = makeRepositoryWithCommit();
    const [{ commit }] = await save(repository, ['one', 'two', 'three'], { engine });
    pruneUnaware(repository, epicRef, commit);
    expect(repository.tryGit('cat-file', '-e', epicRef).status).not.toBe(0);
    expect(list(repository, { env }).checkpoints).toHaveLength(3);
    expect(verify(repository, { env }).found).toMatchObject({ checked: 3, damaged: [] });
    expectSound(repository);
  });

  it('takes none where it was killed before its end, and where a program has the repository open', async () => {
    const repository = makeRepositoryWithCommit();
    const orch = await openOrch({ cwd: repository.folder, engine });
    const { commit } = await saveCheckpoint({ epicId: 'x', reason: 'one' }, orch);
    await saveCheckpoint({ epicId: 'x', reason: 'two' }, orch);
    pruneUnaware(repository, epicRef, commit);
    await saveCheckpoint({ epicId: 'x', reason: 'three' }, orch);
    orch.close();
    expectSound(repository);
    pruneUnaware(repository, epicRef, commit);
    writeFileSync(mark(repository), ''); // a killed prune does not get this far
    expect(verify(repository, { env }).found).toMatchObject({ checked: 3, damaged: [] });
    expectSound(repository);
  });
});

it('I2: it takes neither the files of a snapshot, new ones included, nor what a restore saved to undo it', async () => {
  const repository = makeRepositoryWithCommit();
  const [, { snapshot: before }] = await save(repository, ['zero', 'one']);
  repository.write('new', 'not in git otherwise\n');
  const [{ snapshot }] = await save(repository, ['two']);
  const ref = repository.git('for-each-ref', '--points-at', snapshot ?? '', '--format=%(refname)');
  rmSync(join(repository.folder, 'new'));
  rmSync(join(repository.folder, '.git/orchestration/index'), { force: true, recursive: true });
  pruneUnaware(repository, ref, before);
  orchJson(repository, ['checkpoint', 'show', '3', '-e', 'x']);
  expect(filesOf(repository, snapshot ?? '')).toMatchObject({ new: '100644 not in git otherwise' });

  repository.write('new', 'edited since\n');
  orchJson(repository, ['restore', '3', '-e', 'x', '-y']);
  const undo = repository.git('for-each-ref', '--format=%(refname)', 'refs/orchestration-local/undo');
  expect(undo.split('\n')).toHaveLength(1);
  pruneUnaware(repository, undo, null);
  orchJson(repository, ['restore', '--undo', '-y']);
  expect(readFileSync(join(repository.folder, 'new'), 'utf8')).toBe('edited since\n');
  expectSound(repository);
});

it('objects are held for a few minutes only, and not after orch deletes their refs', async () => {
  const repository = makeRepositoryWithCommit();
  const minutes = 60_000;
  const at = (after: number) => ({ clock: { now: () => 1_800_000_000_000 + after * minutes } });
  // The session of another day, which a cleanup can take.
  await save(repository, ['zero'], at(-3 * 24 * 60));
  repository.write('work', 'in the first snapshot of the day\n');
  const [{ commit }] = await save(repository, ['one'], at(0));
  const isHeld = (oid: string) => held(repository).some((path) => path.endsWith(oid));
  expect(isHeld(commit)).toBe(true);
  repository.write('work', 'in the second snapshot\n');
  await save(repository, ['two'], at(11));
  expect(isHeld(commit)).toBe(true);
  await save(repository, ['three'], at(25));
  expect(isHeld(commit)).toBe(false);
  expect(held(repository)).not.toEqual([]);
  // Packed objects exist, and none is written again.
  repository.git('gc', '--quiet', '--prune=now');
  expect(existsSync(mark(repository))).toBe(false);
  expect(verify(repository).found).toMatchObject({ checked: 4, damaged: [] });
  expect(existsSync(mark(repository))).toBe(true);
  expect(existsSync(dirname(looseFile(repository, commit)))).toBe(false);

  const env = { ORCH_NOW: new Date(at(61 * 24 * 60).clock.now()).toISOString() };
  expect(orchJson<{ removed: unknown[] }>(repository, ['cleanup'], { env }).removed).not.toEqual([]);
  expect(held(repository)).toEqual([]);
});

it.each(['gc --quiet --prune=now', 'prune --expire=now'])(
  'I2 I4: acknowledged checkpoints survive a loop of git %s beside them',
  async (collect) => {
    const repository = makeRepositoryWithCommit();
    const rounds = runs(5);
    const collector = spawn('sh', ['-c', `while :; do git ${collect}; done`], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home),
      stdio: 'ignore',
      detached: true,
    });
    const made: Checkpoint[] = [];
    try {
      const writers = ['x', 'y', 'z'].map(async (epicId) => {
        const orch = await openOrch({ cwd: repository.folder });
        for (let at = 0; at < rounds; at++) {
          if (epicId === 'x') repository.write('work', `round ${at}\n`);
          made.push(await saveCheckpoint({ epicId, reason: `${at}` }, orch));
        }
        orch.close();
      });
      await Promise.all(writers);
    } finally {
      const ended = new Promise((resolve) => collector.on('close', resolve));
      if (collector.pid !== undefined) process.kill(-collector.pid, 'SIGKILL');
      await ended;
    }
    expect(made).toHaveLength(3 * rounds);
    // A killed prune leaves no trace; a full check finds what is gone.
    expect(runOrch(repository, ['doctor']).stdout).toContain('objects');
    for (const { commit, snapshot } of made) {
      repository.git('ls-tree', '-r', commit);
      if (snapshot) repository.git('rev-list', '--objects', '--quiet', snapshot);
    }
    const args = ['fsck', '--connectivity-only', '--no-dangling', '--no-progress'];
    const { status, stdout } = repository.tryGit(...args);
    expect([status, stdout]).toEqual([0, '']);
  },
);
