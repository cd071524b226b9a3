import { endTree, listTree } from '../system/tree.ts';
import type { Millis, SessionId } from '../types.ts';

/** The entry in the environment of a session's command by which all that came from it is found (Linux). */
export function sessionMarker(session: SessionId): string {
  return `ORCH_SESSION=${session}`;
}

/** No process: what is looked for is found by the marker alone. */
const nobody = { pid: 0, startedAt: '' };

/** What still runs of a session. */
export function listLeftovers(session: SessionId): number[] {
  return listTree(nobody, sessionMarker(session)).map(({ pid }) => pid);
}

/**
 * Ends what still runs of a session whose supervisor died: nobody would stop it at the budget, and the next agent
 * would work beside it. Returns how many processes there were.
 */
export async function endLeftovers(session: SessionId, grace: Millis): Promise<number> {
  const marker = sessionMarker(session);
  const { length } = listTree(nobody, marker);
  if (length === 0) return 0;
  await endTree(nobody, {
    marker,
    signals: [
      { signal: 'SIGINT', grace },
      { signal: 'SIGTERM', grace },
      { signal: 'SIGKILL', grace: Math.max(grace, 2_000) },
    ],
  });
  return length;
}
