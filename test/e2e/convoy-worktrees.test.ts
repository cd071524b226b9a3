import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  convoy,
  makeConvoyed,
  ranEnvironment,
  readAttempts,
  readMerged,
  statusesOf,
} from '../support/convoys.ts';
import { runOrch, startOrch } from '../support/orch.ts';
import type { TestRepository } from '../support/repository.ts';
import { isAlive, waitUntil, writeConfig } from '../support/supervised.ts';

const head = 'name: auth\nworkers: 1\nworker: { agent: sh ./agent.sh, attempts: 1';

/** How often something that appends to a file beside the repository was done. */
function linesOf(repository: { readonly home: string }, name: string): string[] {
  const path = join(repository.home, name);
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}

describe('the worktrees of a convoy', () => {
  it('C1: have the ignored files they need, which no worker commits and no worker changes for others', () => {
    const repository = makeConvoyed(
      `${head}, copy: [.env] }
tasks: [{ id: a, prompt: a }, { id: b, prompt: b, needs: [a] }]
`,
      '*) cat .env conf/local > $ORCH_TASK.txt; echo changed > .env;;',
    );
    repository.write('.gitignore', '.env\nconf/\n');
    repository.write('.worktreeinclude', 'conf/\n');
    repository.git('add', '.gitignore');
    repository.git('commit', '--quiet', '--message', 'ignore');
    repository.write('.env', 'env\n');
    mkdirSync(join(repository.folder, 'conf'));
    repository.write('conf/local', 'local\n');
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ a: 'done', b: 'done' });
    const merged = readMerged(repository, 'auth');
    expect(merged).toMatchObject({ 'a.txt': 'env\nlocal', 'b.txt': 'env\nlocal' });
    expect(Object.keys(merged)).not.toContain('.env');
    expect(readFileSync(join(repository.folder, '.env'), 'utf8')).toBe('env\n');
  });

  it('are used again with what the setup installed, and all are gone at the end', () => {
    const repository = makeConvoyed(
      `${head}, setup: 'echo x >> "$RAN.setups"; mkdir deps; echo dep > deps/dep' }
tasks: [{ id: a, prompt: a }, { id: b, prompt: b, needs: [a] }, { id: c, prompt: c, needs: [b] }]
`,
      '*) cat deps/dep > $ORCH_TASK.txt; pwd >> "$RAN.places"; ls >> "$RAN.listed"; touch cache;;',
    );
    repository.write('.gitignore', 'deps/\ncache\n');
    repository.write('package-lock.json', '{}\n');
    repository.git('add', '.gitignore', 'package-lock.json');
    repository.git('commit', '--quiet', '--message', 'lock');
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ a: 'done', b: 'done', c: 'done' });
    expect(linesOf(repository, 'ran.setups')).toHaveLength(1);
    expect(linesOf(repository, 'ran.places').map((path) => path.split('/').at(-1))).toEqual(['a', 'b', 'c']);
    expect(linesOf(repository, 'ran.listed')).not.toContain('cache');
    expect(existsSync(`${repository.folder}.orch`)).toBe(false);
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('C2: are not used again, nor removed, if someone has changed something there meanwhile', async () => {
    const repository = makeConvoyed(
      `${head.replace('workers: 1', 'workers: 2')} }
tasks: [{ id: a, prompt: a }, { id: held, prompt: b }, { id: c, prompt: c, needs: [held] }]
`,
      'held) until [ -e "$RAN.go" ]; do sleep 0.05; done; echo b > held.txt;; *) echo x > $ORCH_TASK.txt;;',
    );
    const own = `${repository.folder}.orch/auth/a`;
    const scheduler = startOrch(repository, ['convoy', 'start', 'plan.yaml'], {
      env: ranEnvironment(repository),
    });
    const folder = join(repository.folder, '.git/worktrees');
    await waitUntil(() => existsSync(join(folder, 'a', 'orch-free')));
    writeFileSync(join(own, 'mine.txt'), 'mine\n');
    repository.write('../ran.go', '');
    await waitUntil(() => scheduler.exitCode !== null);
    expect(scheduler.exitCode).toBe(0);
    expect(readFileSync(join(own, 'mine.txt'), 'utf8')).toBe('mine\n');
    expect(Object.keys(readMerged(repository, 'auth'))).not.toContain('mine.txt');
  });

  it('of a convoy that failed stay for the tasks that are open, and only for these', () => {
    const repository = makeConvoyed(
      `${head} }\ntasks: [{ id: a, prompt: a }, { id: b, prompt: b, needs: [a] }]\n`,
      'a) echo a > a.txt;; b) echo b > b.txt; [ -e "$RAN.go" ];;',
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ a: 'done', b: 'failed' });
    expect(existsSync(`${repository.folder}.orch/auth/a`)).toBe(false);
    expect(existsSync(`${repository.folder}.orch/auth/b/b.txt`)).toBe(true);
  });

  it('C2: of what failed are removed on request, once all of it is on the branch of its task', () => {
    const repository = makeConvoyed(
      `${head} }\ntasks:\n  - { id: a, prompt: fails }\n  - { id: b, prompt: works }\n`,
      'a) echo half > half.txt; exit 1;; b) echo b > b.txt;;',
    );
    expect(convoy(repository, 'start').status).toBe(3);
    const worktree = join(`${repository.folder}.orch`, 'auth', 'a');
    writeFileSync(join(worktree, 'later.txt'), 'by hand\n');
    expect(convoy(repository, 'clean', '--dry-run').stdout).toContain(worktree);
    expect(existsSync(worktree)).toBe(true);
    expect(JSON.parse(convoy(repository, 'clean').stdout)).toMatchObject({ kept: [] });
    expect(existsSync(`${repository.folder}.orch`)).toBe(false);
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(repository.git('show', 'orch/auth/a:half.txt')).toBe('half');
    expect(repository.git('show', 'orch/auth/a:later.txt')).toBe('by hand');
    // The task continues in a new one, with all of that.
    expect(convoy(repository, 'resume').status).toBe(3);
    expect(existsSync(join(worktree, 'later.txt'))).toBe(true);
  });

  it('are prepared by a setup whose failure holds the task, names a log and leaves nothing running', async () => {
    const repository = makeConvoyed(
      `${head}, setup: 'sleep 60 & echo $! > "$RAN.pid"; echo no registry; [ -e "$RAN.go" ]' }
tasks: [{ id: a, prompt: a }]
`,
      'a) echo a > a.txt;;',
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ a: 'held' });
    const reason = ran.document.convoy.tasks[0]?.reason ?? '';
    expect(reason).toContain('setup failed');
    const [log = ''] = /\S+\.log/.exec(reason) ?? [];
    expect(readFileSync(log, 'utf8')).toContain('no registry');
    await waitUntil(() => !isAlive(Number(linesOf(repository, 'ran.pid')[0])));
    expect(readAttempts(repository)).toEqual([]);
    repository.write('../ran.go', '');
    expect(statusesOf(convoy(repository, 'resume').document)).toEqual({ a: 'done' });
  });

  it('C2: take 20,000 new files of a worker', () => {
    const repository = makeConvoyed(
      `${head} }\ntasks: [{ id: a, prompt: many }]\n`,
      'a) mkdir many; i=0; while [ $i -lt 200 ]; do mkdir many/$i; i=$((i+1)); done; seq 20000 | while read n; do echo $n > many/$((n % 200))/$n; done;;',
    );
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ a: 'done' });
    const files = repository.git('ls-tree', '-r', '--name-only', 'orch/auth/merged', 'many').split('\n');
    expect(files).toHaveLength(20_000);
  });

  it('C1: leave the user’s stashes alone', () => {
    const repository = makeConvoyed(
      `${head} }\ntasks: [{ id: a, prompt: a }]\n`,
      'a) git stash drop; git stash pop; git -C . stash clear; echo a > a.txt;;',
    );
    for (const text of ['one', 'two']) {
      repository.write('README', `${text}\n`);
      repository.git('stash', '--quiet');
    }
    const stashes = repository.git('stash', 'list');
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ a: 'done' });
    expect(repository.git('stash', 'list')).toBe(stashes);
    expect(readMerged(repository, 'auth').README).toBe('hello');
  });

  it('send back a new file whose name differs only in case', () => {
    const repository = makeConvoyed(`${head} }\ntasks: [{ id: a, prompt: a }]\n`, 'a) echo a > Readme;;');
    const { document } = convoy(repository, 'start');
    expect(statusesOf(document)).toEqual({ a: 'failed' });
    expect(document.convoy.tasks[0]?.reason).toContain(
      'README and Readme differ only in upper and lower case',
    );
  });

  it('are where the config says, once the user has approved it', () => {
    const repository = makeConvoyed(`${head} }\ntasks: [{ id: a, prompt: a }]\n`, 'a) pwd > place; :;;');
    mkdirSync(join(repository.folder, '.orchestration'));
    repository.write('.orchestration/config.yaml', 'worktrees: ../trees\n');
    const env = { RAN: join(repository.home, 'ran'), ORCH_TRUST: '1' };
    expect(runOrch(repository, ['convoy', 'start', 'plan.yaml'], { env }).status).toBe(0);
    expect(readMerged(repository, 'auth').place).toBe(join(repository.home, 'trees/auth/a'));
    expect(existsSync(join(repository.home, 'trees'))).toBe(true);
    expect(existsSync(join(repository.home, 'trees/auth'))).toBe(false);
  });
});

