import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { startRun } from '../../src/plan/run/start-run.ts';
import { nothingKnown, openSchedule } from '../../src/plan/schedule/schedule.ts';
import { doTask } from '../../src/plan/task/do-task.ts';
import { runTaskCommand } from '../../src/plan/task/task-command.ts';
import { realRandom } from '../../src/system/clock.ts';
import { inheritedEnvironment } from '../../src/system/process/spawn.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { epic, withOrch } from '../support/store.ts';
import { callOrch } from '../support/supervised.ts';

it('I7: a task that may not start is stopped before its command runs, even between two attempts', async () => {
  const { folder } = makeRepositoryWithCommit();
  const { tasks } = parsePlan(
    'tasks: [{ id: a, run: "echo x >> ran; exit 1", retry: { attempts: 3, backoff: 1ms } }]',
    'p.yaml',
  );
  const [task] = tasks;
  if (!task) throw new Error('the plan has one task');
  const runWhile = (mayBegin: (attempt: number) => boolean) =>
    runTaskCommand(task, {
      cwd: folder,
      random: realRandom,
      redact: async (text) => text,
      env: () => inheritedEnvironment(),
      marker: 'ORCH_TASK_ID=test/a',
      signal: new AbortController().signal,
      onOutput: () => {},
      onAttempt: async (attempt) => mayBegin(attempt),
      onRetry: async () => {},
    });
  expect(await runWhile(() => false)).toEqual({ kind: 'stopped', attempts: 0 });
  expect(existsSync(join(folder, 'ran'))).toBe(false);
  expect(await runWhile((attempt) => attempt === 1)).toEqual({ kind: 'stopped', attempts: 1 });
});

it('I7: a task that used up the budget starts no effect; it counts as done, and its effects stay open', async () => {
  const { folder: cwd, home } = makeRepositoryWithCommit();
  const spend = `HOME='${home}' ${callOrch('record cost 2 -q')}`;
  const plan = parsePlan(
    `tasks: [{ id: a, run: "${spend} || true", effects: [{ id: send, run: echo x >> sent }] }]`,
    'p.yaml',
  );
  const [task] = plan.tasks;
  if (!task) throw new Error('the plan has one task');
  await withOrch({ cwd }, async (orch) => {
    const begun = await startRun(orch, {
      plan,
      file: null,
      intent: { kind: 'plain' },
      worktree: cwd,
      env: inheritedEnvironment(),
      choices: new Map(),
      session: {
        epic,
        budget: '1',
        byAgent: false,
        kind: 'supervised',
        worktree: cwd,
        settings: { ...defaultSettings, snapshot: false },
        takeOver: false,
      },
    });
    if (begun.kind !== 'started') throw new Error('there was a run before');
    const { run, started } = begun;
    const effects = new Map(run.effects.map(({ record }) => [record.id, record]));
    const work = {
      run,
      target: started.target,
      checkpoints: null,
      tasks: new Map(),
      effects,
      effectsOf: new Map([[task.id, run.effects]]),
      stored: { bytes: 0 },
      failed: { count: 0 },
      artifacts: new Map(),
      schedule: openSchedule(plan.tasks, nothingKnown, 1),
    };
    // No supervisor is running: it would stop the task just as fast.
    const ports = {
      ...orch,
      cwd,
      env: inheritedEnvironment(),
      signal: new AbortController().signal,
      onEvent: () => {},
    };
    expect(await doTask(ports, work, task)).toEqual({ kind: 'stopped' });
    expect(work.tasks.get('a')).toEqual({ status: 'succeeded', attempts: 1 });
    expect(effects.get('send')?.status).toBe('planned');
    expect(existsSync(join(cwd, 'sent'))).toBe(false);
  });
});
