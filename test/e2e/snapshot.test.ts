import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explainNoSnapshot, readWorkTree, takeSnapshot } from '../../src/git/snapshot/snapshot.ts';
import { openOrch } from '../../src/orch.ts';
import { expectSound, repositoryAt } from '../support/checkpoints.ts';
import { makeRepository, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { filesOf, look, ref, request, snapshot, treeByGit, withPorts } from '../support/snapshots.ts';

function makeFolderIn(repository: TestRepository, path: string): void {
  mkdirSync(join(repository.folder, path), { recursive: true });
}

function remove(repository: TestRepository, path: string): void {
  rmSync(join(repository.folder, path), { recursive: true });
}

/** One git that both sides changed; the merge, rebase or pick that follows stops. */
function makeConflict(repository: TestRepository): void {
  const commit = (text: string) => {
    repository.write('README', `${text}\n`);
    repository.git('commit', '--quiet', '--all', '--message', text);
  };
  repository.git('checkout', '--quiet', '-b', 'side');
  commit('side');
  repository.git('checkout', '--quiet', 'main');
  commit('main');
}

describe('a snapshot', () => {
  it('holds the working tree: changed, staged, untracked and deleted files, and no ignored ones', async () => {
    const repository = makeRepositoryWithCommit();
    for (const name of ['changed', 'deleted', 'staged']) repository.write(name, 'old\n');
    repository.write('.gitignore', 'ignored\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'second');
    repository.write('changed', 'new\n');
    repository.write('staged', 'staged\n');
    repository.git('add', 'staged');
    repository.write('staged', 'staged, then changed\n');
    repository.write('ignored', 'ignored\n');
    makeFolderIn(repository, 'deep/er');
    repository.write('deep/er/untracked', 'untracked\n');
    remove(repository, 'deleted');
    const { commit, tree, leftOut, isNew } = await snapshot(repository);
    expect({ leftOut, isNew }).toEqual({ leftOut: [], isNew: true });
    expect(filesOf(repository, commit)).toEqual({
      '.gitignore': '100644 ignored',
      README: '100644 hello',
      changed: '100644 new',
      'deep/er/untracked': '100644 untracked',
      staged: '100644 staged, then changed',
    });
    expect(tree).toBe(treeByGit(repository));
    expect(repository.git('rev-parse', ref, `${ref}^1`)).toBe(
      `${commit}\n${repository.git('rev-parse', 'HEAD')}`,
    );
    expect(repository.git('log', '-1', '--format=%B', ref).trimEnd().split('\n')).toEqual([
      'snapshot of e, session 1',
      '',
      'Orch-Epic: e',
      'Orch-Session: sess-test',
      `Orch-Head: ${repository.git('rev-parse', 'HEAD')}`,
    ]);
    expectSound(repository);
  });

  it('stands on HEAD first and on the snapshot before second, and is not taken twice of the same', async () => {
    const repository = makeRepositoryWithCommit();
    const first = await snapshot(repository);
    expect(await snapshot(repository, { at: request.at + 5_000 })).toEqual({
      ...first,
      isNew: false,
      before: first.tree,
    });
    repository.write('new', 'new\n');
    const second = await snapshot(repository);
    const head = repository.git('rev-parse', 'HEAD');
    expect(repository.git('rev-list', '--parents', '-1', second.commit)).toBe(
      `${second.commit} ${head} ${first.commit}`,
    );
    repository.git('add', 'new');
    repository.git('commit', '--quiet', '--message', 'the same files, another HEAD');
    const third = await snapshot(repository);
    expect(third).toMatchObject({ tree: second.tree, isNew: true });
    expect(repository.git('rev-parse', `${third.commit}^1`)).toBe(repository.git('rev-parse', 'HEAD'));
    expectSound(repository);
  });

  it('is one of a branch without a commit, of an empty folder, and of a detached HEAD', async () => {
    const repository = makeRepository();
    const empty = await snapshot(repository);
    expect(filesOf(repository, empty.commit)).toEqual({});
    expect((await snapshot(repository)).isNew).toBe(false);
    repository.write('a', 'a\n');
    const unborn = await snapshot(repository);
    expect(repository.git('rev-list', '--parents', '-1', unborn.commit)).toBe(
      `${unborn.commit} ${empty.commit}`,
    );
    repository.git('add', 'a');
    repository.git('commit', '--quiet', '--message', 'first');
    repository.git('checkout', '--quiet', '--detach');
    repository.git('branch', '--quiet', '-D', 'main');
    const { commit } = await snapshot(repository);
    expect(repository.git('rev-parse', `${commit}^1`)).toBe(repository.git('rev-parse', 'HEAD'));
    expectSound(repository);
  });

  it('works with SHA-256, from a folder below, and in a linked worktree with files of its own', async () => {
    const repository = makeRepositoryWithCommit('--object-format=sha256');
    repository.write('main', 'main\n');
    const folder = join(repository.home, 'linked');
    repository.git('worktree', 'add', '--quiet', '-b', 'other', folder);
    const linked = repositoryAt(repository.home, folder);
    linked.write('linked', 'linked\n');
    mkdirSync(join(folder, 'below'));
    const one = await snapshot(repository);
    const two = await withPorts(join(folder, 'below'), (ports) => takeSnapshot(ports, request));
    expect(one.commit).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(filesOf(repository, one.commit))).toEqual(['README', 'main']);
    expect(Object.keys(filesOf(repository, two.commit))).toEqual(['README', 'linked']);
    expect(await snapshot(repository)).toMatchObject({ tree: one.tree });
    expectSound(repository);
  });

  it('says why there is none: a bare repository, an engine without git', async () => {
    const repository = makeRepository('--bare');
    await expect(snapshot(repository)).rejects.toMatchObject({
      code: 'REPOSITORY_UNSUPPORTED',
      message: 'no snapshot: a bare repository has no working tree',
    });
    const plain = makeRepositoryWithCommit();
    const orch = await openOrch({ cwd: plain.folder, engine: 'isomorphic' });
    expect(explainNoSnapshot(orch)).toMatch(/need the git program/);
    await expect(takeSnapshot(orch, request)).rejects.toMatchObject({ code: 'REPOSITORY_UNSUPPORTED' });
    orch.close();
    await withPorts(plain.folder, async (ports) => expect(explainNoSnapshot(ports)).toBeNull());
  });

  it('has a tree by itself, for what is bound to one', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('new', 'new\n');
    const { tree } = await withPorts(repository.folder, (ports) => readWorkTree(ports, 1_000));
    expect(tree).toBe(treeByGit(repository));
    expect(repository.tryGit('rev-parse', '--verify', '--quiet', ref).status).toBe(1);
    expect(await snapshot(repository)).toMatchObject({ tree, isNew: true });
  });
});

