import { parseTestOutput } from '../../agents/calls/test-output.ts';
import type { GateOutcome } from '../../gates/gate.ts';
import type { WorkerRecord } from '../../state/runs.ts';
import { cleanLine } from '../../text.ts';

/* What a worker is told about work that was not merged, and what is kept of it. */

type Try = NonNullable<WorkerRecord['tries']>[number];

/** What was wrong with work, as it is recorded with its attempt. */
export type Cause = Pick<Try, 'red' | 'conflicts'>;

/** More of them say no more, and a task's record stays small. */
const mostKept = { gates: 5, tests: 5, files: 10, bytes: 200 };

export function causeOfConflict({ files }: Pick<Refusal, 'files'>): Cause {
  return { conflicts: files.slice(0, mostKept.files).map((path) => cleanLine(path, mostKept.bytes)) };
}

export function causeOfRed(red: readonly Pick<GateOutcome, 'name' | 'output'>[]): Cause {
  return {
    red: red.slice(0, mostKept.gates).map(({ name, output }) => {
      const failing = parseTestOutput(output)?.failing ?? [];
      return {
        gate: cleanLine(name, mostKept.bytes),
        failing: failing.slice(0, mostKept.tests).map((test) => cleanLine(test, mostKept.bytes)),
      };
    }),
  };
}

/** Why two commits were not merged, and in which files. */
export type Refusal = {
  readonly why: 'conflict' | 'driver' | 'case';
  readonly files: readonly string[];
  /** What git says about it. */
  readonly messages: string;
};

/** Tells a worker how its work conflicts with what is merged, and what to do. */
export function describeConflict(branch: string, { why, files, messages }: Refusal): string {
  const more = files.length > 30 ? ` and ${files.length - 30} more` : '';
  const list = `${files.slice(0, 30).join(', ')}${more}`;
  return [
    `It conflicts with what others have merged into ${branch} meanwhile, in ${list}.`,
    ...(why === 'driver' ? ['', drivers] : []),
    ...(why === 'case' ? ['', cases] : []),
    ...(messages === '' ? [] : ['', messages.slice(0, 2_000)]),
    '',
    `Resolve the conflicts so that neither side loses anything. The merge is begun in your worktree, and committed for you when it is resolved; if git status shows none, begin it: git merge ${branch}`,
  ].join('\n');
}

const drivers =
  'Both sides changed these files, and .gitattributes or the git config names a merge driver for them, which may drop lines of one side without showing a conflict. Compare the result with both sides.';

const cases =
  'The names differ only in upper and lower case, and this file system cannot hold both. Give yours another name.';

/** How much of a gate's output a worker gets. */
const shownOutput = 3_000;

/** Tells a worker which gates fail on its work merged, and how. */
export function describeRed(red: readonly GateOutcome[]): string {
  const parts = red.map(
    ({ name, status, output }) =>
      `The gate "${name}" ${status === 'timed_out' ? 'timed out' : 'fails'} on the merged tree:\n\n${output.slice(-shownOutput)}`,
  );
  return parts.join('\n\n');
}
