import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
import { errorOf, runOrch, startOrch } from '../support/orch.ts';
import type { TestRepository } from '../support/repository.ts';
import { callOrch, statusOf, waitUntil, writeConfig } from '../support/supervised.ts';

const head = 'name: auth\nworkers: 3\nworker: { agent: sh ./agent.sh, attempts: 2 }\n';

/** Everything of the user's that a convoy must leave alone. */
function readOwn({ git }: TestRepository) {
  const status = git('status', '--porcelain=v2', '--branch', '--untracked-files=all');
  const config = git('config', '--local', '--list');
  const branches = git('for-each-ref', 'refs/heads/main', 'refs/tags', 'refs/stash');
  return { status, config, branches, index: git('ls-files', '--stage') };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** The process that supervises a session. */
function readHolder({ folder }: TestRepository, session: string): number {
  const path = join(folder, '.git', 'orchestration', 'live', `${session}.json`);
  return JSON.parse(readFileSync(path, 'utf8')).holder.pid;
}

describe('a convoy', () => {
  it("C1: does tasks in worktrees of their own and merges them; nothing of the user's changes", () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: a, prompt: make a }
  - { id: b, prompt: make b }
  - { id: c, prompt: join them, needs: [a, b] }
  - { id: check, run: cat c.txt, needs: [c] }
`,
      'a) echo a > a.txt;; b) echo b > b.txt;; c) cat a.txt b.txt > c.txt;;',
    );
    const before = readOwn(repository);
    const ran = convoy(repository, 'start');
    expect(ran).toMatchObject({ status: 0 });
    expect(ran.document.convoy.status).toBe('succeeded');
    expect(statusesOf(ran.document)).toEqual({ a: 'done', b: 'done', c: 'done', check: 'done' });
    expect(readOwn(repository)).toEqual(before);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'a\nb' });
    expect(readAttempts(repository).sort()).toEqual(['a 1', 'b 1', 'c 1']);
    // Each merge has both parents and says what it is.
    const merges = repository.git(
      'log',
      '--merges',
      '--format=%(trailers:key=Orch-Task,valueonly)',
      'orch/auth/merged',
    );
    expect(merges.split('\n').filter(Boolean).sort()).toEqual(['a', 'b', 'c']);
    for (const { worktree } of ran.document.convoy.tasks) expect(worktree).toBeNull();
    expect(repository.git('fsck', '--strict')).toBe('');
  });

  it('C5: a conflict goes back to the worker, who resolves it; no line is lost', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: a, prompt: a line }
  - { id: b, prompt: another line }
`,
      `a) echo a >> README;;
b) if [ "$ORCH_ATTEMPT" = 1 ]; then while ! git show orch/auth/merged:README | grep -q a; do sleep 0.05; done; echo b >> README
   else grep -q orch/auth/merged "$ORCH_PROMPT_FILE" && git merge -q orch/auth/merged || printf 'hello\\na\\nb\\n' > README; git commit -qam resolved; fi;;`,
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ a: 'done', b: 'done' });
    expect(readMerged(repository, 'auth').README).toBe('hello\na\nb');
    expect(ran.document.convoy.tasks.find(({ id }) => id === 'b')?.attempts).toBe(2);
  });

  it('C5: a worker that may not run git resolves a conflict in its files; markers or one side alone are not enough', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: a, prompt: a line }
  - { id: b, prompt: another line, worker: { attempts: 4 } }
`,
      `a) echo a >> README; echo a > a.txt;;
