import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  create,
  epicRef,
  fail,
  list,
  readRefs,
  reasonsOf,
  repositoryAt,
  show,
} from '../support/checkpoints.ts';
import { useOwnProcesses } from '../support/hosted.ts';
import { errorOf, orchBin, orchJson, runOrch } from '../support/orch.ts';
import {
  cleanEnvironment,
  makeFolder,
  makeRepositoryWithCommit,
  type TestRepository,
} from '../support/repository.ts';

useOwnProcesses();

function writeHook(folder: string, name: string, script: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

const createInHook = `'${process.execPath}' '${orchBin}' checkpoint create --epic x --reason "from a hook"`;

describe('where it is called', () => {
  it('from a subfolder, from inside .git, and with -C or --repo from elsewhere, it is the same repository', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, 'deep/down'), { recursive: true });
    create(repository, 'one', { cwd: join(repository.folder, 'deep/down') });
    create(repository, 'two', { cwd: join(repository.folder, '.git') });
    create(repository, 'three', { cwd: join(repository.folder, '.git/objects') });
    const args = ['checkpoint', 'create', '-e', 'x', '-r'];
    orchJson(repository, ['-C', 'repository/deep', ...args, 'four'], { cwd: repository.home });
    orchJson(repository, [...args, 'five', '--repo', repository.folder], { cwd: '/' });
    expect(reasonsOf(list(repository))).toEqual(['five', 'four', 'three', 'two', 'one']);
    expect(show(repository, '2').document.branch).toBe('main');
    expect(repository.git('status', '--porcelain')).toBe('');
  });

  it('outside of any repository, and in a folder that is not there, it says so', () => {
    const home = makeFolder();
    const nowhere = repositoryAt(home, home);
    for (const args of [['list'], ['create', '--epic', 'x'], ['show'], ['verify']]) {
      const error = fail(nowhere, ['checkpoint', ...args]);
      expect(error).toMatchObject({ status: 2, code: 'NOT_A_REPOSITORY', hint: expect.any(String) });
    }
    const missing = fail(nowhere, ['-C', 'missing', 'checkpoint', 'list']);
    expect(missing).toMatchObject({ status: 2, code: 'NOT_A_REPOSITORY' });
    expect(missing.message).toContain('missing');
  });

  it('in a folder that was removed under it, it says so, and does not take it for a bug', () => {
    const home = makeFolder();
    const line = `mkdir gone; cd gone; rmdir ../gone; '${process.execPath}' '${orchBin}' checkpoint list --json`;
    const options = { cwd: home, env: cleanEnvironment(home), encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', line], options);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(errorOf({ status, stdout, stderr }).code).toBe('NOT_A_REPOSITORY');
  });

  it('in a worktree whose repository is gone it says so, and takes no repository around it instead', () => {
    const outer = makeRepositoryWithCommit();
    const inner = makeRepositoryWithCommit();
    const folder = join(outer.folder, 'linked');
    inner.git('worktree', 'add', '--quiet', folder);
    rmSync(join(inner.folder, '.git/worktrees/linked'), { recursive: true });
    const error = fail(repositoryAt(outer.home, folder), ['checkpoint', 'create', '--epic', 'x']);
    expect(error).toMatchObject({ status: 2, code: 'NOT_A_REPOSITORY' });
    expect(error.hint).toContain('git worktree repair');
    expect(readRefs(outer)).not.toContain('orchestration');
  });

  it('an empty .git folder is passed over, as git does', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, 'sub/.git'), { recursive: true });
    expect(create(repository, 'one', { cwd: join(repository.folder, 'sub') }).seq).toBe(1);
    expect(readRefs(repository)).toContain(epicRef);
  });
});

