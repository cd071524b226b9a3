import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readText } from '../support/checkpoints.ts';
import { runOrch } from '../support/orch.ts';
import { makePlanned, ranIn, readRan } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';
import { kill, letGo, release, startSlow } from '../support/slow-plan.ts';
import { callOrch } from '../support/supervised.ts';

function nextOf(repository: TestRepository, cwd = repository.folder): string | undefined {
  return runOrch(repository, ['status'], { cwd }).stdout.match(/^Next: (.*)$/m)?.[1];
}

describe('orch status, of a run that did not come to its end', () => {
  it('names the command that resumes it, relative to the current folder', async () => {
    const repository = makePlanned(release);
    mkdirSync(join(repository.folder, 'sub'));
    const slow = await startSlow(repository);
    expect(nextOf(repository), 'it is at work').toBeUndefined();
    await kill(slow);
    expect(nextOf(repository)).toBe('orch run plan.yaml --resume -e e');
    expect(nextOf(repository, join(repository.folder, 'sub'))).toBe('orch run ../plan.yaml --resume -e e');
    letGo(repository);
    const options = { cwd: join(repository.folder, 'sub'), ...ranIn(repository) };
    const resumed = runOrch(repository, ['run', '../plan.yaml', '--resume', '-e', 'e'], options);
    expect(resumed.status).toBe(0);
    expect(nextOf(repository)).toBeUndefined();
  });

  it('even after a signal, and with a file name that needs quoting', () => {
    const repository = makePlanned('');
    repository.write("it's mine.yaml", 'name: p\ntasks:\n  - { id: a, run: "kill -INT $PPID; sleep 60" }\n');
    const stopped = runOrch(repository, ['run', "it's mine.yaml", '-e', 'e']);
    const command = "orch run 'it'\\''s mine.yaml' --resume -e e";
    expect(stopped.status).toBe(130);
    expect(stopped.stderr).toContain(`  Continue  ${command}\n`);
    expect(nextOf(repository)).toBe(command);
  });

  it('with more money, if it stopped at the budget', () => {
    const spend = callOrch('record cost 2');
    const repository = makePlanned(`name: p\ntasks:\n  - { id: a, run: "${spend} && sleep 60" }\n`);
    const stopped = runOrch(repository, ['run', 'plan.yaml', '-e', 'e', '--budget', '1']);
    expect(stopped.status).toBe(4);
    expect(nextOf(repository)).toBe('orch run plan.yaml --resume -e e --budget +10');
    const again = runOrch(repository, ['run', 'plan.yaml', '-e', 'e', '--resume']);
    expect(again.status).toBe(4);
    expect(again.stderr, 'orch resume would begin another session').not.toContain('orch resume');
    expect(again.stderr).toContain('Raise the budget: the same command with --budget +10\n');
  });
});

it('a run that was paused from another shell is resumed by orch run', async () => {
  const repository = makePlanned(release);
  const { runner } = await startSlow(repository);
  const paused = runOrch(repository, ['session', 'pause', '-e', 'e']);
  expect(paused.stderr).toContain('  Continue  orch run plan.yaml --resume -e e\n');
  expect(await runner.ended).toBe(75);
});

it('a task that runs a plan on its own epic gets no hint to end its own run', () => {
  const repository = makePlanned(
    `name: outer\ntasks:\n  - { id: a, run: "${callOrch('run inner.yaml')}" }\n`,
  );
  repository.write('inner.yaml', 'tasks:\n  - { id: b, run: "true" }\n');
  const outer = runOrch(repository, ['run', 'plan.yaml', '-e', 'e']);
  expect(outer.status).toBe(3);
  expect(outer.stderr).toContain(
    'This command is part of that session. Give the run its own epic with --epic',
  );
  expect(outer.stderr).not.toContain('session pause');
});

it('continuing after a step, it reports which effects are not repeated', () => {
  const repository = makePlanned(
    'name: p\ntasks:\n  - { id: a, run: "true" }\n  - { id: b, run: "true", effects: [{ id: send, run: echo x >> sent }] }\n',
  );
  expect(runOrch(repository, ['run', 'plan.yaml', '-e', 'e']).stderr).not.toContain('already done');
  const step = runOrch(repository, ['run', 'plan.yaml', '-e', 'e', '--resume-step', '1']);
  expect(step.status).toBe(0);
  expect(step.stderr).toContain('effect send of b is already done and will not be repeated\n');
  expect(readText(repository.folder, 'sent')).toBe('x\n');
});

