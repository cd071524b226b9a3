import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commitFiles, create, epicRef, repositoryAt, save, verify } from '../support/checkpoints.ts';
import { loseObject } from '../support/damage.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/** Deletes a loose object. */
function lose(repository: TestRepository, name: string): string {
  const oid = repository.git('rev-parse', '--verify', name);
  loseObject(repository, oid);
  return oid;
}

it('a file of others in the tree that is missing is damage too', async () => {
  const repository = makeRepositoryWithCommit();
  await save(repository, ['one']);
  const theirs = commitFiles(repository, epicRef, { 'notes/theirs.txt': 'hello' }, 'a note beside it');
  repository.git('update-ref', epicRef, theirs);
  create(repository, 'two');
  expect(verify(repository).status).toBe(0);
  const object = lose(repository, `${theirs}:notes/theirs.txt`);
  const { status, found } = verify(repository);
  expect(status).toBe(6);
  expect(found.damaged).toEqual([expect.objectContaining({ problem: expect.stringContaining(object) })]);
});

it('a snapshot that expired, or was not fetched, is said and is no damage; a broken one is', async () => {
  const repository = makeRepositoryWithCommit();
  for (const [at, content] of ['one', 'two', 'three'].entries()) {
    writeFileSync(join(repository.folder, 'work'), content);
    const now = Date.now() + at * 60_000;
    await save(repository, [content], { apart: true, clock: { now: () => now } });
  }
  const clone = repositoryAt(repository.home, join(makeFolder(), 'clone'));
  repository.git('clone', '--quiet', '--no-local', repository.folder, clone.folder);
  clone.git('fetch', '--quiet', 'origin', `${epicRef}:${epicRef}`);
  const elsewhere = verify(clone);
  expect([elsewhere.status, elsewhere.found.remarks.length]).toEqual([0, 3]);
  expect(elsewhere.found.remarks[0]).toMatchObject({
    about: 'snapshot',
    remark: expect.stringContaining('not fetched'),
  });

  const env = { ORCH_NOW: new Date(Date.now() + 40 * 86_400_000).toISOString() };
  const { removed } = orchJson<{ removed: unknown[] }>(repository, ['cleanup'], { env });
  expect(removed).toHaveLength(2);
  expect(verify(repository).found.remarks).toEqual([]);
  repository.git('prune', '--expire=now');
  const { status, found } = verify(repository);
  expect([status, found.remarks.map(({ remark }) => remark)]).toEqual([
    0,
    ['its snapshot has expired', 'its snapshot has expired'],
  ]);
  expect(runOrch(repository, ['checkpoint', 'verify']).stdout).toBe(
    '✓ 3 checkpoints read, none damaged\n  2 checkpoints: its snapshot has expired\n',
  );

  const left = repository.git('for-each-ref', '--format=%(objectname)', 'refs/orchestration/snapshots');
  const path = join(repository.folder, '.git/objects', left.slice(0, 2), left.slice(2));
  rmSync(path);
  writeFileSync(path, 'junk');
  expect(verify(repository).found.damaged).toHaveLength(1);
});

it('a brief that says something else is remarked on, where people would read it', async () => {
  const repository = makeRepositoryWithCommit();
  const [one] = await save(repository, ['one']);
  const path = '.orchestration/checkpoints/x/brief.md';
  const changed = commitFiles(
    repository,
    epicRef,
    { [path]: 'all is done\n' },
    repository.git('log', '-1', '--format=%B', epicRef),
  );
  repository.git('update-ref', epicRef, changed);
  const { status, found } = verify(repository);
  expect(status).toBe(0);
  expect(found.remarks).toEqual([expect.objectContaining({ id: one.id, about: 'brief' })]);
});
