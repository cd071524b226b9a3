import { describe, expect, it } from 'vitest';
import { restoreCheckpoint, undoRestore } from '../../src/index.ts';
import { expectSound, save } from '../support/checkpoints.ts';
import { interrupt } from '../support/interrupted.ts';
import { runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { lookAtFiles } from '../support/restored.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const restore = (name: string) => ({ epicId: 'x', name });

/** Two checkpoints of five files, and other files now. */
async function makeWork(): Promise<TestRepository> {
  const repository = makeRepositoryWithCommit();
  const write = (text: string) => {
    for (const name of names) repository.write(name, `${text} of ${name}, a line that is long enough\n`);
  };
  write('first');
  await save(repository, ['one']);
  write('second');
  repository.write('only in two', 'two\n');
  await save(repository, ['two']);
  write('present');
  return repository;
}

describe('an interrupted restore', () => {
  it.each([0, 0.3, 0.6])(
    'is rolled back before the next one, whose undo brings back all work (%s done)',
    async (share) => {
      const repository = await makeWork();
      const where = { cwd: repository.folder };
      const before = lookAtFiles(repository.folder);
      expect(await interrupt(repository, { share }, (orch) => restoreCheckpoint(restore('1'), orch))).toBe(
        true,
      );
      repository.write('made since', 'work after the interruption\n');
      repository.write('e', 'changed since\n');
      const ran = runOrch(repository, ['restore', '2', '-e', 'x', '-y']);
      expect([ran.status, ran.stderr]).toEqual([
        0,
        expect.stringContaining('Rolled back an interrupted restore: restoring ckpt 1'),
      ]);
      expect(ran.stderr).toMatch(/Restored\. Your previous files are saved as checkpoint \d\./);
      await undoRestore({}, where);
      expect(lookAtFiles(repository.folder)).toEqual({
        ...before,
        'made since': '644 work after the interruption\n',
        e: '644 changed since\n',
      });
      // What was rolled back is not there to be undone; undoing the undo does it again.
      await undoRestore({}, where);
      expect(lookAtFiles(repository.folder).a).toContain('second');
      expectSound(repository);
    },
  );

  it('is complete where nothing was missing, and says so', async () => {
    const repository = await makeWork();
    const before = lookAtFiles(repository.folder);
    await interrupt(repository, { share: 1 }, (orch) => restoreCheckpoint(restore('1'), orch));
    const ran = runOrch(repository, ['restore', '1', '-e', 'x', '-y']);
    expect([ran.status, ran.stderr]).toEqual([
      0,
      expect.stringContaining('An interrupted restore turned out to be complete: restoring ckpt 1.'),
    ]);
    await undoRestore({}, { cwd: repository.folder });
    expect(lookAtFiles(repository.folder)).toEqual(before);
  });

  it('is undone by --undo, and the restore before it by the next', async () => {
    const repository = await makeWork();
    const where = { cwd: repository.folder };
    const before = lookAtFiles(repository.folder);
    await restoreCheckpoint(restore('2'), where);
    const second = lookAtFiles(repository.folder);
    await interrupt(repository, { share: 0.6 }, (orch) => restoreCheckpoint(restore('1'), orch));
    const ran = runOrch(repository, ['restore', '--undo', '-y']);
    expect(ran.stderr).toContain('An earlier restore was interrupted: restoring ckpt 1. It will be undone.');
    expect(lookAtFiles(repository.folder)).toEqual(second);
    expect(before).not.toEqual(second);
  });

  it('whose rollback is interrupted too is rolled back the next time', async () => {
    const repository = await makeWork();
    const before = lookAtFiles(repository.folder);
    await interrupt(repository, { share: 0.6 }, (orch) => restoreCheckpoint(restore('1'), orch));
    await interrupt(repository, { share: 0.3 }, (orch) => restoreCheckpoint(restore('2'), orch));
    const { settled } = await restoreCheckpoint(restore('2'), { cwd: repository.folder });
    expect(settled).toMatchObject([{ how: 'rolled_back', over: 'restoring ckpt 1', kept: [] }]);
    await undoRestore({}, { cwd: repository.folder });
    expect(lookAtFiles(repository.folder)).toEqual(before);
    expectSound(repository);
  });

  it('of an older orch, in its own place, is found too', async () => {
    const repository = await makeWork();
    const before = lookAtFiles(repository.folder);
    await restoreCheckpoint(restore('1'), { cwd: repository.folder });
    const [ref = ''] = repository
      .git('for-each-ref', '--format=%(refname)', 'refs/orchestration-local/undo')
      .split('\n');
    repository.git('update-ref', 'refs/orchestration-local/undo/main-worktree', ref);
    repository.git('update-ref', '-d', ref);
    await undoRestore({}, { cwd: repository.folder });
    expect(lookAtFiles(repository.folder)).toEqual(before);
  });
});
