import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorOf, runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn, statusesOf } from '../support/plans.ts';
import { kill, letGo, release, run, startSlow, tasksOf } from '../support/slow-plan.ts';
import { callOrch, isAlive, startSupervisor, statusOf } from '../support/supervised.ts';

describe('going on', () => {
  it('one at a time: while a run is at work, nobody else is', async () => {
    const repository = makePlanned(release);
    const { runner } = await startSlow(repository);
    for (const args of [[], ['--resume'], ['--fresh']]) {
      const other = run(repository, ...args, '--json');
      expect(other.status).toBe(5);
      expect(errorOf(other).code).toBe('SESSION_ACTIVE');
    }
    letGo(repository);
    expect(await runner.ended).toBe(0);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'publish']);
  });

  it('two at once: one goes on, the other is told so', async () => {
    const repository = makePlanned(release);
    await kill(await startSlow(repository));
    const both = [1, 2].map(() =>
      startSupervisor(repository, ['run', 'plan.yaml', '--resume'], ranIn(repository)),
    );
    // Neither can end before the other was refused.
    const first = await Promise.race(both.map(({ ended }) => ended));
    expect(first).toBe(5);
    letGo(repository);
    expect((await Promise.all(both.map(({ ended }) => ended))).sort()).toEqual([0, 5]);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'slow', 'publish']);
  });

  it('behind a task of the user’s choice, as a new run that says where it came from', async () => {
    const repository = makePlanned(release);
    letGo(repository);
    expect(run(repository, '--resume-step', '2').status).toBe(1);
    const before: RunDocument = JSON.parse(run(repository, '--json').stdout);
    const after = run(repository, '--resume', '--resume-step', '2', '--json');
    expect(after.status).toBe(0);
    const document: RunDocument = JSON.parse(after.stdout);
    expect(document.run).toMatchObject({ from: before.run.id, status: 'succeeded' });
    expect(document.run.id).not.toBe(before.run.id);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'publish', 'slow', 'publish']);
    expect(run(repository, '--resume-step', 'slow').status).toBe(0);
    expect(tasksOf(repository).slice(6)).toEqual(['publish']);
    const wrong = run(repository, '--resume-step', 'bild');
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('release has no task "bild"; did you mean build?');
  });

  it('in another clone only with --take-over', async () => {
    const repository = makePlanned(release);
    const { runner } = await startSlow(repository);
    runner.signal('SIGTERM');
    expect(await runner.ended).toBe(143);
    const other = { ...repository, folder: join(repository.home, 'other') };
    cpSync(repository.folder, other.folder, { recursive: true });
    letGo(repository);
    const refused = run(other, '--resume', '--json');
    expect(refused.status).toBe(5);
    expect(errorOf(refused)).toMatchObject({
      code: 'SESSION_ACTIVE',
      hint: 'If it is no longer running there, add --take-over. Effects without a check then wait for your --done ID or --replan ID',
    });
    expect(run(other, '--resume', '--take-over').status).toBe(0);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'slow', 'publish']);
  });
});

describe('a run that is stopped', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s ends its tasks, says how to go on, and exits %i', async (signal, status) => {
    const repository = makePlanned(release);
    const { runner, pid } = await startSlow(repository, '--json');
    runner.signal(signal);
    expect(await runner.ended).toBe(status);
    expect(isAlive(pid)).toBe(false);
    const document: RunDocument = JSON.parse(runner.stdout());
    expect(document.run.status).toBe('resume_needed');
    expect(statusesOf(document)).toMatchObject({ build: 'succeeded', slow: 'running', publish: 'pending' });
    expect(runner.stderr()).toContain('Continue  orch run plan.yaml --resume');
    expect(statusOf(repository, 'e').session.status).toBe('paused');
    const plain = run(repository, '--json');
    expect(plain.status).toBe(75);
    expect(JSON.parse(plain.stdout).run.id).toBe(document.run.id);
  });

  it('from another shell exits 75', async () => {
    const repository = makePlanned(release);
    const { runner, pid } = await startSlow(repository);
    expect(runOrch(repository, ['session', 'pause', '-e', 'e']).status).toBe(0);
    expect(await runner.ended).toBe(75);
    expect(isAlive(pid)).toBe(false);
  });

  it('by the budget has its checkpoint first, ends its tasks, exits 4, and can go on with more', async () => {
    const spending = release.replace(
      'echo slow $$ >> $RAN;',
      // It says that it runs first: the stop may be faster than what follows the cost.
      `echo slow $$ >> $RAN; ${callOrch('record cost 3 -q')} >/dev/null;`,
    );
    const repository = makePlanned(spending);
    const { runner, pid } = await startSlow(repository, '--budget', '2', '--json');
    expect(await runner.ended).toBe(4);
    expect(isAlive(pid)).toBe(false);
    const document: RunDocument = JSON.parse(runner.stdout());
    expect(document.run.status).toBe('resume_needed');
    expect(statusOf(repository, 'e').session.status).toBe('budget_exceeded');
    expect(run(repository, '--resume').status).toBe(4);
    letGo(repository);
    expect(run(repository, '--resume', '--budget', '+10').status).toBe(0);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'slow', 'publish']);
  });
});