describe('what the environment says', () => {
  it('GIT_* variables that point elsewhere are not followed', () => {
    const repository = makeRepositoryWithCommit();
    const other = makeRepositoryWithCommit();
    const before = readRefs(other);
    const git = join(other.folder, '.git');
    const env = {
      GIT_DIR: git,
      GIT_COMMON_DIR: git,
      GIT_WORK_TREE: other.folder,
      GIT_INDEX_FILE: join(git, 'index'),
      GIT_OBJECT_DIRECTORY: join(git, 'objects'),
      GIT_NAMESPACE: 'elsewhere',
      GIT_PREFIX: 'sub/',
      GIT_CEILING_DIRECTORIES: repository.home,
      GIT_AUTHOR_DATE: '2001-01-01T00:00:00Z',
      GIT_COMMITTER_DATE: 'nonsense',
      GIT_CONFIG_PARAMETERS: "'core.bare'='true'",
      GIT_CONFIG_COUNT: 'nonsense',
      GIT_TRACE: '1',
    };
    const made = create(repository, 'one', { env });
    expect(repository.git('rev-parse', epicRef)).toBe(made.commit);
    expect(repository.git('cat-file', '-t', made.commit)).toBe('commit');
    expect(reasonsOf(list(repository, { env }))).toEqual(['one']);
    expect(readRefs(other)).toBe(before);
    expect(existsSync(join(git, 'orchestration'))).toBe(false);
  });

  it('a checkpoint can be made from within a hook: of a commit in a worktree, of a push to a bare repository', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('worktree', 'add', '--quiet', '-b', 'side', '../linked');
    const linked = repositoryAt(repository.home, join(repository.home, 'linked'));
    writeHook(join(repository.folder, '.git/hooks'), 'pre-commit', createInHook);
    linked.write('new', 'staged\n');
    linked.git('add', 'new');
    linked.git('commit', '--quiet', '--message', 'with a hook');
    const { document } = show(repository, 'latest');
    expect(document).toMatchObject({ reason: 'from a hook', branch: 'side' });
    expect(linked.git('show', '--format=', '--name-only', 'HEAD')).toBe('new');

    const bare = repositoryAt(repository.home, join(repository.home, 'bare.git'));
    repository.git('init', '--quiet', '--bare', bare.folder);
    writeHook(join(bare.folder, 'hooks'), 'pre-receive', createInHook);
    repository.git('push', '--quiet', bare.folder, 'main');
    expect(reasonsOf(list(bare))).toEqual(['from a hook']);
  });

  it('a Node without a compiler writes what every other Node reads', () => {
    const repository = makeRepositoryWithCommit();
    const env = { NODE_OPTIONS: '--jitless' };
    create(repository, 'one');
    create(repository, 'two', { env });
    create(repository, 'three');
    expect(reasonsOf(list(repository))).toEqual(['three', 'two', 'one']);
    expect(reasonsOf(list(repository, { env }))).toEqual(['three', 'two', 'one']);
    expect(orchJson(repository, ['checkpoint', 'verify'], { env })).toMatchObject({
      checked: 3,
      damaged: [],
    });
    expect(repository.tryGit('fsck', '--strict')).toMatchObject({ status: 0 });
  });

  it('without git, it works by itself; asked for git, it says what is missing', () => {
    const repository = makeRepositoryWithCommit();
    const env = { PATH: '/nonexistent' };
    create(repository, 'without git', { env });
    expect(reasonsOf(list(repository, { env }))).toEqual(['without git']);
    const error = fail(repository, ['checkpoint', 'list'], { env: { ...env, ORCH_ENGINE: 'native' } });
    expect(error).toMatchObject({ status: 1, code: 'GIT_FAILED', message: 'git was not found' });
    expect(error.hint).toContain('ORCH_ENGINE=isomorphic');
  });
});

describe("what the user's configuration says", () => {
  /** Creates and reads back with both engines. */
  function expectUnimpressed(repository: TestRepository, env: Record<string, string> = {}): void {
    const reason = 'Grüße, 世界 🚀';
    create(repository, 'one', { env });
    create(repository, reason, { env });
    for (const engine of ['native', 'isomorphic']) {
      const found = list(repository, { env: { ...env, ORCH_ENGINE: engine } });
      expect(reasonsOf(found)).toEqual([reason, 'one']);
    }
  }

  it('no identity is needed, and nobody is named', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('config', 'user.useConfigOnly', 'true');
    expectUnimpressed(repository);
    expect(repository.git('log', '-1', '--format=%an <%ae> %cn <%ce>', epicRef)).toBe(
      'orch <orch@localhost> orch <orch@localhost>',
    );
  });

  it('signing that is switched on and broken does not matter', () => {
    const repository = makeRepositoryWithCommit();
    for (const name of ['commit.gpgSign', 'tag.gpgSign', 'log.showSignature'])
      repository.git('config', name, 'true');
    for (const name of ['gpg.program', 'gpg.ssh.program']) repository.git('config', name, 'false');
    expect(repository.tryGit('commit', '--allow-empty', '--message', 'signed').status).not.toBe(0);
    expectUnimpressed(repository);
    expect(repository.git('cat-file', 'commit', epicRef)).not.toContain('gpgsig');
  });

  it('settings that change what git prints do not change what is read', () => {
    const repository = makeRepositoryWithCommit();
    const settings = [
      ['color.ui', 'always'],
      ['core.pager', 'false'],
      ['core.quotePath', 'true'],
      ['core.logAllRefUpdates', 'always'],
      ['core.abbrev', '5'],
      ['format.pretty', 'oneline'],
      ['i18n.commitEncoding', 'ISO-8859-1'],
      ['i18n.logOutputEncoding', 'ISO-8859-1'],
      ['log.date', 'relative'],
      ['log.decorate', 'full'],
      ['log.diffMerges', 'combined'],
      ['log.follow', 'true'],
      ['log.showRoot', 'true'],
      ['notes.displayRef', '*'],
      ['trailer.separators', '#'],
      ['transfer.hideRefs', 'refs/orchestration'],
    ] as const;
    for (const [name, value] of settings) repository.git('config', name, value);
    expectUnimpressed(repository, { LC_ALL: 'de_DE.UTF-8', LANG: 'de_DE.UTF-8', LANGUAGE: 'de' });
  });

  it('I1: hooks do not run, wherever they are', () => {
    const repository = makeRepositoryWithCommit();
    const marker = join(repository.home, 'a-hook-ran');
    const configured = join(repository.home, 'configured');
    const names = ['reference-transaction', 'pre-commit', 'commit-msg', 'post-commit', 'post-index-change'];
    for (const folder of [join(repository.folder, '.git/hooks'), configured])
      for (const name of names) writeHook(folder, name, `echo ${name} >> '${marker}'; exit 1`);

    create(repository, 'one');
    repository.git('config', 'core.hooksPath', configured);
    create(repository, 'two');
    create(repository, 'three', { env: { ORCH_ENGINE: 'isomorphic' } });
    expect(runOrch(repository, ['checkpoint', 'verify']).status).toBe(0);
    expect(existsSync(marker)).toBe(false);
    expect(repository.tryGit('commit', '--allow-empty', '--message', 'theirs').status).not.toBe(0);
    expect(existsSync(marker)).toBe(true);
  });
});
