import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ConvoyDocument,
  makeConvoyed,
  ranEnvironment,
  readAttempts,
  readMerged,
  statusesOf,
} from '../support/convoys.ts';
import { errorOf, orchBin, runOrch, startOrch } from '../support/orch.ts';
import type { TestRepository } from '../support/repository.ts';
import { waitUntil, writeConfig } from '../support/supervised.ts';

const head = 'name: auth\nworkers: 3\nworker: { agent: sh ./agent.sh, attempts: 2 }\n';

/** Workers find the command by this name. */
const environmentOf = (repository: TestRepository) => ({ ...ranEnvironment(repository), ORCH: orchBin });

function call(repository: TestRepository, ...args: string[]) {
  return runOrch(repository, ['convoy', ...args], { env: environmentOf(repository) });
}

function show(repository: TestRepository): ConvoyDocument['convoy'] {
  return JSON.parse(call(repository, 'show', 'auth', '--json', '--all').stdout).convoy;
}

const taskOf = (repository: TestRepository, id: string) => {
  const task = show(repository).tasks.find((each) => each.id === id);
  if (task === undefined) throw new Error(`no task ${id}`);
  return task;
};

const statuses = (repository: TestRepository) => statusesOf({ convoy: show(repository) });

/** Starts a convoy, and returns once it is at work. */
async function start(repository: TestRepository, verb = 'start', name = 'plan.yaml'): Promise<ChildProcess> {
  const scheduler = startOrch(repository, ['convoy', verb, name, '--json'], {
    env: environmentOf(repository),
  });
  await waitUntil(() => {
    const shown = call(repository, 'list', '--json');
    return shown.status === 0 && JSON.parse(shown.stdout).convoys[0]?.status === 'running';
  });
  return scheduler;
}

const clear = `env -i PATH='${process.env.PATH ?? ''}'`;

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

describe('people and a convoy', () => {
  it('a question pauses one task; the answer reaches its next turn, and only it waited', async () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: mailer, prompt: send mail }
  - { id: other, prompt: do something else }
  - { id: slow, prompt: take long }
`,
      `mailer) if grep -q 'To your question "SES or SMTP?" *(SES / SMTP)"*' "$ORCH_PROMPT_FILE" || grep -q 'SES please' "$ORCH_PROMPT_FILE"; then echo ses > mailer.txt
  else "$ORCH" ask "SES or SMTP?" --option SES --option SMTP; fi;;
other) echo x > other.txt;;
slow) while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo x > slow.txt;;`,
    );
    const scheduler = await start(repository);
    await waitUntil(
      () => statuses(repository).mailer === 'needs_input' && statuses(repository).other === 'done',
    );
    expect(taskOf(repository, 'mailer').reason).toBe('SES or SMTP? (SES / SMTP)');
    const why = JSON.parse(call(repository, 'why', 'mailer', '--json').stdout).why;
    expect(why.next).toContain('orch convoy say auth/mailer');
    expect(runOrch(repository, ['status']).stdout).toMatch(/auth\/mailer asks, for \d+s: SES or SMTP\?/);
    expect(call(repository, 'say', 'mailer', 'SES please').status).toBe(0);
    await waitUntil(() => statuses(repository).mailer === 'done');
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(scheduler.exitCode).toBe(0);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'mailer.txt': 'ses', 'other.txt': 'x' });
    expect(readAttempts(repository).filter((each) => each === 'mailer 1')).toHaveLength(2);
    // The answer is the user's decision, and no question is left.
    const brief = runOrch(repository, ['brief', '-e', 'auth--mailer']).stdout;
    expect(brief).toContain('SES please');
  });

  it('what people decide, a worker of the convoy cannot, by accident or with a cleared environment', async () => {
    const orders = [
      'say auth/a teal',
      'land -e auth --into side -y',
      'cancel -e auth b -y',
      'pause -e auth',
      'pause -e auth b',
      'budget -e auth 100',
      'retry auth/c',
      'clean -e auth',
      'resume -e auth',
    ];
    const tries = orders.flatMap((order) => [`"$ORCH" convoy ${order}`, `${clear} "$ORCH" convoy ${order}`]);
    const repository = makeConvoyed(
      `${head}budget: 20\ntasks:
  - { id: a, prompt: ask }
  - { id: b, prompt: work }
  - { id: c, prompt: fail, worker: { attempts: 1 } }
  - { id: d, prompt: work }
