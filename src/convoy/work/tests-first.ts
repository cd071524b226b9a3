import { listFileChanges } from '../../git/worktree/code-changes.ts';
import { parseOid } from '../../ids.ts';
import type { Oid } from '../../types.ts';
import { taskBranch } from '../names.ts';
import type { Work } from './begin-worker.ts';
import type { Job } from './job.ts';

/*
 * Tests first: a worker writes the tests of its task, orch sees them fail, and only then it implements what they test. So
 * the gates that pass in the end say something about the task.
 */

export type Phase = 'tests' | 'implementation';

/** The phase a task is in; null if its plan wants no phases, or a person does it in one go. */
export function phaseOf({ worker, record, claim }: Pick<Job, 'worker' | 'record' | 'claim'>): Phase | null {
  if (worker.tests !== 'first' || claim !== null) return null;
  return record.tests === undefined ? 'tests' : 'implementation';
}

export type TestsVerdict =
  | { readonly kind: 'implement' }
  | { readonly kind: 'sent_back'; readonly feedback: string }
  | { readonly kind: 'held'; readonly reason: string };

/** Sees whether the tests that a worker wrote fail, as they have to before anything is implemented. */
export async function seeTestsFail({ convoy, job, signal }: Work, commit: Oid): Promise<TestsVerdict> {
  const checked = await convoy.queue.check(commit, signal);
  if (checked.ran === 0)
    return {
      kind: 'held',
      reason:
        'its tests come first, and no gate can show that they fail: there is none, or it was red before the convoy began. Add one to the config or to merge.gates, or fix what is red, then start over with --fresh',
    };
  if (checked.red.length === 0)
    return {
      kind: 'sent_back',
      feedback:
        'The tests you wrote do not fail: all gates pass. Write tests of what is asked for that fail as long as it is not there, and nothing else yet. Check that the gates run them.',
    };
  const gates = checked.red.map(({ name }) => name);
  job.record = {
    ...job.record,
    tests: { commit, gates, ...(job.record.session && { session: job.record.session }) },
  };
  return { kind: 'implement' };
}

/** Has the worker not begun to implement yet? A scheduler that died may not have told it to. */
export function isStillAtTests({ record }: Pick<Job, 'record'>): boolean {
  return record.tests?.session !== undefined && record.tests.session === record.session;
}

/** Finds the tests that the worker wrote first and has deleted since. */
export async function listDeletedTests({ orch, job }: Work, commit: Oid): Promise<string[]> {
  const { tests, base } = job.record;
  if (tests === undefined) return [];
  const seen = parseOid(tests.commit);
  const written = new Set(
    (await listFileChanges(orch.repository, parseOid(base), seen, 0)).map(({ path }) => path),
  );
  const since = await listFileChanges(orch.repository, seen, commit, 0);
  return since
    .filter(({ path, change }) => change === 'deleted' && written.has(path))
    .map(({ path }) => path);
}

/** What a worker is told about its phase. */
export function describePhase({ convoy, job }: Pick<Work, 'convoy' | 'job'>): string | null {
  switch (phaseOf(job)) {
    case null:
      return null;
    case 'tests':
      return 'Begin with the tests, and write nothing else yet: they have to fail, because what they test is not there. When you are done, the gates are run to see that. Then you implement it.';
    case 'implementation': {
      const gates = job.record.tests?.gates.join(', ') ?? '';
      return `The tests you wrote fail, as they should (${gates}). Now implement what they test, until all gates pass. Do not weaken or delete them; they are on ${taskBranch(convoy.epic, job.task.id)}.`;
    }
  }
}