it('C1, C5: filters, submodules and a sparse checkout: workers see all files as the user would, and none is dropped', () => {
  const repository = makeConvoyed(
    `${head} }
tasks:
  - { id: edits, prompt: edits a big file }
  - { id: adds, prompt: adds a big file, needs: [edits] }
`,
    `edits) test "$(cat pictures/one.big)" = one && test -e kept/file.txt && test -e left-out/file.txt && echo changed >> pictures/one.big;;
adds) test "$(tail -1 pictures/one.big)" = changed && echo two > pictures/two.big;;`,
  );
  const { folder, home, git } = repository;
  // As Git LFS does it: the repository has a pointer, the content is beside it.
  const store = join(home, 'store');
  mkdirSync(store);
  const filter = (name: string, script: string) => {
    const path = join(home, name);
    writeFileSync(path, `#!/bin/sh\nset -e\n${script}\n`, { mode: 0o755 });
    git('config', `filter.big.${name}`, path);
  };
  filter(
    'clean',
    `cat > '${store}'/$$; id=$(git hash-object --no-filters '${store}'/$$); mv '${store}'/$$ '${store}'/$id; echo "pointer $id"`,
  );
  filter('smudge', `read -r _ id; cat '${store}'/$id`);
  git('config', 'filter.big.required', 'true');
  for (const name of ['pictures', 'kept', 'left-out']) mkdirSync(join(folder, name));
  repository.write('.gitattributes', '*.big filter=big -text\n');
  repository.write('pictures/one.big', 'one\n');
  repository.write('kept/file.txt', 'kept\n');
  repository.write('left-out/file.txt', 'left out\n');
  git('add', '.gitattributes', 'pictures', 'kept', 'left-out');
  const link = '1'.repeat(40);
  git('update-index', '--add', '--cacheinfo', `160000,${link},module`);
  git('config', '--file', '.gitmodules', 'submodule.module.path', 'module');
  git('config', '--file', '.gitmodules', 'submodule.module.url', './module');
  git('add', '.gitmodules');
  git('commit', '--quiet', '--message', 'big files');
  git('sparse-checkout', 'set', 'kept');
  writeConfig(repository, `gates: [{ name: seen, run: 'head -1 pictures/one.big | grep -qx one' }]\n`);
  const readOwn = () => [
    git('status', '--porcelain=v2', '--branch'),
    git('config', '--list', '--show-scope'),
    git('ls-files', '-t'),
  ];
  const before = readOwn();
  const ran = convoy(repository, 'start');
  expect(statusesOf(ran.document), ran.stderr).toEqual({ edits: 'done', adds: 'done' });
  expect(readOwn()).toEqual(before);
  expect(existsSync(join(folder, 'left-out'))).toBe(false);
  const merged = readMergedTree(repository);
  expect(merged.module).toBe(`160000 commit ${link}`);
  expect(git('show', 'orch/auth/merged:pictures/two.big')).toContain('pointer ');
  expect(git('cat-file', '--filters', 'orch/auth/merged:pictures/one.big')).toBe('one\nchanged');
  expect(merged['left-out/file.txt']).toBe(readMergedTree(repository, 'main')['left-out/file.txt']);
});