`,
      `a) if grep -q 'teal' "$ORCH_PROMPT_FILE"; then echo teal > a.txt; else
  until [ -e "$RAN.go" ]; do sleep 0.05; done
  "$ORCH" ask "Which colour?"
  ${tries.map((each) => `${each} >> "$RAN.said" 2>&1; echo "$? ${each.split('convoy ')[1]}" >> "$RAN.tried"`).join('\n')}
fi;;
b) until [ -e "$RAN.done" ]; do sleep 0.05; done; echo b > b.txt;;
c) exit 1;;
d) echo d > d.txt;;`,
    );
    repository.git('add', 'plan.yaml'); // for `resume`, in the worktree
    repository.git('commit', '--quiet', '--message', 'plan');
    repository.git('branch', 'side');
    const side = repository.git('rev-parse', 'side');
    const scheduler = await start(repository);
    await waitUntil(() => statuses(repository).c === 'failed' && statuses(repository).d === 'done');
    repository.write('../ran.go', '');
    const read = (name: string) => readFileSync(join(repository.home, name), 'utf8');
    await waitUntil(
      () =>
        existsSync(join(repository.home, 'ran.tried')) && read('ran.tried').split('\n').length > tries.length,
    );
    const [said, tried] = [read('ran.said'), read('ran.tried').trim().split('\n')];
    expect(tried, said).toEqual(orders.flatMap((order) => [`2 ${order}`, `2 ${order}`]));
    expect(
      said.match(/a worker of a convoy cannot|an agent cannot raise|is in another checkout/g),
    ).toHaveLength(tried.length);
    expect(repository.git('rev-parse', 'side')).toBe(side);
    expect(show(repository)).toMatchObject({ status: 'running', budget: { limitUsd: 20 } });
    // A person can, in a shell of their own.
    expect(call(repository, 'say', 'a', 'teal').status).toBe(0);
    repository.write('../ran.done', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(statuses(repository)).toEqual({ a: 'done', b: 'done', c: 'failed', d: 'done' });
    expect(call(repository, 'land', 'auth', '--into', 'side', '-y').status).toBe(0);
  });

  it('ask --wait prints the answer to the worker that waits for it, and it is not told again', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: ask }\n`,
      'a) "$ORCH" ask "Which colour?" --wait > colour.txt;;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => statuses(repository).a === 'needs_input');
    expect(taskOf(repository, 'a').health).toBe('waiting');
    expect(JSON.parse(call(repository, 'list', '--json').stdout).convoys[0].counts).toEqual({
      needs_input: 1,
    });
    expect(call(repository, 'say', 'a', 'teal').status).toBe(0);
    await waitUntil(() => hasEnded(scheduler));
    expect(readMerged(repository, 'auth')['colour.txt']).toBe('teal');
    expect(readAttempts(repository)).toEqual(['a 1']);
  });

  it('what is said while the scheduler dies is heard when the convoy continues, and say tells so', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: ask }\n  - { id: b, prompt: by hand, worker: { agent: claim } }\n`,
      'a) grep -q teal "$ORCH_PROMPT_FILE" && echo teal > a.txt || "$ORCH" ask "Which colour?";;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => statuses(repository).a === 'needs_input');
    scheduler.kill('SIGSTOP');
    const saying = startOrch(repository, ['convoy', 'say', 'a', 'teal', '--json'], {
      env: environmentOf(repository),
    });
    let said = '';
    saying.stdout.on('data', (chunk) => {
      said += chunk;
    });
    const orders = join(repository.folder, '.git', 'orchestration', 'orders', 'auth');
    await waitUntil(() => existsSync(orders) && readdirSync(orders).length > 0);
    scheduler.kill('SIGKILL');
    await waitUntil(() => hasEnded(saying));
    expect(JSON.parse(said)).toMatchObject({ heard: 'when the convoy continues' });
    const resumed = await start(repository, 'resume', 'auth');
    await waitUntil(() => statuses(repository).a === 'done');
    resumed.kill('SIGTERM');
    await waitUntil(() => hasEnded(resumed));
  });

  it('what is said to a worker is in its next turn, also if nobody was there to hear it', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: work }\n`,
      'a) grep -q "use tabs" "$ORCH_PROMPT_FILE" && echo tabs > a.txt || { echo spaces > a.txt; while [ ! -e "$RAN.go" ]; do sleep 0.05; done; };;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => readAttempts(repository).length === 1);
    expect(JSON.parse(call(repository, 'say', 'a', 'use tabs', '--json').stdout)).toMatchObject({
      task: 'a',
      answers: null,
      heard: 'in its next turn',
    });
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(readMerged(repository, 'auth')['a.txt']).toBe('tabs');
    // The same attempt: being told something is no failure.
    expect(taskOf(repository, 'a').attempts).toBe(1);
  });

  it('one task is paused and continues; the others do not notice', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: work }\n  - { id: b, prompt: work }\n`,
      'a|b) if [ -e half-$ORCH_TASK ]; then mv half-$ORCH_TASK $ORCH_TASK.txt; else echo $ORCH_TASK > half-$ORCH_TASK; while [ ! -e "$RAN.go" ]; do sleep 0.05; done; mv half-$ORCH_TASK $ORCH_TASK.txt; fi;;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => readAttempts(repository).length === 2);
    expect(call(repository, 'pause', 'auth/a').status).toBe(0);
    await waitUntil(() => statuses(repository).a === 'held');
    expect(statuses(repository).b).toBe('working');
    expect(call(repository, 'resume', 'auth/a').stdout).toContain('a continues');
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(statuses(repository)).toEqual({ a: 'done', b: 'done' });
    expect(taskOf(repository, 'a').attempts).toBe(1);
  });

  it('a convoy is paused with its workers, and resumes them', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: work }\n  - { id: b, prompt: work, needs: [a] }\n`,
      'a) if [ -e half ]; then mv half a.txt; else echo a > half; sleep 60; fi;; b) echo b > b.txt;;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => readAttempts(repository).length === 1);
    expect(call(repository, 'pause').status).toBe(0);
    await waitUntil(() => hasEnded(scheduler));
    expect(show(repository).status).toBe('paused');
    expect(statuses(repository)).toEqual({ a: 'held', b: 'waiting' });
    const resumed = call(repository, 'resume', 'auth', '--json');
    expect(resumed.status).toBe(0);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'a.txt': 'a', 'b.txt': 'b' });
  });

  it('a cancelled task is left as it is, with its work; what needs it goes on only if it may', async () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: a, prompt: work }
  - { id: b, prompt: work }
  - { id: needs-a, prompt: more, needs: [a] }
  - { id: needs-b, prompt: more, needs: [b] }
