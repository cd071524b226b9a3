import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parsePlan } from '../../src/plan/parse.ts';
import { runTask } from '../../src/plan/task.ts';
import { realRandom } from '../../src/system/clock.ts';
import { inheritedEnvironment } from '../../src/system/spawn.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

it('I7: a task that may not begin is stopped before its command runs, also between two attempts', async () => {
  const { folder } = makeRepositoryWithCommit();
  const { tasks } = parsePlan(
    'tasks: [{ id: a, run: "echo x >> ran; exit 1", retry: { attempts: 3, backoff: 1ms } }]',
    'p.yaml',
  );
  const [task] = tasks;
  if (!task) throw new Error('the plan has one task');
  const runWhile = (mayBegin: (attempt: number) => boolean) =>
    runTask(task, {
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