describe("I1: a snapshot changes nothing of the user's", () => {
  async function expectUntouched(repository: TestRepository): Promise<string> {
    const before = look(repository.folder);
    for (const path of ['.git/HEAD', '.git/index', '.git/config', 'README'])
      expect(before).toHaveProperty([path]);
    const { commit } = await snapshot(repository);
    writeFileSync(join(repository.home, 'apart'), '');
    renameSync(join(repository.home, 'apart'), join(repository.folder, 'one more'));
    await snapshot(repository);
    remove(repository, 'one more');
    await snapshot(repository);
    expect(look(repository.folder)).toEqual(before);
    return commit;
  }

  it('with staged, unstaged, untracked, intended, linked and stashed files', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('README', 'stashed\n');
    repository.git('stash', 'push', '--quiet', '--include-untracked');
    repository.write('staged', 'staged\n');
    repository.git('add', 'staged');
    repository.write('README', 'unstaged\n');
    repository.write('untracked', 'untracked\n');
    repository.write('intended', 'intended\n');
    repository.git('add', '--intent-to-add', 'intended');
    symlinkSync('/nowhere', join(repository.folder, 'link'));
    const commit = await expectUntouched(repository);
    expectSound(repository);
    expect(repository.git('rev-parse', `${commit}^{tree}`)).toBe(treeByGit(repository));
    expect(repository.git('stash', 'list')).toContain('stash@{0}');
  });

  it.each(['merge', 'rebase', 'cherry-pick'])('in the middle of a %s with a conflict', async (what) => {
    const repository = makeRepositoryWithCommit();
    makeConflict(repository);
    expect(repository.tryGit(what, 'side').status).toBe(1);
    const commit = await expectUntouched(repository);
    expectSound(repository);
    expect(filesOf(repository, commit).README).toMatch(/<<<<<<<.*=======/s);
    expect(repository.git('ls-files', '--unmerged').split('\n')).toHaveLength(3);
    repository.write('README', 'both\n');
    repository.git('add', 'README');
    repository.git('-c', 'core.editor=true', what, '--continue');
    expect(repository.git('show', 'HEAD:README')).toBe('both');
  });

  it('runs no hook and no file system monitor of theirs', async () => {
    const repository = makeRepositoryWithCommit();
    const ran = join(repository.home, 'ran');
    for (const hook of ['post-index-change', 'reference-transaction', 'pre-commit', 'monitor']) {
      const path = join(repository.folder, '.git/hooks', hook);
      mkdirSync(join(repository.folder, '.git/hooks'), { recursive: true });
      writeFileSync(path, `#!/bin/sh\necho ${hook} >>'${ran}'\n`);
      chmodSync(path, 0o755);
    }
    repository.git('config', 'core.fsmonitor', '.git/hooks/monitor');
    repository.write('new', 'new\n');
    await expectUntouched(repository);
    expect(existsSync(ran)).toBe(false);
  });

  it('with a split index, and while another git holds the index', async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('update-index', '--split-index');
    repository.git('config', 'core.splitIndex', 'true');
    repository.write('.git/index.lock', '');
    repository.write('new', 'new\n');
    const shared = () =>
      readdirSync(join(repository.folder, '.git')).filter((name) => name.startsWith('shared'));
    const before = shared();
    const { commit } = await snapshot(repository);
    expect(before).toHaveLength(1);
    expect(shared()).toEqual(before);
    expect(Object.keys(filesOf(repository, commit))).toEqual(['README', 'new']);
    expect(existsSync(join(repository.folder, '.git/index.lock'))).toBe(true);
  });
});

