import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorOf, runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn, readRan, statusesOf } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';
import { callOrch, isAlive, startSupervisor, statusOf, waitUntil } from '../support/supervised.ts';

/** The third task goes on until there is a file `go`. */
const release = `name: release
tasks:
  - { id: lint, run: echo lint >> $RAN }
  - { id: build, run: "echo build >> $RAN; echo built > app.js", artifacts: [app.js] }
  - { id: slow, run: "echo slow $$ >> $RAN; until test -e $RAN.go; do sleep 0.05; done" }
  - { id: publish, run: echo publish >> $RAN }
`;

/** Starts the plan, and waits until it is in its third task. */
async function startSlow(repository: TestRepository, ...args: string[]) {
  const runner = startSupervisor(repository, ['run', 'plan.yaml', ...args], ranIn(repository));
  await waitUntil(() => readRan(repository).some((line) => line.startsWith('slow')));
  const pid = Number(readRan(repository).at(-1)?.split(' ')[1]);
  return { runner, pid };
}

function letGo(repository: TestRepository): void {
  writeFileSync(`${ranIn(repository).env.RAN}.go`, '');
}

async function kill({ runner }: Awaited<ReturnType<typeof startSlow>>): Promise<void> {
  runner.signal('SIGKILL');
  await runner.ended;
}

const run = (repository: TestRepository, ...args: string[]) =>
  runOrch(repository, ['run', 'plan.yaml', ...args], ranIn(repository));

/** What ran, without the numbers. */
const tasksOf = (repository: TestRepository) => readRan(repository).map((line) => line.split(' ')[0]);

describe('a run that was killed', () => {
  it('is not started over by accident; --resume goes on with it', async () => {
    const repository = makePlanned(release);
    const slow = await startSlow(repository);
    await kill(slow);
    const plain = run(repository);
    expect(plain.status).toBe(75);
    expect(plain.stderr).toMatch(
      /release: a run stopped in task 3 \(slow\), .*\n +Go on: --resume. Start over: --fresh.\n/,
    );
    expect(isAlive(slow.pid)).toBe(true);
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.status).toBe(0);
    expect(resumed.stderr).toContain('1/4 – lint, 2/4 – build: done before\n');
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'slow', 'publish']);
    const again = run(repository, '--resume');
    expect(again).toMatchObject({ status: 0 });
    expect(again.stdout).toMatch(/^release: run-\w+ has succeeded already; nothing is left to do\n$/);
  });

  it('leaves nothing running behind once it is resumed', async () => {
    const repository = makePlanned(
      release.replace('until test -e $RAN.go; do', 'test -e $RAN.go || while :; do'),
    );
    const slow = await startSlow(repository);
    await kill(slow);
    expect(isAlive(slow.pid)).toBe(true);
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.status).toBe(0);
    if (process.platform !== 'linux') return; // only there a process shows where it came from
    expect(resumed.stderr).toMatch(/^slow's old process(es)? \(pids? .*\b\d+.*\) still ran: ended\.$/m);
    expect(isAlive(slow.pid)).toBe(false);
  });

  it('runs again what made an artifact that is gone, and what needs it, and says so', async () => {
    const repository = makePlanned(release);
    await kill(await startSlow(repository));
    const kept = repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e');
    expect(kept).toMatch(/artifacts\/run-\w+\/files\/app\.js/);
    repository.write('app.js', 'changed\n');
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.stderr).toContain('app.js is changed: build runs again\n');
    expect(resumed.stderr).toContain('1/4 – lint: done before\n');
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'build', 'slow', 'publish']);
    expect(repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e')).not.toContain(
      'files/',
    );
  });

  it('counts what is unchanged in a plan that was edited, and says what is not', async () => {
    const repository = makePlanned(release);
    await kill(await startSlow(repository));
    const edited = release
      .replace('echo lint >>', 'echo lint2 >>')
      .replace('  - { id: publish', '  - { id: more, run: echo more >> $RAN, needs: [] }\n  - { id: publish');
    repository.write('plan.yaml', edited);
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.status).toBe(0);
    for (const line of [
      'lint was changed in the plan: it runs again',
      'build needs lint: it runs again',
      'more is new in the plan',
    ])
      expect(resumed.stderr).toContain(`${line}\n`);
    expect(tasksOf(repository).slice(3)).toEqual(['lint2', 'build', 'slow', 'more', 'publish']);
  });

  it('is started over with --fresh', async () => {
    const repository = makePlanned(release);
    await kill(await startSlow(repository));
    letGo(repository);
    expect(run(repository, '--fresh').status).toBe(0);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'lint', 'build', 'slow', 'publish']);
  });
});

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
      hint: 'If nobody works on it there any more, add --take-over',
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
    expect(runner.stderr()).toContain('Go on  orch run plan.yaml --resume');
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
      `${callOrch('record cost 3 -q')} >/dev/null; echo slow $$ >> $RAN;`,
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
