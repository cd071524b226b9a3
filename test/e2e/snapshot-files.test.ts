import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readWorkTree } from '../../src/git/snapshot/snapshot.ts';
import { expectSound } from '../support/checkpoints.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { filesOf, ref, snapshot, treeByGit, withPorts } from '../support/snapshots.ts';

const large = 'x'.repeat(1_001);

function makeNested(repository: TestRepository, path: string): void {
  repository.git('init', '--quiet', path);
  repository.write(`${path}/inside`, 'inside\n');
  repository.git('-C', path, 'add', '.');
  repository.git('-C', path, 'commit', '--quiet', '--message', 'inside');
}

describe('what a snapshot leaves out', () => {
  it('is listed, in the answer and in the message, and cannot forge a trailer', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('big\n\nOrch-Epic: forged', large);
    makeNested(repository, 'nested');
    repository.write('git~1', 'a name git refuses\n');
    const { commit, leftOut } = await snapshot(repository);
    expect(leftOut).toEqual([
      { path: 'big\n\nOrch-Epic: forged', reason: 'too large', bytes: 1_001 },
      { path: 'nested/', reason: 'nested repository', bytes: null },
      { path: 'git~1', reason: 'refused by git', bytes: null },
    ]);
    expect(Object.keys(filesOf(repository, commit))).toEqual(['README']);
    const message = repository.git('log', '-1', '--format=%B', commit);
    expect(message).toContain('- big Orch-Epic: forged (too large, 0.0 MB)\n- nested/ (nested repository)\n');
    expect(repository.git('log', '-1', '--format=%(trailers:key=Orch-Epic,valueonly)', commit).trim()).toBe(
      'e',
    );
    expect(await snapshot(repository)).toMatchObject({ commit, isNew: false });
  });

  it('stays as it was last stored where it is tracked, and is not there where it is untracked', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('untracked', 'small\n');
    await snapshot(repository);
    repository.write('README', large);
    repository.write('untracked', large);
    const { commit, leftOut } = await snapshot(repository);
    expect(filesOf(repository, commit)).toEqual({ README: '100644 hello' });
    expect(leftOut.map(({ path }) => path).sort()).toEqual(['README', 'untracked']);
    truncateSync(join(repository.folder, 'README'), 3);
    expect(filesOf(repository, (await snapshot(repository)).commit)).toEqual({ README: '100644 xxx' });
  });

  it('is a file whose filter fails, and no other', async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('config', 'filter.broken.clean', 'false');
    repository.git('config', 'filter.broken.required', 'true');
    repository.git('config', 'filter.upper.clean', 'tr a-z A-Z');
    repository.write('.gitattributes', '*.bad filter=broken\n*.up filter=upper\n');
    for (const name of ['a.txt', 'b.bad', 'c.bad', 'd.up']) repository.write(name, `${name}\n`);
    const { commit, leftOut } = await snapshot(repository);
    expect(leftOut.map(({ path, reason }) => `${path} ${reason}`)).toEqual([
      'b.bad unreadable',
      'c.bad unreadable',
    ]);
    expect(Object.keys(filesOf(repository, commit))).toEqual(['.gitattributes', 'README', 'a.txt', 'd.up']);
    expect(filesOf(repository, commit)['d.up']).toBe('100644 D.UP');
    expectSound(repository);
  });

  it('is what became ignored or a repository since the last one', async () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, 'sub'));
    for (const name of ['secret', 'kept', 'sub/file']) repository.write(name, 'x\n');
    expect(Object.keys(filesOf(repository, (await snapshot(repository)).commit))).toContain('secret');
    repository.write('.git/info/exclude', 'secret\n');
    expect(Object.keys(filesOf(repository, (await snapshot(repository)).commit))).toEqual([
      'README',
      'kept',
      'sub/file',
    ]);
    makeNested(repository, 'sub');
    const { commit, leftOut } = await snapshot(repository);
    expect(Object.keys(filesOf(repository, commit))).toEqual(['README', 'kept']);
    expect(leftOut).toEqual([{ path: 'sub/', reason: 'nested repository', bytes: null }]);
  });
});

