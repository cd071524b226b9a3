import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mergedBranch } from '../../src/convoy/names.ts';
import { findLack } from '../../src/convoy/worktree/disk-space.ts';
import { isFreeWorktree } from '../../src/convoy/worktree/free-worktrees.ts';
import { prepareWorktree } from '../../src/convoy/worktree/setup.ts';
import {
  closeTaskWorktree,
  openMergedWorktree,
  openTaskWorktree,
} from '../../src/convoy/worktree/task-worktree.ts';
import { parseEpicId, parseOid } from '../../src/ids.ts';
import type { Orch } from '../../src/orch.ts';
import type { Worker } from '../../src/plan/convoy-shape.ts';
import type { SharedCopies } from '../../src/system/shared-copies.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { withOrch } from '../support/store.ts';
import { isAlive, waitUntil } from '../support/supervised.ts';

const convoy = parseEpicId('auth');
const { signal } = new AbortController();

/** A repository with a lock file, whose dependencies are ignored. */
function makeInstallable(): TestRepository {
  const repository = makeRepositoryWithCommit();
  repository.write('.gitignore', 'node_modules\ninstalls\nbuild\n');
  repository.write('package-lock.json', '{"version": 1}\n');
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'lock');
  repository.git('branch', mergedBranch(convoy));
  return repository;
}

const installs = (repository: TestRepository) => {
  const path = join(repository.home, 'installs');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0;
};

const install = (repository: TestRepository): Worker => ({
  setup: `echo once >> '${repository.home}/installs'; mkdir -p node_modules/a; echo dep > node_modules/a/index.js`,
});

function openTask(orch: Orch, repository: TestRepository, task: string, worker: Worker) {
  const base = parseOid(repository.git('rev-parse', mergedBranch(convoy)));
  return openTaskWorktree(orch, { convoy, task, worker, base, isNew: true, signal });
}

/** Stands in for a file system that can share contents. */
const shared: SharedCopies = {
  areSupported: async () => true,
  copy: async (from, to) => {
    mkdirSync(dirname(to), { recursive: true });
    execFileSync('cp', ['-a', from, to]);
    return true;
  },
};

describe('the setup of a worktree', () => {
  it('runs once, sees the slot, and prefers what is on this machine', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const worker = { setup: 'echo "$ORCH_SLOT $PORT $npm_config_prefer_offline" >> installs' };
      const base = parseOid(repository.git('rev-parse', 'HEAD'));
      const env = { ORCH_SLOT: '3', PORT: '20020' };
      const request = { convoy, task: 'a', worker, base, isNew: true, signal, env };
      const first = await openTaskWorktree(orch, request);
      expect(first.setup).toBe('ran');
      expect((await openTaskWorktree(orch, request)).setup).toBeNull();
      expect(readFileSync(join(first.own.path, 'installs'), 'utf8')).toBe('3 20020 true\n');
    });
  });

  it('that hangs is ended with all its processes, and its log says what it printed', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const { own } = await openTask(orch, repository, 'a', {});
      const pids = join(repository.home, 'pids');
      const setup = `echo waiting; (sleep 60 & echo $! >> ${pids}; setsid sleep 60 & echo $! >> ${pids}); sleep 60`;
      const failure = await prepareWorktree(
        orch,
        own,
        { convoy, task: 'a', worker: { setup }, signal, timeout: 500 },
        { digest: null, made: [] },
      ).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'TASK_FAILED' });
      const { message, data } = failure as { message: string; data: { log: string } }; // checked above
      expect(message).toContain('it ran for more than');
      expect(message).toContain(data.log);
      expect(readFileSync(data.log, 'utf8')).toContain('waiting');
      for (const pid of readFileSync(pids, 'utf8').trim().split('\n'))
        expect(isAlive(Number(pid)), `process ${pid}`).toBe(false);
    });
  });

  it('that leaves a daemon is done, and the daemon is ended', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const pid = join(repository.home, 'pid');
      const setup = `setsid sh -c 'echo $$ > ${pid}; exec sleep 60' > /dev/null 2>&1 & while ! [ -s ${pid} ]; do sleep 0.02; done`;
      expect((await openTask(orch, repository, 'a', { setup })).setup).toBe('ran');
      await waitUntil(() => !isAlive(Number(readFileSync(pid, 'utf8'))));
    });
  });

  it('says which keys of the shared git config it changed', async () => {
    const repository = makeInstallable();
    const reports: string[] = [];
    await withOrch({ cwd: repository.folder, onReport: (what) => reports.push(what) }, (orch) =>
      openTask(orch, repository, 'a', { setup: 'git config core.hooksPath .husky' }),
    );
    expect(reports.join()).toContain('core.hookspath');
  });
});