`,
      'a|b) echo part > part-$ORCH_TASK.txt; while [ ! -e "$RAN.go" ]; do sleep 0.05; done;; needs-b) echo x > x.txt;;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => readAttempts(repository).length === 2);
    expect(call(repository, 'cancel', 'a').stdout).toContain('a is cancelled.');
    expect(call(repository, 'cancel', 'b', '--keep-going').stdout).toContain('b is cancelled.');
    await waitUntil(() => hasEnded(scheduler));
    expect(statuses(repository)).toEqual({
      a: 'cancelled',
      b: 'skipped',
      'needs-a': 'skipped',
      'needs-b': 'done',
    });
    expect(show(repository).status).toBe('cancelled');
    // What they had done is on their branches.
    expect(repository.git('show', 'orch/auth/a:part-a.txt')).toBe('part');
    expect(repository.git('show', 'orch/auth/b:part-b.txt')).toBe('part');
    expect(readMerged(repository, 'auth')).not.toHaveProperty('part-a.txt');
  });

  it('a whole convoy is cancelled while it runs, and while it does not', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: work }\n  - { id: b, prompt: work, needs: [a] }\n`,
      'a) sleep 60;;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => readAttempts(repository).length === 1);
    expect(call(repository, 'cancel', 'auth').status).toBe(2);
    scheduler.kill('SIGTERM');
    await waitUntil(() => hasEnded(scheduler));
    expect(statuses(repository).a).toBe('working');
    expect(call(repository, 'cancel', 'auth', '-y').status).toBe(0);
    expect(statuses(repository)).toMatchObject({ a: 'cancelled' });
    expect(show(repository).status).toBe('cancelled');
    expect(readAttempts(repository)).toEqual(['a 1']);
    const again = call(repository, 'cancel', 'auth', '-y');
    expect(again.status).toBe(2);
    // No scheduler would take this order: nothing is promised.
    const retried = call(repository, 'retry', 'a');
    expect(retried.status).toBe(2);
    expect(retried.stderr).toContain('does not run any more');
  });

  it('a failed task is tried again while the convoy runs, with another model, from the start if asked', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: bad, prompt: fail, worker: { attempts: 1 } }\n  - { id: slow, prompt: wait }\n`,
      `bad) echo left > left.txt; [ "$ORCH_MODEL" = better ] || exit 1; [ -e left.txt ] && echo ok > ok.txt;;
