import type { GateOutcome } from '../../gates/gate.ts';

/* What a worker is told about work that was not merged. */

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