describe('dependencies that a setup installed', () => {
  it('are copied for the same lock files where contents can be shared, as they were before a worker', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      await openMergedWorktree(orch, convoy);
      const worker = install(repository);
      const prepare = async (task: string) => {
        const { own } = await openTask(orch, repository, task, {});
        const kind = await prepareWorktree(
          orch,
          own,
          { convoy, task, worker, signal, shared },
          { digest: null, made: [] },
        );
        return { own, kind };
      };
      const a = await prepare('a');
      expect(a.kind).toBe('ran');
      const file = (path: string) => join(path, 'node_modules/a/index.js');
      writeFileSync(file(a.own.path), 'changed by a worker');
      const b = await prepare('b');
      expect(b.kind).toBe('dependencies copied');
      expect(readFileSync(file(b.own.path), 'utf8')).toBe('dep\n');
      expect(installs(repository)).toBe(1);
      repository.write('package-lock.json', '{"version": 2}\n');
      repository.git('commit', '--quiet', '-am', 'newer');
      repository.git('branch', '--force', mergedBranch(convoy));
      expect((await prepare('c')).kind).toBe('ran');
      expect(installs(repository)).toBe(2);
    });
  });

  it('are installed again if they name the folder they are in, or the setup changes other files', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      await openMergedWorktree(orch, convoy);
      for (const setup of [
        'mkdir -p node_modules; echo "#!$PWD/node_modules/python" > node_modules/tool',
        'mkdir -p node_modules; ln -s "$PWD" node_modules/link',
        'mkdir -p node_modules; echo generated > generated.txt',
      ])
        for (const task of ['a', 'b']) {
          const { own } = await openTask(orch, repository, `${task}${setup.length}`, {});
          const request = { convoy, task, worker: { setup }, signal, shared };
          expect(await prepareWorktree(orch, own, request, { digest: null, made: [] })).toBe('ran');
        }
    });
  });
});

describe('a worktree that a task no longer needs', () => {
  it('is the next one’s, with its dependencies and without anything else', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const worker = install(repository);
      const a = await openTask(orch, repository, 'a', worker);
      mkdirSync(join(a.own.path, 'build'));
      writeFileSync(join(a.own.path, 'build/cache'), 'left');
      writeFileSync(join(a.own.path, 'late.txt'), 'written after the merge');
      await closeTaskWorktree(orch, a);
      expect(isFreeWorktree(a.own)).toBe(true);
      // It was not merged, and is not lost.
      expect(repository.git('show', 'orch/auth/a:late.txt')).toBe('written after the merge');
      const b = await openTask(orch, repository, 'b', worker);
      expect(b).toMatchObject({ setup: 'kept', branch: 'orch/auth/b' });
      expect(existsSync(a.own.path)).toBe(false);
      expect(readdirSync(b.own.path).sort()).toEqual(
        ['.git', '.gitignore', 'README', 'node_modules', 'package-lock.json'].sort(),
      );
      expect(repository.git('worktree', 'list')).toContain('auth/b');
      expect(repository.git('worktree', 'list', '--porcelain')).toContain('orch convoy auth: b');
      expect(installs(repository)).toBe(1);
      // A lock file that differs is installed again.
      await closeTaskWorktree(orch, b);
      repository.write('package-lock.json', '{"version": 2}\n');
      repository.git('commit', '--quiet', '-am', 'newer');
      repository.git('branch', '--force', mergedBranch(convoy));
      expect((await openTask(orch, repository, 'c', worker)).setup).toBe('ran');
      expect(installs(repository)).toBe(2);
    });
  });

  it('is not used again with marks of git in it that hide changes, nor while a process works there', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const a = await openTask(orch, repository, 'a', {});
      execFileSync('git', ['update-index', '--assume-unchanged', 'README'], { cwd: a.own.path });
      await closeTaskWorktree(orch, a);
      expect(existsSync(a.own.path)).toBe(false);
      const b = await openTask(orch, repository, 'b', {});
      await closeTaskWorktree(orch, b);
      const working = (await import('node:child_process')).spawn('sleep', ['60'], { cwd: b.own.path });
      try {
        const c = await openTask(orch, repository, 'c', {});
        expect(existsSync(b.own.path)).toBe(true);
        expect(existsSync(c.own.path)).toBe(true);
      } finally {
        working.kill('SIGKILL');
      }
    });
  });

  it('stays if not all of it is on a ref', async () => {
    const repository = makeInstallable();
    const reports: string[] = [];
    await withOrch({ cwd: repository.folder, onReport: (what) => reports.push(what) }, async (orch) => {
      const a = await openTask(orch, repository, 'a', {});
      execFileSync('git', ['checkout', '--quiet', '--detach'], { cwd: a.own.path });
      writeFileSync(join(a.own.path, 'README'), 'not on a branch\n');
      await closeTaskWorktree(orch, a);
      expect(reports.join()).toContain('was kept: it has uncommitted changes and is on no branch');
      expect(readFileSync(join(a.own.path, 'README'), 'utf8')).toBe('not on a branch\n');
    });
  });
});