slow) while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo x > slow.txt;;`,
    );
    const scheduler = await start(repository);
    await waitUntil(() => statuses(repository).bad === 'failed');
    expect(call(repository, 'retry', 'bad', '--model', 'better', '--fresh').stdout).toContain(
      'bad is tried again.',
    );
    await waitUntil(() => statuses(repository).bad === 'done');
    expect(taskOf(repository, 'bad')).toMatchObject({ attempts: 2 });
    // What was done before is kept on a branch of its own.
    expect(repository.git('show', 'orch/auth/bad.kept-1:left.txt')).toBe('left');
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(scheduler.exitCode).toBe(0);
  });

  it('a failed task is tried again after the convoy ended', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: bad, prompt: fail, worker: { attempts: 1 } }\n`,
      'bad) [ -e "$RAN.go" ] || exit 1; echo ok > ok.txt;;',
    );
    expect(call(repository, 'start', 'plan.yaml').status).toBe(3);
    repository.write('../ran.go', '');
    expect(call(repository, 'retry', 'bad').stdout).toContain(
      'once the convoy continues: orch convoy resume auth',
    );
    expect(call(repository, 'resume').status).toBe(0);
    expect(statuses(repository)).toEqual({ bad: 'done' });
  });

  it('a task is found from any checkout of the repository, and without the file of the plan', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: work }\n  - { id: bad, prompt: fail }\n  - { id: later, prompt: wait, needs: [bad] }\n`,
      'a) echo a > a.txt;; bad) exit 1;;',
    );
    expect(call(repository, 'start', 'plan.yaml').status).toBe(3);
    const linked = join(repository.folder, '..', 'linked');
    repository.git('worktree', 'add', '--quiet', linked);
    mkdirSync(join(repository.folder, 'sub'));
    const places = [linked, join(repository.folder, 'sub'), taskOf(repository, 'bad').worktree ?? ''];
    const why = (id: string, cwd: string) => runOrch(repository, ['convoy', 'why', id], { cwd }).status;
    for (const cwd of places) for (const id of ['a', 'bad', 'later']) expect(why(id, cwd)).toBe(0);
    const resumed = runOrch(repository, ['convoy', 'resume', '--json'], { cwd: linked });
    expect(errorOf(resumed).hint).toContain(`cd ${repository.folder}`);
    renameSync(join(repository.folder, 'plan.yaml'), join(repository.folder, '..', 'away.yaml'));
    for (const cwd of places) for (const id of ['a', 'bad', 'later']) expect(why(id, cwd)).toBe(0);
  });

  it('what cannot be done is refused with a next step that can be', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: work }\n  - { id: bad, prompt: fail }\n`,
      'a) echo a > a.txt;; bad) exit 1;;',
    );
    const errorAfter = (...args: string[]) => errorOf(call(repository, ...args, '--json'));
    expect(errorAfter('why', 'a').message).toBe('this repository has no convoys yet');
    expect(errorAfter('start', '--task', ' ').message).toBe('a task is empty');
    expect(errorAfter('start', 'plan.yaml', '--agent', 'claude').message).toContain('is in the plan');
    expect(call(repository, 'start', 'plan.yaml').status).toBe(3);
    expect(errorAfter('say', 'a', 'more').hint).toBe(
      'Add what is to be done: orch convoy add "text" -e auth',
    );
    expect(errorAfter('say', 'bad', 'more').hint).toBe('Have it tried again: orch convoy retry auth/bad');
    expect(errorAfter('pause', 'a').hint).toBe('See how it is: orch convoy why auth/a');
    const cancelled = JSON.parse(call(repository, 'cancel', 'bad', '--dry-run', '--json').stdout);
    expect(cancelled).toEqual({ convoy: 'auth', cancelled: [], wouldCancel: ['bad'] });
    const landed = JSON.parse(call(repository, 'land', '--dry-run', '--json').stdout);
    expect(landed).toMatchObject({ landed: null, into: 'main', files: 1, isLanded: false });
    const added = call(repository, 'add', 'more');
    expect(added.stdout).toBe('Added: more; it is done once the convoy continues: orch convoy resume auth\n');
    expect(errorAfter('logs', 'more').message).toBe('no worker of more has printed anything: it is ready');
  });

  it('a task that is tried again has as many attempts as the plan gives, each time', () => {
    const repository = makeConvoyed(`${head}tasks:\n  - { id: bad, prompt: fail }\n`, 'bad) exit 1;;');
    const environment = { env: environmentOf(repository) };
    const ran = runOrch(repository, ['convoy', 'start', 'plan.yaml'], environment);
    expect(ran.stderr).toContain('attempt 2 of 2');
    call(repository, 'retry', 'bad');
    const again = call(repository, 'resume');
    expect(readAttempts(repository)).toHaveLength(4);
    expect(again.stderr).toContain('attempt 3 of 3');
    expect(again.stderr).not.toContain('of 2');
    // Without being asked for again.
    call(repository, 'resume');
    expect(readAttempts(repository)).toHaveLength(6);
  });

  it('tasks are added while it runs, and wait for what they need', async () => {
    const repository = makeConvoyed(
      `${head}# my plan\ntasks:\n  - { id: a, prompt: work } # first\n`,
      'a) while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo a > a.txt;; translate-form) cat a.txt > b.txt;;',
    );
    const scheduler = await start(repository);
    await waitUntil(() => readAttempts(repository).length === 1);
    const added = call(repository, 'add', 'Translate the form', '--needs', 'a', '--json');
    expect(JSON.parse(added.stdout)).toMatchObject({ added: ['translate-form'], isTaken: true });
    expect(readFileSync(`${repository.folder}/plan.yaml`, 'utf8')).toContain('# my plan');
    expect(statuses(repository)['translate-form']).toBe('waiting');
    const plan = readFileSync(`${repository.folder}/plan.yaml`, 'utf8');
    repository.write('plan.yaml', `${plan}tasks: [\n`);
    const unread = call(repository, 'add', '-e', 'auth', '--json');
    expect([unread.status, errorOf(unread).code]).toEqual([2, 'PLAN_INVALID']);
    repository.write('plan.yaml', plan);
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(readMerged(repository, 'auth')['b.txt']).toBe('a');
    expect(show(repository).status).toBe('succeeded');
  });

  it('tasks that are added after it ended are done when it is resumed, and nothing is done twice', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: a }\n`,
      '*) echo $ORCH_TASK > $ORCH_TASK.txt;;',
    );
    expect(call(repository, 'start', 'plan.yaml').status).toBe(0);
    repository.write('plan.yaml', `${head}tasks:\n  - { id: a, prompt: a }\n  - { id: c, prompt: c }\n`);
    expect(call(repository, 'resume', 'plan.yaml').status).toBe(0);
    expect(statuses(repository)).toEqual({ a: 'done', c: 'done' });
    expect(readMerged(repository, 'auth')).toMatchObject({ 'a.txt': 'a', 'c.txt': 'c' });
    expect(call(repository, 'resume', 'plan.yaml').status).toBe(0);
    expect(readAttempts(repository)).toEqual(['a 1', 'c 1']);
  });

  it('more budget lets tasks that wait for money continue', async () => {
    const repository = makeConvoyed(
      `${head.replace('workers: 3', 'workers: 1')}budget: 1\ntasks:
  - { id: a, prompt: work }
  - { id: b, prompt: work, needs: [a] }
  - { id: slow, prompt: wait, worker: { budget: 0.01 } }