it('C2: a worktree stays as long as only it has work in a submodule, merged or not', () => {
  const me = '-c user.name=U -c user.email=u@example.com';
  const update = 'git -c protocol.file.allow=always submodule --quiet update --init';
  const repository = makeConvoyed(
    `${head} }
tasks:
  - { id: looks, prompt: only looks }
  - { id: changes, prompt: changes it and fails }
  - { id: commits, prompt: commits in it }
`,
    `commits) ${update}; echo own > module/own.txt; git -C module add own.txt; git -C module ${me} commit --quiet -m own;;
changes) ${update}; echo changed > module/file.txt; exit 1;;
looks) ${update}; cp module/file.txt looks.txt;;`,
  );
  const { folder, home, git } = repository;
  const module = join(home, 'module');
  git('clone', '--quiet', folder, module);
  writeFileSync(join(module, 'file.txt'), 'file\n');
  git('-C', module, 'add', 'file.txt');
  git('-C', module, ...me.split(' '), 'commit', '--quiet', '-m', 'file');
  git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', module, 'module');
  git('commit', '--quiet', '--message', 'module');
  const ran = convoy(repository, 'start');
  expect(statusesOf(ran.document), ran.stderr).toEqual({ commits: 'done', changes: 'failed', looks: 'done' });
  const cleaned = runOrch(repository, ['convoy', 'clean', 'auth']);
  expect(cleaned.status).toBe(0);
  const read = (path: string) => readFileSync(join(`${folder}.orch/auth`, path), 'utf8');
  expect(read('commits/module/own.txt')).toBe('own\n');
  expect(read('changes/module/file.txt')).toBe('changed\n');
  expect(existsSync(`${folder}.orch/auth/looks`)).toBe(false);
  expect(ran.stderr + cleaned.stdout).toContain('only it has the work in its submodules: module');
});

function readMergedTree({ git }: TestRepository, branch = 'orch/auth/merged'): Record<string, string> {
  const lines = git('ls-tree', '-r', branch).split('\n');
  return Object.fromEntries(lines.map((line) => line.split('\t').reverse() as [string, string])); // path, entry
}
