import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findRemade } from '../../src/checkpoint/lost-objects.ts';
import type { Snapshot } from '../../src/git/snapshot/snapshot.ts';
import { parseOid } from '../../src/ids.ts';
import { deleteEpicCheckpoints } from '../../src/index.ts';
import { commitFiles, epicRef, expectSound, list, save, verify } from '../support/checkpoints.ts';
import { loseObject, parts } from '../support/damage.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { ref, snapshot } from '../support/snapshots.ts';

/** Doctor finds it, sets it aside with a note, and then git collects and orch sends what is left. */
function expectSetAside(repository: TestRepository, ref: string): void {
  expect(repository.tryGit('gc', '--quiet', '--prune=now').status).not.toBe(0);
  const found = runOrch(repository, ['doctor']);
  expect(found.stdout).toContain(ref);
  const mended = runOrch(repository, ['doctor', '--fix']);
  expect([mended.status, mended.stdout]).toEqual([0, expect.stringContaining('1 ref repaired earlier')]);
  const collected = repository.tryGit('gc', '--quiet', '--prune=now');
  expect([collected.status, collected.stderr]).toEqual([0, '']);
  expectSound(repository);
}

it.each(['document', 'folder', 'tree', 'commit'] as const)(
  'of an epic with a missing %s deep in its history, every other checkpoint stays',
  async (part) => {
    const repository = makeRepositoryWithCommit();
    const made = await save(repository, ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'], {
      settings: { snapshot: false },
    });
    loseObject(repository, repository.git('rev-parse', parts[part](made[3])));
    expectSetAside(repository, epicRef);
    expect(list(repository).checkpoints.map(({ seq }) => seq)).toEqual([10, 9, 8, 7, 6, 5, 3, 2, 1]);
    expect(verify(repository).found).toMatchObject({ checked: 9, damaged: [] });
    const [{ seq }] = await save(repository, ['11']);
    expect(seq).toBe(11);
  },
);

it('an undo that lost a file is set aside, and stops nothing', async () => {
  const repository = makeRepositoryWithCommit();
  repository.write('work', 'first\n');
  await save(repository, ['one']);
  repository.write('work', 'second\n');
  orchJson(repository, ['restore', '1', '-e', 'x', '-y']);
  const prefix = 'refs/orchestration-local/undo/';
  const undo = repository.git('for-each-ref', '--format=%(refname)', prefix);
  loseObject(repository, repository.git('rev-parse', `${undo}:work`));
  // The checkpoint that was saved before has the same file.
  expect(runOrch(repository, ['doctor']).stdout).toContain(undo);
  expect(runOrch(repository, ['doctor', '--fix']).status).toBe(0);
  expect(repository.tryGit('gc', '--quiet', '--prune=now').status).toBe(0);
  expectSound(repository);
  expect(repository.git('for-each-ref', prefix)).toBe('');
});

it('a broken ref of what a remote had is removed: the next sync brings it again', async () => {
  const repository = makeRepositoryWithCommit();
  const [{ commit }] = await save(repository, ['one']);
  const theirs = commitFiles(repository, commit, { file: 'only on the remote\n' }, 'of another clone');
  const ref = 'refs/orchestration-local/remotes/origin/epics/x';
  repository.git('update-ref', ref, theirs);
  loseObject(repository, repository.git('rev-parse', `${theirs}:file`));
  expectSetAside(repository, ref);
  expect(repository.tryGit('rev-parse', '--verify', '--quiet', ref).status).not.toBe(0);
  expect(verify(repository).found).toMatchObject({ checked: 1, damaged: [] });
});

it('an epic in the trash that lost a checkpoint keeps the others there', async () => {
  const repository = makeRepositoryWithCommit();
  const made = await save(repository, ['one', 'two', 'three'], { settings: { snapshot: false } });
  await deleteEpicCheckpoints('x', { cwd: repository.folder });
  const prefix = 'refs/orchestration-local/trash/';
  const trash = repository.git('for-each-ref', '--format=%(refname)', prefix);
  loseObject(repository, repository.git('rev-parse', parts.document(made[1])));
  expectSetAside(repository, trash);
  expect(repository.git('log', '--format=%s', trash)).toBe('ckpt 3: three\nckpt 1: one');
});

it('an epic that a remote has too is not made again: what is missing can be fetched', async () => {
  const hub = makeHub();
  const repository = cloneOf(hub, 'a');
  const made = await save(repository, ['one', 'two', 'three'], { settings: { snapshot: false } });
  await syncIn(repository);
  loseObject(repository, made[0].commit);
  const tip = repository.git('rev-parse', epicRef);
  const { status, stdout } = runOrch(repository, ['doctor', '--fix']);
  const [, fetch = ''] = /(git fetch --refetch origin .*)$/m.exec(stdout) ?? [];
  expect([status, repository.git('rev-parse', epicRef), fetch]).toEqual([
    1,
    tip,
    expect.stringContaining('x'),
  ]);
  repository.git(...fetch.replaceAll("'", '').split(' ').slice(1));
  expect(runOrch(repository, ['doctor']).stdout).toContain('none missing in');
  expectSound(repository);
});

it('a session whose older snapshot lost a file keeps the snapshots since', async () => {
  const repository = makeRepositoryWithCommit();
  const made: Snapshot[] = [];
  for (const name of ['one', 'two', 'three']) {
    repository.write('work', `${name}\n`);
    made.push(await snapshot(repository));
  }
  const [, two, three] = made;
  loseObject(repository, repository.git('rev-parse', `${two?.commit}:work`));
  expectSetAside(repository, ref);
  expect(repository.git('show', `${ref}:work`)).toBe('three');
  expect(repository.git('show', `${ref}^2:work`)).toBe('one');
  const home = join(repository.folder, '.git/orchestration');
  expect(findRemade(home, parseOid(three?.commit ?? ''))).toBe(repository.git('rev-parse', ref));
});
