import { existsSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  create,
  epicRef,
  expectSound,
  fail,
  list,
  listFiles,
  readRefs,
  reasonsOf,
  repositoryAt,
  save,
  show,
  verify,
} from '../support/checkpoints.ts';
import { orchJson } from '../support/orch.ts';
import { makeRepository, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/** A clone of a repository, beside it. */
function clone(source: TestRepository, name: string, ...args: string[]): TestRepository {
  const folder = join(source.home, name);
  source.git('clone', '--quiet', ...args, folder);
  return repositoryAt(source.home, folder);
}

const native = { env: { ORCH_ENGINE: 'native' } };
const isomorphic = { env: { ORCH_ENGINE: 'isomorphic' } };

/** Saves with each engine, and reads back with the other; what it says of the user's HEAD. */
function expectWorking(repository: TestRepository, cwd = repository.folder) {
  const first = create(repository, 'first', { ...isomorphic, cwd });
  const second = create(repository, 'second', { ...native, cwd });
  expect(second.seq).toBe(first.seq + 1);
  expect(verify(repository, { ...isomorphic, cwd })).toMatchObject({ status: 0, found: { damaged: [] } });
  const { checkpoint, document } = show(repository, 'latest', { ...isomorphic, cwd });
  expect(checkpoint).toEqual(second);
  return { gitCommit: document.gitCommit, branch: document.branch };
}

describe('with both engines, a checkpoint can be made and read in', () => {
  it('a repository without a commit, which stays without one', () => {
    const repository = makeRepository();
    expect(expectWorking(repository)).toEqual({ gitCommit: null, branch: 'main' });
    expect(repository.tryGit('rev-parse', '--verify', '--quiet', 'HEAD').status).toBe(1);
    expect(readRefs(repository)).toMatch(new RegExp(`^${epicRef} [0-9a-f]{40} $`));
  });

  it('a detached HEAD', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('checkout', '--quiet', '--detach');
    const head = repository.git('rev-parse', 'HEAD');
    expect(expectWorking(repository)).toEqual({ gitCommit: head, branch: null });
    expect(repository.git('rev-parse', '--symbolic-full-name', 'HEAD')).toBe('HEAD');
    expectSound(repository);
  });

  it('a branch that is another name for a branch', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('symbolic-ref', 'refs/heads/master', 'refs/heads/main');
    repository.git('checkout', '--quiet', 'master');
    const head = repository.git('rev-parse', 'HEAD');
    expect(expectWorking(repository).gitCommit).toBe(head);
    expect(repository.git('rev-parse', 'main')).toBe(head);
  });

  it('a bare repository', () => {
    const source = makeRepositoryWithCommit();
    const bare = clone(source, 'bare.git', '--bare', source.folder);
    const head = source.git('rev-parse', 'HEAD');
    expect(expectWorking(bare)).toEqual({ gitCommit: head, branch: 'main' });
    expectSound(bare);
  });

  it('a linked worktree and its subfolders, sharing the refs and standing on its own HEAD', () => {
    const repository = makeRepositoryWithCommit();
    const folder = join(repository.home, 'linked');
    repository.git('worktree', 'add', '--quiet', '-b', 'feat/login', folder);
    const linked = repositoryAt(repository.home, folder);
    linked.git('commit', '--quiet', '--allow-empty', '--message', 'second');
    const head = linked.git('rev-parse', 'HEAD');
    mkdirSync(join(folder, 'deep/down'), { recursive: true });

    expect(expectWorking(linked)).toEqual({ gitCommit: head, branch: 'feat/login' });
    expect(expectWorking(linked, join(folder, 'deep/down'))).toEqual({
      gitCommit: head,
      branch: 'feat/login',
    });
    expect(expectWorking(repository)).toEqual({
      gitCommit: repository.git('rev-parse', 'HEAD'),
      branch: 'main',
    });
    expect(list(linked).total).toBe(6);
    const own = listFiles(join(repository.folder, '.git/worktrees/linked'));
    expect(own.filter((path) => path.includes('orchestration'))).toEqual([]);
    expectSound(repository);
  });

  it('a detached worktree of a bare repository', () => {
    const source = makeRepositoryWithCommit();
    const bare = clone(source, 'bare.git', '--bare', source.folder);
    bare.git('worktree', 'add', '--quiet', '--detach', '../linked');
    const linked = repositoryAt(source.home, join(source.home, 'linked'));
    const head = linked.git('rev-parse', 'HEAD');
    expect(expectWorking(linked)).toEqual({ gitCommit: head, branch: null });
    expect(reasonsOf(list(bare, isomorphic))).toHaveLength(2);
  });

  it('a submodule, whose checkpoints stay out of the repository around it', () => {
    const inner = makeRepositoryWithCommit();
    const outer = makeRepositoryWithCommit();
    const add = ['submodule', '--quiet', 'add', inner.folder, 'sub'];
    outer.git('-c', 'protocol.file.allow=always', ...add);
    outer.git('commit', '--quiet', '--message', 'submodule');
    const sub = repositoryAt(outer.home, join(outer.folder, 'sub'));
    const head = sub.git('rev-parse', 'HEAD');

    expect(expectWorking(sub)).toEqual({ gitCommit: head, branch: 'main' });
    expect(readRefs(outer)).not.toContain('refs/orchestration');
    expect(existsSync(join(outer.folder, '.git/orchestration'))).toBe(false);
    expect(outer.git('status', '--porcelain')).toBe('');
    expectSound(sub);
  });

  it('a git dir that is elsewhere, and one that is a symbolic link', () => {
    const separate = makeRepositoryWithCommit();
    separate.git('init', '--quiet', `--separate-git-dir=${separate.home}/elsewhere`);
    expectWorking(separate);
    expect(existsSync(join(separate.home, 'elsewhere/orchestration'))).toBe(true);

    const link = makeRepositoryWithCommit();
    renameSync(join(link.folder, '.git'), join(link.home, 'real.git'));
    symlinkSync(join(link.home, 'real.git'), join(link.folder, '.git'));
    expectWorking(link);
    expectSound(link);
  });

  it('a shallow clone, of the code and of the checkpoints', async () => {
    const source = makeRepositoryWithCommit();
    source.git('commit', '--quiet', '--allow-empty', '--message', 'second');
    await save(source, ['one', 'two', 'three']);
    const shallow = clone(source, 'shallow', '--depth=1', `file://${source.folder}`);
    shallow.git('fetch', '--quiet', '--depth=1', 'origin', `${epicRef}:${epicRef}`);
    expect(reasonsOf(list(shallow, isomorphic))).toEqual(['three']);
    expect(expectWorking(shallow).gitCommit).toBe(source.git('rev-parse', 'HEAD'));
    expect(list(shallow).total).toBe(5);
    expectSound(shallow);
  });

  it('a clone that borrows its objects from another, loose and packed', async () => {
    const source = makeRepositoryWithCommit();
    await save(source, ['one', 'two']);
    const borrower = clone(source, 'borrower', '--shared', source.folder);
    borrower.git('fetch', '--quiet', 'origin', `${epicRef}:${epicRef}`);
    expect(reasonsOf(list(borrower, isomorphic))).toEqual(['two', 'one']);
    source.git('gc', '--quiet', '--prune=now');
    expectWorking(borrower);
    expect(show(borrower, '1', isomorphic).document.reason).toBe('one');
    expectSound(borrower);
    expect(list(source).total).toBe(2);
  });

  it('a partial clone without blobs, and a sparse checkout, which stays sparse', () => {
    const source = makeRepositoryWithCommit();
    source.git('config', 'uploadpack.allowFilter', 'true');
    for (const name of ['kept', 'left']) {
      mkdirSync(join(source.folder, name));
      source.write(`${name}/file`, `${name}\n`);
    }
    source.git('add', '.');
    source.git('commit', '--quiet', '--message', 'folders');
    const args = ['--filter=blob:none', '--sparse', `file://${source.folder}`];
    const sparse = clone(source, 'sparse', ...args);
    sparse.git('sparse-checkout', 'set', 'kept');

    expectWorking(sparse);
    expect(existsSync(join(sparse.folder, 'left'))).toBe(false);
    expect(sparse.git('status', '--porcelain')).toBe('');
    expect(sparse.git('sparse-checkout', 'list')).toBe('kept');
  });
});

