import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ConvoyDocument,
  convoy,
  makeConvoyed,
  ranEnvironment,
  readAttempts,
  readMerged,
  statusesOf,
} from '../support/convoys.ts';
import { errorOf, orchJson, runOrch, startOrch } from '../support/orch.ts';
import type { TestRepository } from '../support/repository.ts';
import { isAlive, readWhenThere, waitUntil, writeConfig } from '../support/supervised.ts';

const head = 'name: auth\nworkers: 4\nworker: { agent: sh ./agent.sh, attempts: 2 }\n';
const untilGo = 'while [ ! -e "$RAN.go" ]; do sleep 0.05; done';

function start(repository: TestRepository, verb = 'start'): ChildProcess {
  return startOrch(repository, ['convoy', verb, 'plan.yaml', '--json'], { env: ranEnvironment(repository) });
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;
const placeOf = (repository: TestRepository, task: string) =>
  join(repository.home, 'repository.orch', 'auth', task);
const show = (repository: TestRepository) =>
  orchJson<ConvoyDocument>(repository, ['convoy', 'show', 'plan.yaml']);
const go = (repository: TestRepository) => repository.write('../ran.go', '');

describe('what people do to a convoy by hand', () => {
  it('worktrees that were deleted or moved while it was stopped: what was committed is taken, the rest begins again', () => {
    const repository = makeConvoyed(
      `${head.replace('attempts: 2', 'attempts: 1')}tasks:
  - { id: deleted, prompt: fails }
  - { id: moved, prompt: fails }
  - { id: edited, prompt: fails }
`,
      'deleted|moved|edited) echo 1 > $ORCH_TASK-1.txt; git add -A; git commit -qm one; echo 2 > $ORCH_TASK-2.txt; test -e "$RAN.go" || exit 1;;',
    );
    expect(convoy(repository, 'start').status).toBe(3);
    rmSync(placeOf(repository, 'deleted'), { recursive: true });
    renameSync(placeOf(repository, 'moved'), join(repository.home, 'elsewhere'));
    writeFileSync(join(placeOf(repository, 'edited'), 'by-hand.txt'), 'hand\n');
    go(repository);
    const ran = convoy(repository, 'resume');
    expect(statusesOf(ran.document), ran.stderr).toEqual({ deleted: 'done', moved: 'done', edited: 'done' });
    expect(readMerged(repository, 'auth')).toMatchObject({
      ...{ 'deleted-1.txt': '1', 'deleted-2.txt': '2', 'moved-1.txt': '1', 'moved-2.txt': '2' },
      ...{ 'edited-1.txt': '1', 'by-hand.txt': 'hand' },
    });
    // What was moved away is the user's now.
    expect(existsSync(join(repository.home, 'elsewhere', 'moved-2.txt'))).toBe(true);
  });

  it('a worktree that is deleted while its worker runs costs an attempt of that task only', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: loses its place }\n  - { id: b, prompt: works }\n`,
      `a) if [ $ORCH_ATTEMPT = 1 ]; then ${untilGo}; fi; echo a > a.txt;; b) ${untilGo}; echo b > b.txt;;`,
    );
    const scheduler = start(repository);
    await waitUntil(() => readAttempts(repository).length === 2);
    rmSync(placeOf(repository, 'a'), { recursive: true });
    go(repository);
    await waitUntil(() => hasEnded(scheduler));
    expect(statusesOf(show(repository))).toEqual({ a: 'done', b: 'done' });
    expect(readAttempts(repository).sort()).toEqual(['a 1', 'a 2', 'b 1']);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'a.txt': 'a', 'b.txt': 'b' });
  });

  it('task branches that were moved or deleted: nothing is merged that was not done from where the task began', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: back, prompt: is moved back }
  - { id: gone, prompt: is deleted }
  - { id: other, prompt: is moved to something else }
`,
      `*) if [ "$ORCH_ATTEMPT" = 2 ] && grep -q 'git reset --soft' "$ORCH_PROMPT_FILE"; then
  git reset -q --soft $(sed -n 's/.*git reset --soft \\([0-9a-f]*\\).*/\\1/p' "$ORCH_PROMPT_FILE")
fi
echo 1 > $ORCH_TASK-1.txt; git add -A; git commit -qm one; echo 2 > $ORCH_TASK-2.txt; test -e "$RAN.go" || exit 1;;`,
    );
    expect(convoy(repository, 'start').status).toBe(3);
    const merged = repository.git('rev-parse', 'orch/auth/merged');
    const other = repository.git('commit-tree', '-m', 'other', 'main^{tree}');
    repository.git('update-ref', 'refs/heads/orch/auth/back', 'main');
    repository.git('update-ref', '-d', 'refs/heads/orch/auth/gone');
    repository.git('update-ref', 'refs/heads/orch/auth/other', other);
    go(repository);
    const ran = convoy(repository, 'resume');
    expect(statusesOf(ran.document), ran.stderr).toEqual({ back: 'done', gone: 'done', other: 'done' });
    for (const task of ['back', 'gone', 'other'])
      expect(readMerged(repository, 'auth')).toMatchObject({
        [`${task}-1.txt`]: '1',
        [`${task}-2.txt`]: '2',
      });
    const log = repository.git('log', '--format=%H', `${merged}..orch/auth/merged`).split('\n');
    expect(log).not.toContain(other);
  });

  it('a branch of the user that is rebased meanwhile', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: a }\n`,
      `a) ${untilGo}; echo a > a.txt;;`,
    );
    const scheduler = start(repository);
    await waitUntil(() => readAttempts(repository).length === 1);
    repository.git('commit', '--quiet', '--amend', '--message', 'rewritten');
    const own = repository.git('rev-parse', 'main');
    go(repository);
    await waitUntil(() => hasEnded(scheduler));
    expect(statusesOf(show(repository))).toEqual({ a: 'done' });
    expect(repository.git('rev-parse', 'main')).toBe(own);
    const landed = runOrch(repository, ['convoy', 'land', 'plan.yaml', '-y']);
    expect(landed.status, landed.stderr).toBe(0);
    expect(repository.git('show', 'main:a.txt')).toBe('a');
    expect(repository.tryGit('merge-base', '--is-ancestor', own, 'main').status).toBe(0);
  });

  it('workers that commit elsewhere, reset their branch, or leave a daemon', async () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: elsewhere, prompt: switches }
  - { id: resets, prompt: resets, worker: { attempts: 1 } }
  - { id: daemon, prompt: leaves a process }
`,
      `elsewhere) if [ $ORCH_ATTEMPT = 1 ]; then git checkout -q --detach; echo e > e.txt; git add -A; git commit -qm e; else git switch -q orch/auth/elsewhere && git merge -q "$(cat $RAN.commit)"; fi; git rev-parse HEAD > $RAN.commit;;
resets) echo r > r.txt; git checkout -q --orphan x 2>/dev/null; git reset -q --soft $(git commit-tree -m root HEAD^{tree});;
daemon) echo d > d.txt; setsid sh -c 'echo $$ > "$RAN.daemon"; exec sleep 1000' > /dev/null 2>&1 &
 while [ ! -s "$RAN.daemon" ]; do sleep 0.02; done;;`,
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ elsewhere: 'done', resets: 'failed', daemon: 'done' });
    expect(readMerged(repository, 'auth')).toMatchObject({ 'e.txt': 'e', 'd.txt': 'd' });
    expect(readMerged(repository, 'auth')['r.txt']).toBeUndefined();
    // What was refused is where the worker left it.
    expect(readFileSync(join(placeOf(repository, 'resets'), 'r.txt'), 'utf8')).toBe('r\n');
    const daemon = Number(await readWhenThere(join(repository.home, 'ran.daemon')));
    await waitUntil(() => !isAlive(daemon));
  });

  it('two schedulers on one convoy: the second one is refused, and the first one goes on', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: a }\n`,
      `a) ${untilGo}; echo a > a.txt;;`,
    );
    const first = start(repository);
    await waitUntil(() => readAttempts(repository).length === 1);
    for (const verb of ['start', 'resume']) {
      const second = convoy(repository, verb);
      expect(second.status, second.stderr).toBe(5);
      expect(errorOf(second).code).toBe('SESSION_ACTIVE');
    }
    go(repository);
    await waitUntil(() => hasEnded(first));
    expect(statusesOf(show(repository))).toEqual({ a: 'done' });
    expect(readAttempts(repository)).toEqual(['a 1']);
  });

  it('C3: a task that is cancelled while its gates run is not merged, and its work is kept', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n`,
      `a) echo a > a.txt;; b) ${untilGo}; echo b > b.txt;;`,
    );
    writeConfig(
      repository,
      `gates: [{ name: slow, run: 'if [ -e a.txt ]; then echo > "$RAN.gate"; ${untilGo}; fi' }]\n`,
    );
    const scheduler = start(repository);
    await waitUntil(() => existsSync(join(repository.home, 'ran.gate')));
    expect(statusesOf(show(repository)).a).toBe('merging');
    expect(runOrch(repository, ['convoy', 'cancel', 'auth/a']).status).toBe(0);
    await waitUntil(() => statusesOf(show(repository)).a === 'cancelled');
    go(repository);
    await waitUntil(() => hasEnded(scheduler));
    expect(statusesOf(show(repository))).toEqual({ a: 'cancelled', b: 'done' });
    expect(readMerged(repository, 'auth')['a.txt']).toBeUndefined();
    expect(repository.git('show', 'orch/auth/a:a.txt')).toBe('a');
  });

  it('a plan that is edited while it runs counts once the convoy is resumed, and stops no worker', async () => {
    const tasks = `  - { id: a, prompt: a }\n  - { id: b, prompt: b, needs: [a] }\n`;
    const repository = makeConvoyed(
      `${head}tasks:\n${tasks}`,
      `a) ${untilGo}; echo a > a.txt;; *) echo $ORCH_TASK > $ORCH_TASK.txt;;`,
    );
    const scheduler = start(repository);
    await waitUntil(() => readAttempts(repository).length === 1);
    const edited = `${head}tasks:\n${tasks}  - { id: c, prompt: c, needs: [b] }\n`;
    repository.write('plan.yaml', edited);
    scheduler.kill('SIGKILL');
    await waitUntil(() => hasEnded(scheduler));
    repository.write('plan.yaml', 'tasks: [');
    expect(convoy(repository, 'resume').status).toBe(2);
    repository.write('plan.yaml', edited);
    go(repository);
    const more = convoy(repository, 'resume');
    expect(statusesOf(more.document), more.stderr).toEqual({ a: 'done', b: 'done', c: 'done' });
    expect(readAttempts(repository)).toEqual(['a 1', 'b 1', 'c 1']);
  });

  it('refuses a plan without tasks', () => {
    const none = makeConvoyed(`${head}tasks: []\n`, '*) :;;');
    const refused = convoy(none, 'start');
    expect(refused.status, refused.stderr).toBe(2);
  });
});
