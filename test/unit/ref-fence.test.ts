import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { raiseFence } from '../../src/convoy/worktree/ref-fence.ts';
import {
  compareCheckout,
  compareConfig,
  compareUserState,
  readUserState,
  watchCheckout,
} from '../../src/convoy/worktree/watch-user.ts';
import { discoverRepository } from '../../src/git/repository.ts';
import { runProgram } from '../support/programs.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { withOrch } from '../support/store.ts';

/** A worktree whose shell has the fence around it. */
async function makeFenced(inherited: Record<string, string> = {}) {
  const repository = makeRepositoryWithCommit();
  const worktree = join(repository.home, 'worktree');
  repository.git('worktree', 'add', '--quiet', '-b', 'orch/auth/a', worktree);
  const base: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    HOME: repository.home,
    GIT_AUTHOR_NAME: 'W',
    GIT_AUTHOR_EMAIL: 'w@e',
    GIT_COMMITTER_NAME: 'W',
    GIT_COMMITTER_EMAIL: 'w@e',
  };
  const before = { ...process.env };
  Object.assign(process.env, inherited, { HOME: repository.home });
  const fence = await withOrch({ cwd: repository.folder }, (orch) => raiseFence(orch, 'orch/auth/a'));
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
  const env = { ...base, ...(fence as Record<string, string>) }; // every variable of it has a value
  const sh = (line: string, cwd = worktree) => runProgram('sh', ['-c', line], { cwd, env });
  return { repository, worktree, sh };
}

/** Two stashes of the user's. */
function stashTwice(repository: TestRepository): string {
  for (const text of ['one', 'two']) {
    repository.write('README', `${text}\n`);
    repository.git('stash', '--quiet');
  }
  return repository.git('stash', 'list', '--format=%H');
}

