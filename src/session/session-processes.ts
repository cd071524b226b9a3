import type { LiveRecord } from '../journal/live.ts';
import { openControlGroup } from '../system/process/control-group.ts';
import { describeProcesses, type NamedProcess } from '../system/process/process-table.ts';
import { endTree, listTree } from '../system/process/process-tree.ts';
import type { Millis, SessionId } from '../types.ts';

/** The environment entry by which the processes of a session's command are found (Linux). */
export function sessionMarker(session: SessionId): string {
  return `ORCH_SESSION=${session}`;
}

/** No root process: the marker alone identifies the tree. */
const noRoot = { pid: 0, startedAt: '' };

/** Lists the processes that have an entry in their environment (Linux). */
export function listMarkedProcesses(marker: string): number[] {
  return listTree(noRoot, marker).map(({ pid }) => pid);
}

type SessionGroup = Pick<LiveRecord, 'session' | 'group'>;

/** Lists the processes of a session: those with its marker, and those in the control group of its command. */
export function listSessionProcesses({ session, group }: SessionGroup): number[] {
  const control = group === undefined ? null : openControlGroup(group);
  try {
    return listTree(noRoot, sessionMarker(session), control).map(({ pid }) => pid);
  } finally {
    control?.close();
  }
}

export type EndedProcesses = {
  /** How many there were. */
  readonly found: number;
  /** Those that could not be ended. */
  readonly left: readonly NamedProcess[];
};

/**
 * Ends the remaining processes of a session whose supervisor died: without it they would run past the budget, and
 * alongside the next agent.
 */
export async function endSessionProcesses(of: SessionGroup, grace: Millis): Promise<EndedProcesses> {
  const found = listSessionProcesses(of).length;
  if (found === 0) return { found, left: [] };
  const group = of.group === undefined ? null : openControlGroup(of.group);
  try {
    const { left } = await endTree(noRoot, {
      marker: sessionMarker(of.session),
      group,
      signals: [
        { signal: 'SIGINT', grace },
        { signal: 'SIGTERM', grace },
        { signal: 'SIGKILL', grace: Math.max(grace, 2_000) },
      ],
    });
    return { found, left: describeProcesses(left) };
  } finally {
    group?.close();
  }
}