`.replace('workers: 1', 'workers: 2'),
      `a) echo a > a.txt; "$ORCH" record cost 0.70;; b) echo b > b.txt; "$ORCH" record cost 0.20;;
slow) while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo x > slow.txt;;`,
    );
    const scheduler = await start(repository);
    await waitUntil(() => statuses(repository).a === 'done');
    expect(call(repository, 'budget', '+10').status).toBe(0);
    await waitUntil(() => statuses(repository).b === 'done');
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    const { budget } = show(repository) as unknown as { budget: { spentUsd: number } };
    expect(budget.spentUsd).toBeCloseTo(0.9, 6);
    const cost = JSON.parse(runOrch(repository, ['cost', 'status', '-e', 'auth', '--json']).stdout);
    expect(cost.byTask).toMatchObject([
      { id: 'a', costUsd: 0.7 },
      { id: 'b', costUsd: 0.2 },
      { id: 'slow', costUsd: 0 },
    ]);
    expect(cost.byModel).toMatchObject([{ model: 'by-hand' }]);
  });

  it('counts what went into attempts that were not accepted', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: work }\n`,
      'a) "$ORCH" record cost 0.25; [ $ORCH_ATTEMPT = 2 ] || exit 1; echo a > a.txt;;',
    );
    expect(call(repository, 'start', 'plan.yaml').status).toBe(0);
    expect(taskOf(repository, 'a')).toMatchObject({ costUsd: 0.5, rejectedUsd: 0.25, attempts: 2 });
    const report = runOrch(repository, ['cost', 'report', '--by', 'task', '-e', 'auth']).stdout;
    expect(report).toMatch(/a +0\.50 +0\.25 +2 +done/);
  });
});