b) case $ORCH_ATTEMPT in
  1) while ! git show orch/auth/merged:README | grep -q a; do sleep 0.05; done; echo b >> README;;
  2) grep -q '^<<<<<<<' README && echo seen > seen.txt;;
  3) printf 'hello\\nb\\n' > README;;
  4) printf 'hello\\na\\nb\\n' > README;;
  esac;;`,
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ a: 'done', b: 'done' });
    expect(readMerged(repository, 'auth')).toMatchObject({
      ...{ README: 'hello\na\nb', 'a.txt': 'a', 'seen.txt': 'seen' },
    });
    expect(ran.document.convoy.tasks.find(({ id }) => id === 'b')?.attempts).toBe(4);
    // What it took in is a parent of its work.
    const parents = repository.git('log', '--merges', '--format=%P', '-1', 'orch/auth/b').split(' ');
    expect(parents).toHaveLength(2);
  });

  it('C3: the merged branch never has a tree whose gates are red; what is red goes back', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: good, prompt: good }
  - { id: bad, prompt: bad, worker: { attempts: 1 } }
  - { id: mended, prompt: bad at first }
`,
      `good) echo ok > good.txt;; bad) echo no > bad.txt;;
mended) if [ "$ORCH_ATTEMPT" = 1 ]; then echo no > bad.txt; else rm bad.txt; echo ok > mended.txt; fi;;`,
    );
    writeConfig(repository, 'gates: [{ name: nobad, run: test ! -e bad.txt }]\n');
    const ran = convoy(repository, 'start');
    expect(ran.status).toBe(3);
    expect(statusesOf(ran.document)).toEqual({ good: 'done', bad: 'failed', mended: 'done' });
    expect(errorOf(ran)).toMatchObject({ code: 'TASK_FAILED' });
    for (const commit of repository
      .git('log', '--first-parent', '--format=%H', 'orch/auth/merged')
      .split('\n'))
      expect(repository.git('ls-tree', '--name-only', commit)).not.toContain('bad.txt');
    const bad = ran.document.convoy.tasks.find(({ id }) => id === 'bad');
    expect(bad?.reason).toContain('The gate "nobad" fails');
    // What was not accepted is not lost.
    expect(repository.git('show', 'orch/auth/bad:bad.txt')).toBe('no');
    expect(existsSync(`${bad?.worktree}/bad.txt`)).toBe(true);
  });

  it('C7: workers outlive their scheduler, which adopts them; none is started twice', async () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: a, prompt: slow }
  - { id: b, prompt: slow }