describe('making a worktree', () => {
  it('needs room for the checkout and a margin', () => {
    const mib = 1024 * 1024;
    expect(findLack(100 * mib, 300 * mib)).toBeNull();
    expect(findLack(100 * mib, 299 * mib)).toMatch(/takes 100.* 300.* should be free, and 299/);
    expect(findLack(8_000 * mib, 8_300 * mib)).not.toBeNull();
    expect(findLack(8_000 * mib, 8_400 * mib)).toBeNull();
  });

  it('writes all files, though the user’s checkout is sparse, and leaves the user’s config alone', async () => {
    const repository = makeInstallable();
    mkdirSync(join(repository.folder, 'src'));
    repository.write('src/a.txt', 'a\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'src');
    repository.git('sparse-checkout', 'set', 'other');
    expect(existsSync(join(repository.folder, 'src'))).toBe(false);
    const config = repository.git('config', '--list', '--show-origin');
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const base = parseOid(repository.git('rev-parse', 'HEAD'));
      const { own } = await openTaskWorktree(orch, {
        convoy,
        task: 'a',
        worker: {},
        base,
        isNew: true,
        signal,
      });
      const git = (...args: string[]) => execFileSync('git', args, { cwd: own.path, encoding: 'utf8' });
      expect(existsSync(join(own.path, 'src/a.txt'))).toBe(true);
      // Nor does the worker's own git take them away.
      writeFileSync(join(own.path, 'b.txt'), 'b');
      git('add', '--sparse', 'b.txt');
      git('-c', 'user.name=W', '-c', 'user.email=w@e', 'commit', '-qm', 'b');
      git('reset', '-q', '--hard', 'HEAD~1');
      git('checkout', '-q', '--detach');
      expect(existsSync(join(own.path, 'src/a.txt'))).toBe(true);
      expect(git('ls-files', '-t')).not.toContain('S ');
    });
    expect(repository.git('config', '--list', '--show-origin')).toBe(config);
    expect(existsSync(join(repository.folder, 'src'))).toBe(false);
  });

  it('survives filters that fail: the task waits, and begins once they work', async () => {
    const repository = makeInstallable();
    const works = join(repository.home, 'works');
    repository.git('config', 'filter.lfs.smudge', `test -e ${works} && tr a-z A-Z`);
    repository.git('config', 'filter.lfs.clean', 'tr A-Z a-z');
    repository.git('config', 'filter.lfs.required', 'true');
    repository.write('.gitattributes', '*.bin filter=lfs\n');
    repository.write('big.bin', 'BIG\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'big');
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const base = parseOid(repository.git('rev-parse', 'HEAD'));
      const request = { convoy, task: 'a', worker: {}, base, isNew: true, signal };
      await expect(openTaskWorktree(orch, request)).rejects.toMatchObject({ code: 'GIT_FAILED' });
      writeFileSync(works, '');
      const { own } = await openTaskWorktree(orch, request);
      expect(readFileSync(join(own.path, 'big.bin'), 'utf8')).toBe('BIG\n');
    });
  });

  it('says once that submodules are empty', async () => {
    const repository = makeInstallable();
    repository.write('.gitmodules', '[submodule "a"]\n\tpath = a\n\turl = ../a\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'modules');
    repository.git('branch', '--force', mergedBranch(convoy));
    const reports: string[] = [];
    await withOrch({ cwd: repository.folder, onReport: (what) => reports.push(what) }, async (orch) => {
      for (let round = 0; round < 2; round++) await openMergedWorktree(orch, convoy);
    });
    expect(reports).toEqual([expect.stringContaining('submodules are empty')]);
  });

  it('finds one again whose link was deleted, that was moved, or that is gone', async () => {
    const repository = makeInstallable();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const a = await openTask(orch, repository, 'a', {});
      writeFileSync(join(a.own.path, 'work.txt'), 'work');
      execFileSync('rm', [join(a.own.path, '.git')]);
      const again = await openTask(orch, repository, 'a', {});
      expect(readFileSync(join(again.own.path, 'work.txt'), 'utf8')).toBe('work');
      execFileSync('mv', [a.own.path, join(repository.home, 'moved')]);
      const anew = await openTask(orch, repository, 'a', {});
      expect(existsSync(join(anew.own.path, 'README'))).toBe(true);
      expect(readFileSync(join(repository.home, 'moved/work.txt'), 'utf8')).toBe('work');
      repository.git('worktree', 'move', '-f', '-f', anew.own.path, join(repository.home, 'by-git'));
      await expect(openTask(orch, repository, 'a', {})).rejects.toThrow('is checked out in');
      expect(existsSync(join(repository.home, 'by-git/README'))).toBe(true);
    });
  });
});