/** Claims the task that waits, once one does. */
async function claim(repository: TestRepository, by: string) {
  let claimed = '';
  await waitUntil(() => {
    const ran = call(repository, 'claim', '--json', '--by', by);
    claimed = ran.stdout;
    return ran.status === 0;
  });
  return JSON.parse(claimed);
}

describe('tasks that people claim', () => {
  it('C4: an older claim cannot answer for a newer one', async () => {
    const repository = makeConvoyed(
      'name: auth\nworker: { agent: claim, attempts: 3 }\ntasks:\n  - { id: a, prompt: do it by hand }\n  - { id: b, prompt: then this, needs: [a] }\n',
      '',
    );
    const scheduler = await start(repository);
    expect(call(repository, 'claim', 'b').status).toBe(5);
    const first = await claim(repository, 'ann');
    expect(first).toMatchObject({ task: 'a', branch: 'orch/auth/a', feedback: null });
    expect(readFileSync(first.promptFile, 'utf8')).toContain('do it by hand');
    expect(existsSync(first.briefFile)).toBe(true);
    expect(taskOf(repository, 'a')).toMatchObject({ status: 'working', agent: 'ann' });
    expect(call(repository, 'claim', 'a').status).toBe(5);
    // Given back, and claimed by somebody else.
    expect(call(repository, 'done', 'a', '--problem', 'no time').stdout).toContain('given back');
    const second = await claim(repository, 'bob');
    expect(second.lease).toBeGreaterThan(first.lease);
    expect(second.feedback).toBe('no time');
    const late = call(repository, 'done', 'a', '--json', '--lease', String(first.lease));
    expect(late.status).toBe(5);
    expect(errorOf(late).message).toContain('claimed again meanwhile');
    // Without a change there is nothing to accept.
    const empty = call(repository, 'done', 'a', '--json', '--lease', String(second.lease));
    expect(empty.status).toBe(3);
    const third = JSON.parse(empty.stdout).again;
    expect(third.feedback).toContain('Nothing was changed');
    writeFileSync(`${third.worktree}/a.txt`, 'by hand\n');
    const done = call(repository, 'done', 'a', '--lease', String(third.lease));
    expect(done.stdout).toContain('a is merged');
    scheduler.kill('SIGTERM');
    await waitUntil(() => hasEnded(scheduler));
    expect(readMerged(repository, 'auth')['a.txt']).toBe('by hand');
    expect(errorOf(call(repository, 'claim', 'b', '--json')).code).toBe('RESUME_NEEDED');
  });
});