describe('conflicts of every shape', () => {
  it('are in the snapshot as they are on disk', async () => {
    const repository = makeRepositoryWithCommit();
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}`).join('\n');
    const blob = (text: string) => {
      repository.write('scratch', text);
      const oid = repository.git('hash-object', '-w', 'scratch');
      remove(repository, 'scratch');
      return oid;
    };
    const [a, b] = [blob('a\n'), blob('b\n')];
    const entries = [
      ...[`100644 ${a} 1\tdeleted`, `100644 ${b} 3\tdeleted`],
      // One side only, and the very same on disk: git does not call it changed.
      `100644 ${a} 2\tsame`,
      ...[`100644 ${a} 2\tlarge`, `100644 ${b} 3\tlarge`],
      ...[`100644 ${a} 1\tfolder`, `100644 ${b} 2\tfolder`],
    ];
    writeFileSync(join(repository.home, 'entries'), `${entries.join('\n')}\n`);
    const info = `git update-index --index-info <'${join(repository.home, 'entries')}'`;
    repository.git('-c', `alias.fill=!${info}`, 'fill');
    repository.write('same', 'a\n');
    repository.write('large', lines);
    makeFolderIn(repository, 'folder');
    repository.write('folder/file', 'file\n');
    const { commit, leftOut } = await snapshot(repository);
    expect(filesOf(repository, commit)).toEqual({
      README: '100644 hello',
      'folder/file': '100644 file',
      large: '100644 a',
      same: '100644 a',
    });
    expect(leftOut).toEqual([{ path: 'large', reason: 'too large', bytes: lines.length }]);
    expectSound(repository);
  });
});

it('leaves nothing but its cache behind', async () => {
  const repository = makeRepositoryWithCommit();
  repository.write('new', 'new\n');
  await snapshot(repository);
  const home = join(repository.folder, '.git/orchestration/snapshot-index');
  const [folder = ''] = readdirSync(home);
  expect(readdirSync(join(home, folder)).sort()).toEqual(['index', 'kept.json']);
  expect(
    readdirSync(join(repository.folder, '.git/objects'))
      .filter((name) => name.length > 2)
      .sort(),
  ).toEqual(['info', 'pack', 'tmp_orch-no-prune-ended']);
});