describe('a snapshot of unusual files', () => {
  it('keeps modes, links, names of any bytes, and read-only files', async () => {
    const repository = makeRepositoryWithCommit();
    const { folder } = repository;
    const strange = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x62, 0xff, 0xfe])]);
    writeFileSync(strange, 'bytes\n');
    repository.write('-rf', 'dash\n');
    repository.write('run', '#!/bin/sh\n');
    chmodSync(join(folder, 'run'), 0o755);
    repository.write('fixed', 'read-only\n');
    chmodSync(join(folder, 'fixed'), 0o444);
    symlinkSync(Buffer.from('no\nwhere'), join(folder, 'link'));
    for (const crlf of ['true', 'input', 'false']) {
      repository.git('config', 'core.autocrlf', crlf);
      repository.git('config', 'core.safecrlf', 'true');
      repository.write('lines', `${crlf}\r\nlines\n`);
      const { tree } = await snapshot(repository);
      expect(tree).toBe(treeByGit(repository));
    }
    rmSync(strange);
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    expectSound(repository);
  });

  it('has a tracked file again that was gone for a while, also one that is ignored', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('.gitignore', 'forced\n');
    repository.write('forced', 'tracked though ignored\n');
    repository.git('add', '--force', '.');
    repository.write('untracked', 'known to the next one\n');
    for (const name of ['README', 'forced']) rmSync(join(repository.folder, name));
    expect(Object.keys(filesOf(repository, (await snapshot(repository)).tree))).toEqual([
      '.gitignore',
      'untracked',
    ]);
    repository.write('README', 'back\n');
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    repository.write('forced', 'back\n');
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
  });

  it('sees a file of the same size that is changed in the same instant', async () => {
    const repository = makeRepositoryWithCommit();
    for (let turn = 0; turn < 10; turn++) {
      repository.write('README', `tur${turn}\n`);
      repository.write('other', `tur${turn}\n`);
      if (turn % 3 === 0) repository.git('add', 'README');
      repository.write('README', `TUR${turn}\n`);
      const { commit } = await snapshot(repository);
      expect(filesOf(repository, commit)).toEqual({
        README: `100644 TUR${turn}`,
        other: `100644 tur${turn}`,
      });
    }
  });

  it('takes sparse, skipped and assumed files as the index has them, and submodules too', async () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, 'in'));
    mkdirSync(join(repository.folder, 'out'));
    for (const name of ['in/a', 'out/b', 'assumed', 'skipped']) repository.write(name, 'old\n');
    makeNested(repository, 'module');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'all');
    const files = filesOf(repository, 'HEAD');
    repository.git('update-index', '--assume-unchanged', 'assumed');
    repository.git('sparse-checkout', 'set', 'in');
    repository.git('update-index', '--skip-worktree', 'skipped');
    rmSync(join(repository.folder, 'assumed'));
    repository.write('module/inside', 'changed\n');
    repository.git('-C', 'module', 'commit', '--quiet', '--all', '--message', 'its own');
    expect(readdirSync(repository.folder)).not.toContain('out');
    const { commit, leftOut } = await snapshot(repository);
    expect(leftOut).toEqual([{ path: 'module', reason: 'submodule with new commits', bytes: null }]);
    expect(filesOf(repository, commit)).toEqual(files);
    mkdirSync(join(repository.folder, 'out'));
    repository.write('out/c', 'new\n');
    expect(filesOf(repository, (await snapshot(repository)).commit)).toEqual({
      ...files,
      'out/c': '100644 new',
    });
  });
});

describe('a submodule', () => {
  it.each([2, 4])(
    'is named where there is more in it than its commit (index version %i)',
    async (version) => {
      const repository = makeRepositoryWithCommit();
      makeNested(repository, 'a module');
      repository.git('add', '.');
      repository.git('commit', '--quiet', '--message', 'module');
      repository.git('update-index', `--index-version=${version}`);
      const look = async () =>
        (await snapshot(repository)).leftOut.map(({ path, reason }) => `${path}: ${reason}`);
      expect(await look()).toEqual([]);
      const inside = (...args: string[]) => repository.git('-C', 'a module', ...args);
      repository.write('a module/inside', 'changed\n');
      expect(await look()).toEqual(['a module: submodule with changes inside']);
      // Once from the kept index, once from the user's.
      repository.write('other', 'new\n');
      repository.git('add', 'other');
      expect(await look()).toEqual(['a module: submodule with changes inside']);
      inside('checkout', '--quiet', '.');
      repository.write('a module/untracked', 'new\n');
      expect(await look()).toEqual(['a module: submodule with changes inside']);
      inside('add', '.');
      inside('commit', '--quiet', '--message', 'its own');
      expect(await look()).toEqual(['a module: submodule with new commits']);
      repository.git('add', 'a module');
      expect(await look()).toEqual([]);
      expectSound(repository);
    },
  );

  it('has no program run that its own settings name', async () => {
    const repository = makeRepositoryWithCommit();
    makeNested(repository, 'module');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'module');
    const trace = join(repository.home, 'trace');
    const script = join(repository.home, 'monitor');
    writeFileSync(script, `#!/bin/sh\necho ran >>'${trace}'\n`);
    chmodSync(script, 0o755);
    repository.git('-C', 'module', 'config', 'core.fsmonitor', script);
    repository.write('module/inside', 'changed\n');
    expect((await snapshot(repository)).leftOut).toHaveLength(1);
    expect(readdirSync(repository.home)).not.toContain('trace');
  });
});