it('a folder for worktrees that is a link leads to where it points', async () => {
  const repository = makeInstallable();
  const real = join(repository.home, 'disk2');
  mkdirSync(real);
  symlinkSync(real, join(repository.home, 'link'));
  mkdirSync(join(repository.folder, '.orchestration'));
  repository.write('.orchestration/config.yaml', 'worktrees: ../link/trees\n');
  await withOrch({ cwd: repository.folder, trusted: true }, async (orch) => {
    const a = await openTask(orch, repository, 'a', {});
    expect(a.own.path).toBe(join(real, 'trees/auth/a'));
  });
  // One that was made under an earlier setting stays known.
  repository.write('.orchestration/config.yaml', '{}\n');
  await withOrch({ cwd: repository.folder }, async (orch) => {
    const again = await openTask(orch, repository, 'a', {});
    expect(again.own.path).toBe(join(real, 'trees/auth/a'));
    expect((await openTask(orch, repository, 'b', {})).own.path).toContain('repository.orch/auth/b');
  });
  for (const [setting, why] of [
    ['.git/trees', 'inside the git folder'],
    ['trees', 'does not ignore it'],
    ['.', 'the checkout itself'],
  ]) {
    repository.write('.orchestration/config.yaml', `worktrees: ${setting}\n`);
    await withOrch({ cwd: repository.folder, trusted: true }, async (orch) => {
      await expect(openTask(orch, repository, 'c', {})).rejects.toThrow(why);
    });
  }
  repository.write('.orchestration/config.yaml', 'worktrees: build\n');
  await withOrch({ cwd: repository.folder, trusted: true }, async (orch) => {
    expect((await openTask(orch, repository, 'c', {})).own.path).toBe(
      join(repository.folder, 'build/auth/c'),
    );
  });
  // Without the user's approval it does not count.
  repository.write('.orchestration/config.yaml', 'worktrees: ../link/other\n');
  await withOrch({ cwd: repository.folder }, async (orch) => {
    expect((await openTask(orch, repository, 'd', {})).own.path).toContain('repository.orch/auth/d');
  });
});
