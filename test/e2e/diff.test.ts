import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { save } from '../support/checkpoints.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { look } from '../support/snapshots.ts';

type Diff = {
  from: string | null;
  to: string | null;
  files: { path: string; status: string; additions: number | null; deletions: number | null }[];
};

/** Two checkpoints, and a change since. */
async function makeHistory(): Promise<TestRepository> {
  const repository = makeRepositoryWithCommit();
  mkdirSync(join(repository.folder, 'src'));
  repository.write('src/a', 'one\n');
  await save(repository, ['first']);
  repository.write('src/a', 'one\ntwo\n');
  repository.write('*', 'a name that is no pattern\n');
  await save(repository, ['second']);
  rmSync(join(repository.folder, 'README'));
  return repository;
}

describe('orch diff', () => {
  it("is git's own diff: of the latest and now, of one and now, of two", async () => {
    const repository = await makeHistory();
    const before = look(repository.folder);
    const names = (...args: string[]) => {
      const ran = runOrch(repository, ['diff', '-e', 'x', '--name-only', ...args]);
      expect(ran).toMatchObject({ status: 0, stderr: '' });
      return ran.stdout.split('\n').slice(0, -1);
    };
    expect(names()).toEqual(['README']);
    expect(names('1')).toEqual(['*', 'README', 'src/a']);
    expect(names('1', '2')).toEqual(['*', 'src/a']);
    expect(names('1', '2', '--', '*')).toEqual(['*']);
    expect(names('1', '2', '--', 'src')).toEqual(['src/a']);
    const shown = runOrch(repository, ['checkpoint', 'diff', '1', '2', '-e', 'x', '--', 'src']);
    expect(shown.stdout).toContain('diff --git a/src/a b/src/a\n');
    expect(shown.stdout).toContain('\n one\n+two\n');
    expect(runOrch(repository, ['diff', '-e', 'x', '--stat']).stdout).toContain(' README | 1 -\n');
    expect(look(repository.folder)).toEqual(before);
  });

  it('of a session by itself is what it did: to its last checkpoint, or to now as long as it is the newest', () => {
    const repository = makeRepositoryWithCommit();
    const work = (name: string) => {
      const args = ['start', '-e', 'x', '--no-baseline', '--', 'sh', '-c', `echo ${name} > ${name}`];
      expect(runOrch(repository, args).status).toBe(0);
    };
    const namesOf = (session: string) =>
      runOrch(repository, ['diff', session, '-e', 'x', '--name-only']).stdout.split('\n').slice(0, -1);
    repository.write('mine', 'before\n');
    work('one');
    repository.write('between', 'sessions\n');
    expect(namesOf('s1')).toEqual(['between', 'one']);
    work('two');
    repository.write('after', 'it\n');
    expect(namesOf('s1')).toEqual(['one']);
    expect(namesOf('s2')).toEqual(['after', 'two']);
  });

  it('takes paths from where it is typed, and no variables of a hook', async () => {
    const repository = await makeHistory();
    const ran = runOrch(repository, ['diff', '1', '2', '-e', 'x', '--name-only', '--', 'a'], {
      cwd: join(repository.folder, 'src'),
      env: { GIT_INDEX_FILE: '/nowhere/index', GIT_DIR: '/nowhere', NO_COLOR: '1' },
    });
    expect(ran).toEqual({ status: 0, stdout: 'src/a\n', stderr: '' });
  });

  it('prints one document with --json', async () => {
    const repository = await makeHistory();
    const { from, to, files } = orchJson<Diff>(repository, ['diff', '1', '-e', 'x']);
    expect(from).toMatch(/^ckpt-00000001-/);
    expect(to).toBeNull();
    expect(files).toEqual([
      { path: '*', status: 'added', additions: 1, deletions: 0 },
      { path: 'README', status: 'deleted', additions: 0, deletions: 1 },
      { path: 'src/a', status: 'modified', additions: 1, deletions: 0 },
    ]);
  });

  it('refuses three checkpoints, and one that is not there', async () => {
    const repository = await makeHistory();
    const three = errorOf(runOrch(repository, ['diff', '1', '2', 'src', '--json', '-e', 'x']));
    expect([three.code, three.hint]).toEqual(['USAGE', 'Put -- before paths: orch diff 1 2 -- src']);
    expect(errorOf(runOrch(repository, ['diff', '9', '--json', '-e', 'x'])).code).toBe(
      'CHECKPOINT_NOT_FOUND',
    );
  });
});
