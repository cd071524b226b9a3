import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { type RunInfo, runPlan } from '../../src/index.ts';
import type { OrchOptions } from '../../src/orch.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { runs } from '../support/depth.ts';
import { makePlanned, ranIn, readRan } from '../support/plans.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { bury } from '../support/sessions.ts';
import { makeFastClock, withOrch, writer } from '../support/store.ts';
import { startSupervisor, waitUntil } from '../support/supervised.ts';

const ids = ['a', 'b', 'c', 'd', 'e'];

type Part = { readonly needs: readonly string[]; readonly when: string; readonly fails: boolean };
const part: fc.Arbitrary<Part> = fc.record({
  needs: fc.subarray(ids),
  when: fc.constantFrom('success', 'success', 'success', 'failure', 'always'),
  fails: fc.nat({ max: 5 }).map((number) => number === 0),
});

/** Tasks that write their names into a file, in the order they run in; some of them fail. */
function writePlan(parts: readonly Part[], ran: string) {
  const tasks = parts.map(({ needs, when, fails }, index) => {
    const before = needs.filter((need) => ids.indexOf(need) < index);
    const run = `echo ${ids[index]} >> ${ran}${fails ? '; exit 1' : ''}`;
    return `  - { id: ${ids[index]}, run: "${run}", needs: [${before.join(', ')}], when: ${when} }\n`;
  });
  return parsePlan(`name: p\ntasks:\n${tasks.join('')}`, 'p.yaml');
}

type Plan = ReturnType<typeof writePlan>;

/** Snapshots have crash tests of their own; here each would start gits that nobody kills. */
const settings = { snapshot: false };

/** Later in every process, and ten seconds of waiting for what a dead one left pass quickly. */
let hour = 0;
function nextClock() {
  hour += 1;
  return makeFastClock(1_800_000_000_000 + hour * 3_600_000);
}

/** Runs a plan, or goes on with it where it was begun; null where the process died of it. */
async function runOrGoOn(plan: Plan, options: OrchOptions, jobs: number): Promise<RunInfo | null> {
  try {
    return await withOrch(
      { clock: nextClock(), engine: 'isomorphic', settings, writer, ...options },
      async (orch) => {
        const asked = { epicId: 'e', jobs };
        return runPlan(plan, { ...asked, resume: true }, orch).catch((error: unknown) => {
          if (!hasCode(error, 'SESSION_NOT_FOUND')) throw error;
          return runPlan(plan, asked, orch);
        });
      },
    );
  } catch (error) {
    if (String(error).includes('Died') || (error instanceof Error && isDeath(error))) return null;
    throw error;
  }
}

function isDeath(error: Error): boolean {
  return error.cause instanceof Error ? error.cause.name === 'Died' || isDeath(error.cause) : false;
}

const statuses = (run: RunInfo | null) => run?.tasks.map(({ id, status }) => `${id} ${status}`);
const withoutRepeats = (list: readonly string[]) => list.filter((each, index) => each !== list[index - 1]);

describe('a run that dies at any write, again and again', () => {
  it('does in the end what it does without: the same tasks, in order, and none that had succeeded a second time', async () => {
    const deaths = fc.array(fc.record({ at: fc.integer({ min: 1, max: 220 }), torn: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        deaths,
        fc.integer({ min: 1, max: 2 }),
        async (parts, crashes, jobs) => {
          const calm = makeRepositoryWithCommit();
          const undisturbed = await runOrGoOn(
            writePlan(parts, join(calm.home, 'ran')),
            { cwd: calm.folder },
            jobs,
          );
          const repository = makeRepositoryWithCommit();
          const plan = writePlan(parts, join(repository.home, 'ran'));
          let died = 0;
          for (const crash of crashes) {
            const { disk, wrapEngine, hasDied } = makeCrashingDisk(crash);
            await runOrGoOn(plan, { cwd: repository.folder, disk, wrapEngine }, jobs);
            if (hasDied()) died++;
            bury(repository.folder);
          }
          const end = await runOrGoOn(plan, { cwd: repository.folder }, jobs);
          expect(statuses(end)).toEqual(statuses(undisturbed));
          expect(end?.status).toBe(undisturbed?.status);
          const [ran, expected] = [readRan(repository), readRan(calm)];
          expect([...new Set(ran)].sort()).toEqual([...new Set(expected)].sort());
          if (parts.some(({ fails }) => fails)) return; // what failed is tried again, as it should be
          // Only what was at work when it died can have run again: one task a death, and a job.
          expect(ran.length).toBeLessThanOrEqual(expected.length + died * jobs);
          if (jobs === 1) expect(withoutRepeats(ran)).toEqual(expected);
          for (const { id, needs } of plan.tasks.filter((task) => ran.includes(task.id)))
            for (const need of needs) expect(ran.lastIndexOf(need)).toBeLessThan(ran.indexOf(id));
        },
      ),
      { numRuns: runs(6), endOnFailure: true },
    );
  });
});

it('a run that is killed at any task goes on where it was', async () => {
  const names = ['one', 'two', 'three', 'four', 'five'];
  const tasks = names.map((name) => `  - { id: ${name}, run: echo ${name} >> $RAN }\n`).join('');
  const repository = makePlanned(`tasks:\n${tasks}`);
  for (const length of [1, 3, 4]) {
    const args = ['run', 'plan.yaml', ...(length === 1 ? [] : ['--resume'])];
    const runner = startSupervisor(repository, args, ranIn(repository));
    await waitUntil(() => readRan(repository).length >= length);
    runner.signal('SIGKILL');
    await runner.ended;
  }
  const last = startSupervisor(repository, ['run', 'plan.yaml', '--resume'], ranIn(repository));
  expect(await last.ended).toBe(0);
  expect(withoutRepeats(readRan(repository))).toEqual(names);
  expect(readRan(repository).length).toBeLessThanOrEqual(names.length + 3);
});

it('a checkpoint that cannot be made is told, and fails no task', async () => {
  const repository = makeRepositoryWithCommit();
  const reports: string[] = [];
  let moves = 0;
  const plan = writePlan(
    [1, 2, 3].map(() => ({ needs: [], when: 'success', fails: false })),
    join(repository.home, 'ran'),
  );
  const run = await withOrch(
    {
      cwd: repository.folder,
      settings,
      engine: 'isomorphic',
      onReport: (what) => reports.push(what),
      wrapEngine: (git) => ({
        ...git,
        moveRefs: async (updates) => {
          moves++;
          if (moves === 2) throw new Error('the disk is on fire');
          await git.moveRefs(updates);
        },
      }),
    },
    (orch) => runPlan(plan, { epicId: 'e' }, orch),
  );
  expect(run.status).toBe('succeeded');
  expect(reports.join('\n')).toContain('the checkpoint could not be made yet: the disk is on fire');
  expect(readFileSync(join(repository.home, 'ran'), 'utf8')).toBe('a\nb\nc\n');
});