`,
      'a|b) while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo x > $ORCH_TASK.txt;;',
    );
    const scheduler = startOrch(repository, ['convoy', 'start', 'plan.yaml'], {
      env: ranEnvironment(repository),
    });
    await waitUntil(() => readAttempts(repository).length === 2);
    scheduler.kill('SIGKILL');
    await waitUntil(() => hasEnded(scheduler));
    const shown = convoy(repository, 'show');
    expect(shown.document.convoy.status).toBe('interrupted');
    const next = startOrch(repository, ['convoy', 'resume', 'plan.yaml'], {
      env: ranEnvironment(repository),
    });
    let said = '';
    next.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await waitUntil(() => said.includes('2 workers still running.'));
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(next));
    expect(statusesOf(convoy(repository, 'show').document)).toEqual({ a: 'done', b: 'done' });
    expect(readAttempts(repository).sort()).toEqual(['a 1', 'b 1']);
  });

  it('C2: a worker whose supervisor dies continues in its worktree, and that is no failed attempt', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: slow }\n`,
      'a) if [ -e half.txt ]; then cat half.txt > whole.txt; else echo half > half.txt; sleep 60; fi;;',
    );
    const scheduler = startOrch(repository, ['convoy', 'start', 'plan.yaml', '--json'], {
      env: ranEnvironment(repository),
    });
    await waitUntil(() => readAttempts(repository).length === 1);
    const { session } = JSON.parse(
      runOrch(repository, ['session', 'status', '-e', 'auth--a', '--json']).stdout,
    ) as { session: { id: string } };
    process.kill(readHolder(repository, session.id), 'SIGKILL');
    await waitUntil(() => hasEnded(scheduler));
    const { document } = convoy(repository, 'show');
    expect(document.convoy.tasks).toMatchObject([{ status: 'done', attempts: 1 }]);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'whole.txt': 'half' });
  });

  it('C2: a worker that died is no failed attempt either once another command has recovered its session', async () => {
    const repository = makeConvoyed(
      `${head.replace('attempts: 2', 'attempts: 1')}tasks:\n  - { id: a, prompt: slow }\n`,
      'a) if [ -e half.txt ]; then cat half.txt > whole.txt; else echo half > half.txt; sleep 60; fi;;',
    );
    const scheduler = startOrch(repository, ['convoy', 'start', 'plan.yaml', '--json'], {
      env: ranEnvironment(repository),
    });
    await waitUntil(() => existsSync(join(repository.home, 'repository.orch/auth/a/half.txt')));
    const { session } = JSON.parse(
      runOrch(repository, ['session', 'status', '-e', 'auth--a', '--json']).stdout,
    ) as { session: { id: string } };
    scheduler.kill('SIGKILL');
    await waitUntil(() => hasEnded(scheduler));
    process.kill(readHolder(repository, session.id), 'SIGKILL');
    expect(runOrch(repository, ['doctor', '--fix']).stdout).toContain('Repaired: sessions');
    const { document } = convoy(repository, 'resume');
    expect(document.convoy.tasks).toMatchObject([{ status: 'done', attempts: 1 }]);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'whole.txt': 'half' });
  });

  it('C6: one budget holds for all; what it cannot pay for is held, and continues with more', () => {
    const repository = makeConvoyed(
      `${head}budget: 2\ntasks:
  - { id: a, prompt: costs, worker: { budget: 1 } }
  - { id: b, prompt: costs, worker: { budget: 1 } }
  - { id: c, prompt: costs, worker: { budget: 1 } }
`,
      `a|b|c) ${callOrch('record cost 0.80 -q')}; echo x > $ORCH_TASK.txt;;`,
    );
    const ran = convoy(repository, 'start');
    expect(ran.status).toBe(75);
    const ends = Object.values(statusesOf(ran.document)).sort();
    expect(ends).toEqual(['done', 'done', 'held']);
    expect(ran.document.convoy.budget.spentUsd).toBeCloseTo(1.6);
    const more = convoy(repository, 'resume', '--budget', '+2');
    expect(Object.values(statusesOf(more.document))).toEqual(['done', 'done', 'done']);
    expect(more.document.convoy.budget.spentUsd).toBeCloseTo(2.4);
  });

  it('C6: workers share one budget, and one that needs more than its share has what others leave', () => {
    const repository = makeConvoyed(
      `${head}budget: 1\ntasks:\n  - { id: a, prompt: dear }\n  - { id: b, prompt: cheap }\n`,
      `a) if [ -e half ]; then mv half a.txt; else echo x > half
  until grep -q 'b 1' "$RAN"; do sleep 0.05; done; ${callOrch('record cost 0.60 -q')}; sleep 60; fi;;
b) until grep -q 'a 1' "$RAN"; do sleep 0.05; done; ${callOrch('record cost 0.10 -q')}; echo x > b.txt;;`,
    );
    const ran = convoy(repository, 'start');
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(ran.document.convoy.tasks.map(({ attempts }) => attempts)).toEqual([1, 1]);
    expect(ran.document.convoy.budget.spentUsd).toBeCloseTo(0.7);
    // It was stopped at its half.
    expect(readAttempts(repository).filter((each) => each === 'a 1')).toHaveLength(2);
  });

  it('C6: a convoy that an agent starts is paid for once by the session of that agent', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n`,
      `a|b) ${callOrch('record cost 0.10 -q')}; echo x > $ORCH_TASK.txt;;`,
    );
    const agent = `${callOrch('convoy start plan.yaml')} && ${callOrch('convoy show auth')} && ${callOrch('record cost 0.05 -q')}`;
    const ran = runOrch(repository, ['start', '-e', 'work', '--budget', '5', '--', 'sh', '-c', agent], {
      env: ranEnvironment(repository),
    });
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(statusOf(repository, 'auth').budget.spentUsd).toBeCloseTo(0.2);
    expect(statusOf(repository, 'work').budget.spentUsd).toBeCloseTo(0.25);
  });

  it('a name without Latin letters is no way onto the epic of another convoy', () => {
    const repository = makeConvoyed(`${head}tasks:\n  - { id: a, prompt: a }\n`, 'a) echo x >> a.txt;;');
    expect(convoy(repository, 'start').status).toBe(0);
    repository.write('plan.yaml', `${head.replace('auth', '登录')}tasks:\n  - { id: a, prompt: a }\n`);
    expect(convoy(repository, 'start').status).toBe(0);
    const branches = repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/orch/*/merged');
    expect(branches.split('\n')).toEqual(['orch/auth/merged', expect.stringMatching(/^orch\/plan-/)]);
  });

  it('continues when it is started again: what is merged is not done, or paid for, twice', () => {
    const repository = makeConvoyed(
      'name: auth\nworker: { agent: sh ./agent.sh, attempts: 1 }\ntasks:\n  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n',
      'a) echo a > a.txt;; b) [ -e "$RAN.fixed" ] || exit 1; echo b > b.txt;;',
    );
    expect(convoy(repository, 'start').status).toBe(3);
    repository.write('../ran.fixed', '');
    const again = convoy(repository, 'start');
    expect(again.stderr).toContain('auth is begun and not done, so it continues');
    expect(statusesOf(again.document)).toEqual({ a: 'done', b: 'done' });
    expect(readAttempts(repository).sort()).toEqual(['a 1', 'b 1', 'b 1']);
  });

  it('lands in the branch that is checked out, only if nothing is uncommitted there', () => {
    const repository = makeConvoyed(`${head}tasks:\n  - { id: a, prompt: make a }\n`, 'a) echo a > a.txt;;');
    expect(convoy(repository, 'start').status).toBe(0);
    repository.write('README', 'changed\n');
    const refused = runOrch(repository, ['convoy', 'land', 'plan.yaml', '-y', '--json']);
    expect(refused.status).toBe(1);
    expect(errorOf(refused).hint).toContain('Nothing was changed');
    // Before it asks, which it cannot do here, and in a dry run too.
    for (const option of [[], ['--dry-run']]) {
      const early = runOrch(repository, ['convoy', 'land', 'plan.yaml', ...option, '--json']);
      expect(early.status).toBe(1);
      expect(errorOf(early)).toEqual(errorOf(refused));
    }
    repository.git('checkout', '--quiet', 'README');
    const gitDir = repository.git('rev-parse', '--absolute-git-dir');
    writeFileSync(join(gitDir, 'MERGE_HEAD'), `${repository.git('rev-parse', 'HEAD')}\n`);
    const merging = runOrch(repository, ['convoy', 'land', 'plan.yaml', '--dry-run', '--json']);
    expect(errorOf(merging).message).toContain('a merge is in progress');
    rmSync(join(gitDir, 'MERGE_HEAD'));
    const own = runOrch(repository, ['convoy', 'land', 'plan.yaml', '--into', 'orch/auth/a', '--json']);
    expect(errorOf(own).message).toBe('orch/auth/a is a branch of the convoy itself');
    expect(runOrch(repository, ['convoy', 'land', 'plan.yaml', '-y']).status).toBe(0);
    expect(repository.git('show', 'main:a.txt')).toBe('a');
    expect(repository.git('status', '--porcelain', '--untracked-files=no')).toBe('');
  });

  it('fails a task whose agent changes nothing, or leaves its branch, and says so', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: idle, prompt: nothing, worker: { attempts: 1 } }
  - { id: strays, prompt: elsewhere, worker: { attempts: 1 } }
`,
      'idle) : ;; strays) git checkout -q --detach; echo x > x.txt;;',
    );
    const { document } = convoy(repository, 'start');
    const reasons = Object.fromEntries(document.convoy.tasks.map(({ id, reason }) => [id, reason]));
    expect(reasons.idle).toContain('Nothing was changed');
    expect(reasons.strays).toContain('git switch orch/auth/strays');
  });

  it("C1: a worker's git refuses to move other branches, tags and the stash, and runs the user's hooks", () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: try everything }\n`,
      `a) echo a > a.txt; git switch -q -c mine; git tag v9; git stash -q -u; git branch -f main HEAD~1
  git -C "$RAN.repository" commit -q --allow-empty -m intruded; git update-ref refs/heads/main HEAD~1; git add a.txt; git commit -q -m own;;`,
    );
    const hook = join(repository.folder, '.git', 'hooks', 'post-commit');
    writeFileSync(hook, '#!/bin/sh\necho hooked >> "$RAN.hooks"\n', { mode: 0o755 });
    symlinkSync(repository.folder, join(repository.home, 'ran.repository'));
    const before = readOwn(repository);
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ a: 'done' });
    expect(readOwn(repository)).toEqual(before);
    expect(repository.git('branch', '--list', 'mine')).toBe('');
    expect(readMerged(repository, 'auth')).toMatchObject({ 'a.txt': 'a' });
    expect(readFileSync(join(repository.home, 'ran.hooks'), 'utf8')).toContain('hooked');
  });
});
