import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { convoy, makeConvoyed, readAttempts, readMerged, statusesOf } from '../support/convoys.ts';
import { runOrch } from '../support/orch.ts';
import { isAlive, waitUntil } from '../support/supervised.ts';

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
