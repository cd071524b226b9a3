import { openControlGroup } from '../system/control-group.ts';
import { type NamedProcess, nameProcesses } from '../system/process-table.ts';
import { endTree, listTree } from '../system/tree.ts';
import type { Millis, SessionId } from '../types.ts';
import type { LiveRecord } from './live.ts';

/** The entry in the environment of a session's command by which all that came from it is found (Linux). */
export function sessionMarker(session: SessionId): string {
  return `ORCH_SESSION=${session}`;
}

/** No process: what is looked for is found by the marker alone. */
const nobody = { pid: 0, startedAt: '' };

/** The processes that carry an entry in their environment (Linux). */
export function listMarked(marker: string): number[] {
  return listTree(nobody, marker).map(({ pid }) => pid);
}

type Left = Pick<LiveRecord, 'session' | 'group'>;

/** The processes of a session: those that carry its name, and those in the control group of its command. */
export function listProcessesOf({ session, group }: Left): number[] {
  const control = group === undefined ? null : openControlGroup(group);
  try {
    return listTree(nobody, sessionMarker(session), control).map(({ pid }) => pid);
  } finally {
    control?.close();
  }
}

export type Leftovers = {
  /** How many there were. */
  readonly found: number;
  /** Those that would not go. */
  readonly left: readonly NamedProcess[];
};

/**
 * Ends what still runs of a session whose supervisor died: nobody would stop it at the budget, and the next agent
 * would work beside it.
 */
export async function endLeftovers(of: Left, grace: Millis): Promise<Leftovers> {
  const found = listProcessesOf(of).length;
  if (found === 0) return { found, left: [] };
  const group = of.group === undefined ? null : openControlGroup(of.group);
  try {
    const { left } = await endTree(nobody, {
      marker: sessionMarker(of.session),
      group,
      signals: [
        { signal: 'SIGINT', grace },
        { signal: 'SIGTERM', grace },
        { signal: 'SIGKILL', grace: Math.max(grace, 2_000) },
      ],
    });
    return { found, left: nameProcesses(left) };
  } finally {
    group?.close();
  }
}
