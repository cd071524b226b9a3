import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import type { GitEngine } from '../../src/git/engine.ts';
import { type Checkpoint, openOrch, saveCheckpoint } from '../../src/index.ts';
import { expectSound, save, verify } from '../support/checkpoints.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';

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

it('I2 I4: acknowledged checkpoints survive a loop of git gc --prune=now beside them', async () => {
  const repository = makeRepositoryWithCommit();
  const rounds = Number(process.env.GC_ROUNDS ?? 8);
  const script = 'while :; do git gc --quiet --prune=now; done';
  const collector = spawn('sh', ['-c', script], {
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
  for (const { commit, snapshot } of made) {
    repository.git('ls-tree', '-r', commit);
    if (snapshot) repository.git('rev-list', '--objects', '--quiet', snapshot);
  }
  const { status, stdout } = repository.tryGit(
    'fsck',
    '--connectivity-only',
    '--no-dangling',
    '--no-progress',
  );
  expect([status, stdout]).toEqual([0, '']);
}, 600_000);