describe('the fence around a worker', () => {
  it('C1: keeps every stash, however git is called, and lets a worker look', async () => {
    const { repository, worktree, sh } = await makeFenced();
    const stashes = stashTwice(repository);
    writeFileSync(join(worktree, 'README'), 'mine\n');
    for (const line of [
      ...['git stash', 'git stash push -u', 'git stash drop', 'git stash pop', 'git stash clear'],
      ...['git -C . stash drop stash@{1}', 'git -c a.b=c --no-pager stash pop', "sh -c 'git stash drop'"],
      ...['git stash store $(git stash create)', `cd / && git -C ${worktree} stash drop`],
      ...[`git -C ${repository.folder} stash drop`, 'git reflog expire --expire=now --all'],
      'git reflog delete refs/stash@{0}',
    ])
      expect(sh(line), line).not.toMatchObject({ status: 0 });
    expect(repository.git('stash', 'list', '--format=%H')).toBe(stashes);
    expect(readFileSync(join(worktree, 'README'), 'utf8')).toBe('mine\n');
    expect(sh('git stash list && git stash show && git reflog').status).toBe(0);
    expect(sh('git log --grep stash; git add stash 2>/dev/null; git status').status).toBe(0);
  });

  it('C1: keeps branches, tags and the HEAD of the user’s checkout', async () => {
    const { repository, sh } = await makeFenced();
    repository.git('branch', 'mine');
    repository.git('tag', 'v1');
    const refs = repository.git('for-each-ref');
    for (const line of [
      ...[
        'git branch -D mine',
        'git branch -m mine yours',
        'git tag -d v1',
        'git tag -f v1 HEAD',
        'git tag v2',
      ],
      ...[
        `git -C ${repository.folder} checkout -q --detach`,
        `git -C ${repository.folder} reset -q --soft HEAD~0 --`,
      ],
      ...['git push . HEAD:refs/heads/new', `git push -q file://${repository.folder} HEAD:main`],
      `git push --force ${repository.folder}/.git HEAD~0:refs/heads/new`,
    ])
      sh(line);
    expect(repository.git('for-each-ref')).toBe(refs);
    expect(repository.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    const remote = join(repository.home, 'remote');
    const push = `git push -q ${remote} HEAD:refs/heads/new && mkdir new && git push -q ${remote} --delete new`;
    expect(sh(`git init -q --bare ${remote} && ${push}`).status).toBe(0);
    expect(sh('git commit --allow-empty -qm own && git rebase -q HEAD~1').status).toBe(0);
  });

  it('is not around the worker’s own repositories', async () => {
    const { repository, sh } = await makeFenced();
    const own = join(repository.home, 'own');
    const line = `git init -q ${own} && cd ${own} && echo a > a && git add a && git commit -qm a && git tag v1 &&
      echo b > a && git stash -q && git stash drop -q && git branch x && git branch -D x`;
    expect(sh(line)).toMatchObject({ status: 0 });
  });

  it('runs hooks that the user has for all repositories, and relative ones', async () => {
    const { repository, worktree, sh } = await makeFenced();
    const hooks = join(repository.home, 'hooks');
    mkdirSync(hooks);
    writeFileSync(join(hooks, 'post-commit'), '#!/bin/sh\necho global >> "$HOME/hooked"\n', { mode: 0o755 });
    writeFileSync(join(repository.home, '.gitconfig'), '[core]\n\thooksPath = ~/hooks\n');
    const home = process.env.HOME;
    process.env.HOME = repository.home;
    const raised = await withOrch({ cwd: repository.folder }, (orch) => raiseFence(orch, 'orch/auth/a'));
    process.env.HOME = home;
    expect(raised.ORCH_USER_HOOKS).toBe(hooks);
    expect(sh(`ORCH_USER_HOOKS=${hooks} git commit -q --allow-empty -m own`).status).toBe(0);
    expect(readFileSync(join(repository.home, 'hooked'), 'utf8')).toBe('global\n');
    // The same in a repository of the worker's own.
    const own = join(repository.home, 'own');
    sh(`git init -q ${own} && cd ${own} && git commit -q --allow-empty -m x`);
    expect(readFileSync(join(repository.home, 'hooked'), 'utf8')).toBe('global\nglobal\n');
    mkdirSync(join(worktree, '.husky'));
    writeFileSync(join(worktree, '.husky/post-commit'), '#!/bin/sh\necho husky >> "$HOME/hooked"\n', {
      mode: 0o755,
    });
    expect(sh('ORCH_USER_HOOKS=.husky git commit -q --allow-empty -m x').status).toBe(0);
    expect(readFileSync(join(repository.home, 'hooked'), 'utf8')).toContain('husky');
  });

  it('keeps git settings that are in the environment', async () => {
    const { sh } = await makeFenced({
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'user.nickname',
      GIT_CONFIG_VALUE_0: 'kept',
    });
    expect(sh('git config user.nickname').stdout.trim()).toBe('kept');
    expect(sh('git tag v1').status).not.toBe(0);
  });
});

describe('what is compared before and after a worker', () => {
  it('is the shared git config, by key', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const before = await readUserState(orch);
      expect(compareUserState(before, await readUserState(orch))).toEqual([]);
      repository.git('config', 'user.email', 'someone@example.com');
      repository.git('config', '--add', 'remote.x.fetch', 'a');
      const between = await readUserState(orch);
      repository.git('config', '--add', 'remote.x.fetch', 'b');
      expect(compareConfig(before.config, between.config)).toEqual(['remote.x.fetch', 'user.email']);
      const [sentence] = compareUserState(between, await readUserState(orch));
      expect(sentence).toBe("the repository's git config changed while it worked: remote.x.fetch");
      repository.git('config', '--unset-all', 'remote.x.fetch');
      expect(compareConfig(between.config, (await readUserState(orch)).config)).toEqual(['remote.x.fetch']);
    });
  });

  it('is the user’s checkout: HEAD, new files, and files that were changed already', async () => {
    const repository = makeRepositoryWithCommit();
    const look = () => watchCheckout({ repository: discoverRepository(repository.folder) });
    repository.write('README', 'changed\n');
    const before = await look();
    expect(compareCheckout(before, await look())).toBeNull();
    repository.write('README', 'changed again\n');
    repository.write('new file.txt', 'new');
    expect(compareCheckout(before, await look())).toBe(
      'may have written outside its worktree: README, new file.txt changed in your checkout while it worked',
    );
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'more');
    expect(compareCheckout(before, await look())).toContain('HEAD was main at');
    expect(existsSync(join(repository.folder, '.git/index.lock'))).toBe(false);
  });
});