it('I7: no task starts after the one that used up the budget', () => {
  const spend = callOrch('record cost 2 -q');
  // It may or may not finish before it is stopped; if it does not, it runs again.
  const repository = makePlanned(
    `name: p\ntasks:\n  - { id: a, run: "${spend} || true" }\n  - { id: b, run: echo b >> $RAN }\n`,
  );
  const stopped = runOrch(repository, ['run', 'plan.yaml', '--budget', '1', '--json'], ranIn(repository));
  expect(stopped.status).toBe(4);
  expect(readRan(repository)).toEqual([]);
  const more = runOrch(repository, ['run', 'plan.yaml', '--resume', '--budget', '+10'], ranIn(repository));
  expect(more.status).toBe(0);
  expect(readRan(repository)).toEqual(['b']);
});

it('a task that fails at the budget does not fail the plan: with more money it continues', () => {
  const repository = makePlanned(`name: p
tasks:
  - { id: a, run: "${callOrch('record cost 2 -q')}" }
  - { id: mend, run: echo mend >> $RAN, when: failure }
`);
  for (let times = 0; times < 3; times++) {
    const args = times === 0 ? ['--budget', '1'] : ['--resume', '--budget', '+1'];
    const stopped = runOrch(repository, ['run', 'plan.yaml', '-e', 'e', ...args], ranIn(repository));
    expect(stopped.status).toBe(4);
    expect(stopped.stderr).toContain('error: p: stopped, the budget is used up\n');
    expect(nextOf(repository)).toBe('orch run plan.yaml --resume -e e --budget +10');
  }
  expect(readRan(repository)).toEqual([]);
});

it('two plans of one name are not taken for one another; one that was moved is still itself', () => {
  const repository = makePlanned('tasks: [{ id: a, run: "true" }]\n');
  const plan = (what: string, status: number) =>
    `tasks: [{ id: send, retry: { attempts: 1 }, effects: [{ id: tell, run: echo ${what} >> $RAN }, { id: end, run: exit ${status} }] }]\n`;
  for (const folder of ['one', 'two', 'three']) mkdirSync(join(repository.folder, folder));
  repository.write('one/deploy.yaml', plan('one', 75));
  repository.write('two/deploy.yaml', plan('two', 0));
  const run = (file: string, ...args: string[]) =>
    runOrch(repository, ['run', `${file}/deploy.yaml`, ...args], ranIn(repository));
  expect(run('one').status).toBe(75);
  for (const args of [[], ['--resume'], ['--resume-step', '1']]) {
    const refused = run('two', ...args);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain(
      'error: the newest run of deploy belongs to one/deploy.yaml, another plan with the same name\n',
    );
  }
  renameSync(join(repository.folder, 'one/deploy.yaml'), join(repository.folder, 'three/deploy.yaml'));
  repository.write('three/deploy.yaml', plan('one', 0));
  expect(run('three', '--resume', '--replan', 'end').status).toBe(0);
  // It has come to its end: nothing of it can be mistaken.
  expect(run('two').status).toBe(0);
  expect(readRan(repository)).toEqual(['one', 'two']);
});

it('a step that is one task’s number and another’s id is refused as ambiguous', () => {
  const repository = makePlanned(
    'tasks: [{ id: 2, run: "true" }, { id: b, run: "true" }, { id: 3, run: "true" }]\n',
  );
  const run = (...args: string[]) => runOrch(repository, ['run', 'plan.yaml', '-e', 'e', ...args]);
  expect(run().status).toBe(0);
  const unclear = run('--resume-step', '2');
  expect(unclear.status).toBe(2);
  expect(unclear.stderr).toContain('2 is ambiguous: it is the id of task 1, and task number 2 is b');
  for (const step of ['1', 'b', '3']) expect(run('--resume-step', step).status).toBe(0);
  for (const step of ['0', '4', '-1', '']) {
    const refused = run('--resume-step', step);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain(`plan has no task ${JSON.stringify(step)}\n`);
  }
});

it('a warning has the time of day', () => {
  const repository = makePlanned(
    `name: p\ntasks:\n  - { id: a, run: "${callOrch('record cost 0.9 -q')}" }\n  - { id: b, run: sleep 0.01 }\n`,
  );
  const env = { ORCH_NOW: '2026-01-02T03:04:05Z', TZ: 'UTC' };
  const ran = runOrch(repository, ['run', 'plan.yaml', '-e', 'e', '--budget', '1'], { env });
  expect(ran.stderr).toContain('03:04  ▲ 90% of the budget is spent: $0.90 of $1.00\n');
});