describe('a SHA-256 repository', () => {
  it('works with git', async () => {
    const repository = makeRepositoryWithCommit('--object-format=sha256');
    await save(repository, ['one']);
    expect(create(repository, 'two').commit).toMatch(/^[0-9a-f]{64}$/);
    expect(reasonsOf(list(repository))).toEqual(['two', 'one']);
    expect(show(repository, 'latest').document.gitCommit).toBe(repository.git('rev-parse', 'HEAD'));
    expect(verify(repository).status).toBe(0);
    repository.git('gc', '--quiet', '--prune=now');
    expect(create(repository, 'three').seq).toBe(3);
    expectSound(repository);
  });

  it('is refused by the isomorphic engine, which would write ids that are too short', () => {
    const repository = makeRepositoryWithCommit('--object-format=sha256');
    const before = listFiles(join(repository.folder, '.git'));
    for (const args of [['create', '--epic', 'x'], ['list']]) {
      const error = fail(repository, ['checkpoint', ...args], isomorphic);
      expect(error).toMatchObject({ status: 1, code: 'REPOSITORY_UNSUPPORTED', hint: expect.any(String) });
    }
    expect(listFiles(join(repository.folder, '.git'))).toEqual(before);
  });
});

describe.each([
  ['a version', { 'core.repositoryFormatVersion': '9' }],
  ['an extension', { 'core.repositoryFormatVersion': '1', 'extensions.fromTheFuture': 'true' }],
])('a repository of %s that git does not know', (_, settings) => {
  it.each(['native', 'isomorphic'])('is left alone, as git leaves it (%s)', (engine) => {
    const repository = makeRepositoryWithCommit();
    for (const [name, value] of Object.entries(settings)) repository.git('config', name, value);
    expect(repository.tryGit('status').status).toBe(128);
    const before = listFiles(repository.folder);
    for (const args of [['create', '--epic', 'x'], ['list']]) {
      const error = fail(repository, ['checkpoint', ...args], { env: { ORCH_ENGINE: engine } });
      expect(error).toMatchObject({ status: 1, code: 'REPOSITORY_UNSUPPORTED', hint: expect.any(String) });
    }
    expect(listFiles(repository.folder)).toEqual(before);
  });
});

it('a branch names the epic, in the worktree that stands on it', () => {
  const repository = makeRepositoryWithCommit();
  const folder = join(repository.home, 'linked');
  repository.git('worktree', 'add', '--quiet', '-b', 'feat/login', folder);
  const linked = repositoryAt(repository.home, folder);
  const made = orchJson<{ checkpoint: { epicId: string } }>(linked, ['checkpoint', 'create']);
  expect(made.checkpoint.epicId).toBe('feat-login');
});