describe('a convoy without a plan', () => {
  it('is made of texts, runs in the background, and the same texts are not done twice', async () => {
    const repository = makeConvoyed(
      '',
      '*) echo x > "$ORCH_TASK".txt; while [ ! -e "$RAN.go" ]; do sleep 0.05; done;;',
    );
    const args = [
      'start',
      '--task',
      'Add a login form',
      '--task',
      'Document the API',
      '--agent',
      'sh ./agent.sh',
    ];
    const preview = call(repository, ...args, '--dry-run');
    expect(preview.stdout).toContain('“Add a login form”');
    expect(JSON.parse(call(repository, 'list', '--json').stdout).convoys).toEqual([]);
    const started = JSON.parse(call(repository, ...args, '--background', '--json').stdout);
    expect(started).toMatchObject({ convoy: 'add-login-form' });
    await waitUntil(() => readAttempts(repository).length === 2);
    const twice = call(repository, ...args, '--json');
    expect(twice.status).not.toBe(0);
    expect(readAttempts(repository)).toHaveLength(2);
    repository.write('../ran.go', '');
    await waitUntil(
      () => JSON.parse(call(repository, 'list', '--json').stdout).convoys[0].status === 'succeeded',
    );
    expect(Object.keys(readMerged(repository, 'add-login-form'))).toEqual(
      expect.arrayContaining(['add-login-form.txt', 'document-api.txt']),
    );
    const landed = call(repository, 'land', '-y');
    expect(landed.status).toBe(0);
    expect(existsSync(`${repository.folder}/document-api.txt`)).toBe(true);
    // The convoy is named after this task.
    expect(call(repository, 'why', 'add-login-form').stdout).toContain('add-login-form/add-login-form  done');
  });

  it('is made of what is open in a spec, whose tasks are found in git once it has landed', () => {
    const repository = makeConvoyed(
      '',
      'T1) echo old > one.txt;; T2|T3) echo "$ORCH_TASK" > "$ORCH_TASK.txt";;',
    );
    const task = (id: string, status: string, more = '') =>
      `  - { id: ${id}, content: Do ${id}, status: ${status}${more} }\n`;
    const rows = [
      task('T1', 'completed'),
      task('T2', 'pending', ', depends_on: [T1]'),
      task('T3', 'pending'),
    ];
    mkdirSync(join(repository.folder, 'specs/active/words'), { recursive: true });
    repository.write('specs/active/words/tasks.yaml', `spec: Words\ntasks:\n${rows.join('')}`);
    repository.write(
      'specs/active/words/dependencies.yaml',
      'phases:\n  - id: all\n    tasks:\n      - { id: T3, depends_on: [T2], file: T3.txt }\n',
    );
    repository.git('add', 'specs');
    repository.git('commit', '--quiet', '--message', 'spec');
    const started = call(repository, 'start', 'specs/active/words', '--agent', 'sh ./agent.sh', '--json');
    expect(started.status).toBe(0);
    expect(statusesOf(JSON.parse(started.stdout))).toEqual({ T2: 'done', T3: 'done' });
    expect(readAttempts(repository)).toEqual(['T2 1', 'T3 1']);
    expect(call(repository, 'land', 'words', '-y').status).toBe(0);
    const recovered = runOrch(repository, ['batch', 'status', '--from-git', '--json']);
    expect(JSON.parse(recovered.stdout).fromGit.map(({ id }: { id: string }) => id)).toEqual(['T2', 'T3']);
    expect(call(repository, 'start', 'specs/active/none').status).toBe(2);
  });

  it('does only what has a label', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: x, labels: [ui] }\n  - { id: b, prompt: y }\n`,
      '*) echo x > $ORCH_TASK.txt;;',
    );
    expect(call(repository, 'start', 'plan.yaml', '--label', 'ui').status).toBe(75);
    expect(statuses(repository)).toEqual({ a: 'done', b: 'ready' });
    expect(call(repository, 'start', 'plan.yaml', '--label', 'none').status).toBe(2);
    expect(call(repository, 'resume').status).toBe(0);
    expect(statuses(repository)).toEqual({ a: 'done', b: 'done' });
  });
});

describe('what a person names', () => {
  it('is found, or refused with what there is', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: login, prompt: x }\n`,
      '*) echo x > $ORCH_TASK.txt;;',
    );
    expect(call(repository, 'list').stdout).toContain('no convoys yet');
    expect(call(repository, 'show').status).toBe(1);
    expect(call(repository, 'start', 'plan.yaml').status).toBe(0);
    const wrong = call(repository, 'why', 'logn', '--json');
    expect(errorOf(wrong).message).toContain('did you mean login?');
    expect(call(repository, 'why', 'auth').status).toBe(2);
    expect(call(repository, 'say', 'login', 'hello').status).toBe(2);
    expect(call(repository, 'pause', 'login').status).toBe(2);
    expect(call(repository, 'retry', 'login').status).toBe(2);
    expect(call(repository, 'attach', 'login').status).toBe(2);
    expect(call(repository, 'logs', 'login').status).toBe(0);
    expect(call(repository, 'diff', 'login').stdout).toContain('+x');
    expect(call(repository, 'show', '--status', 'nonsense').status).toBe(2);
    expect(JSON.parse(call(repository, 'show', '--status', 'failed', '--json').stdout).convoy.tasks).toEqual(
      [],
    );
    const brief = runOrch(repository, ['brief', '-e', 'auth']).stdout;
    expect(brief).toContain('orch/auth/merged');
    expect(JSON.parse(runOrch(repository, ['epic', 'list', '--json']).stdout).epics).toHaveLength(1);
  });
});