describe('what a snapshot left out', () => {
  it('is written anew where another file is, though no other has changed; not where one only grew', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('big', large);
    const first = await snapshot(repository);
    repository.write('big', large.repeat(200));
    expect(await snapshot(repository)).toMatchObject({ commit: first.commit, isNew: false });
    repository.write('bigger', large);
    const second = await snapshot(repository);
    expect(second).toMatchObject({ tree: first.tree, before: first.tree });
    expect(repository.git('log', '-1', '--format=%B', second.commit)).toContain(
      '- bigger (too large, 0.0 MB)\n',
    );
  });
});

describe('the kept index', () => {
  const kept = (repository: TestRepository) => {
    const home = join(repository.folder, '.git/orchestration/snapshot-index');
    return join(home, readdirSync(home)[0] ?? '');
  };

  it.each<[what: string, damage: (repository: TestRepository) => void]>([
    ['is torn', (repository) => truncateSync(join(kept(repository), 'index'), 40)],
    ['is gone', (repository) => rmSync(join(kept(repository), 'index'))],
    [
      'is not what is said of it',
      (repository) => writeFileSync(join(kept(repository), 'kept.json'), '{"mark":1}'),
    ],
  ])('is made anew where it %s', async (_, damage) => {
    const repository = makeRepositoryWithCommit();
    repository.write('untracked', 'x\n');
    const before = await snapshot(repository);
    damage(repository);
    expect(await snapshot(repository)).toEqual({ ...before, before: before.tree, isNew: false });
    repository.write('untracked', 'y\n');
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
  });

  it('is made anew where what it refers to was pruned', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('untracked', 'x\n');
    const { tree } = await withPorts(repository.folder, (ports) => readWorkTree(ports, 1_000));
    repository.git('gc', '--quiet', '--prune=now');
    expect(repository.tryGit('cat-file', '-e', tree).status).not.toBe(0);
    expect((await snapshot(repository)).tree).toBe(tree);
    expectSound(repository);
    repository.git('update-ref', '-d', ref);
    repository.git('gc', '--quiet', '--prune=now');
    repository.write('second', 'y\n');
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    expectSound(repository);
  });

  it('is made anew by a process that remembers what was pruned', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('untracked', 'x\n');
    await withPorts(repository.folder, async (ports) => {
      await readWorkTree(ports, 1_000);
      repository.write('untracked', 'y\n');
      const { tree } = await readWorkTree(ports, 1_000);
      repository.git('gc', '--quiet', '--prune=now');
      expect(repository.tryGit('cat-file', '-e', tree).status).not.toBe(0);
      expect((await readWorkTree(ports, 1_000)).tree).toBe(tree);
    });
    expect(repository.git('ls-tree', '--name-only', treeByGit(repository))).toContain('untracked');
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    expectSound(repository);
  });

  it.each<[what: string, prepare: (repository: TestRepository) => void]>([
    ['shortens its paths', (repository) => repository.git('update-index', '--index-version', '4')],
    [
      'holds a file that is only intended',
      (repository) => {
        repository.write('intended', 'x\n');
        repository.git('add', '--intent-to-add', 'intended');
        repository.git('update-index', '--assume-unchanged', 'intended');
      },
    ],
  ])('goes on where it %s', async (_, prepare) => {
    const repository = makeRepositoryWithCommit();
    prepare(repository);
    for (const turn of ['first', 'second', 'third']) {
      repository.write('README', turn);
      expect(filesOf(repository, (await snapshot(repository)).commit).README).toBe(`100644 ${turn}`);
    }
    expectSound(repository);
  });

  it('goes on with more changes than are worth doing one by one', async () => {
    const repository = makeRepositoryWithCommit();
    await snapshot(repository);
    for (let index = 0; index < 600; index++) repository.write(`file-${index}`, `${index}\n`);
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    for (let index = 0; index < 100; index++) rmSync(join(repository.folder, `file-${index}`));
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    expectSound(repository);
  });
});