describe('what workers do to each other and to the user', () => {
  const line = 'hello from $ORCH_TASK';
  const both = `a|b) if [ "$ORCH_ATTEMPT" = 1 ]; then
  sed -i "s/^hello$/${line}/" README; "$ORCH" record note "changed README" >/dev/null
  while [ ! -e "$RAN.go" ]; do sleep 0.05; done
else git merge -q orch/auth/merged || { printf 'both\\n' > README; git commit -qam both; }; fi;;`;

  it('collisions are seen while they run, and both hear of it', async () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: change it }\n  - { id: b, prompt: change it }\n`,
      both,
    );
    writeConfig(repository, 'checkpoint: { interval: 1s }\n');
    repository.git('add', '.orchestration');
    repository.git('commit', '--quiet', '--message', 'config');
    const scheduler = await start(repository);
    await waitUntil(() => taskOf(repository, 'a').collisions.length === 1);
    expect(taskOf(repository, 'b').collisions).toEqual([{ task: 'a', files: ['README'] }]);
    expect(call(repository, 'show').stdout).toContain('⚠ collides with');
    const heard = runOrch(repository, ['brief', '-e', 'auth--a']).stdout;
    expect(heard).toContain('conflicts with what task b is changing');
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(statuses(repository)).toEqual({ a: 'done', b: 'done' });
    // A warning is no reason for another turn: one of them was sent back once, by the conflict.
    expect(readAttempts(repository)).toHaveLength(3);
    expect(readMerged(repository, 'auth').README).toBe('both');
  });

  it('with collisions: hold, the later one waits until the other is merged', async () => {
    const repository = makeConvoyed(
      `${head}collisions: hold\ntasks:\n  - { id: a, prompt: change it }\n  - { id: b, prompt: change it }\n`,
      both,
    );
    writeConfig(repository, 'checkpoint: { interval: 1s }\n');
    repository.git('add', '.orchestration');
    repository.git('commit', '--quiet', '--message', 'config');
    const scheduler = await start(repository);
    await waitUntil(() => Object.values(statuses(repository)).includes('held'));
    const held = show(repository).tasks.find(({ status }) => status === 'held');
    expect(held?.reason).toContain('and waits until');
    repository.write('../ran.go', '');
    await waitUntil(() => hasEnded(scheduler));
    expect(statuses(repository)).toEqual({ a: 'done', b: 'done' });
    expect(readMerged(repository, 'auth').README).toBe('both');
  });

  it('a worker that writes into the checkout or the config is reported', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: stray }\n`,
      'a) echo x > a.txt; echo stray > "$CHECKOUT/stray.txt"; git config worker.key 1;;',
    );
    const ran = runOrch(repository, ['convoy', 'start', 'plan.yaml'], {
      env: { ...environmentOf(repository), CHECKOUT: repository.folder },
    });
    expect(ran.stderr).toContain('may have written outside its worktree: stray.txt');
    expect(ran.stderr).toContain('worker.key');
  });

  it('each worker has ports of its own', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: x }\n  - { id: b, prompt: y }\n`,
      'a|b) echo "$ORCH_SLOT $PORT" > $ORCH_TASK.txt; n=0; while [ $n -lt 100 ] && [ "$(wc -l < "$RAN")" -lt 2 ]; do n=$((n+1)); sleep 0.1; done;;',
    );
    expect(call(repository, 'start', 'plan.yaml').status).toBe(0);
    const merged = readMerged(repository, 'auth');
    expect(merged['a.txt']).toMatch(/^\d+ \d+$/);
    expect(merged['a.txt']).not.toBe(merged['b.txt']);
  });
});
