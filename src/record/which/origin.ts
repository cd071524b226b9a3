import { basename } from 'node:path';
import { checkLive, type LiveRecord, listLive, readLive } from '../../journal/live.ts';
import { type Ancestor, type Ancestry, traceAncestry } from '../../system/process/ancestry.ts';
import type { EpicId, SessionId } from '../../types.ts';

/**
 * Where a call comes from: a person or their script, or an agent inside a session. `session` is the session it belongs
 * to; null if unknown.
 */
export type Origin =
  | { readonly kind: 'outside' }
  | {
      readonly kind: 'inside';
      readonly because: 'environment' | 'parent' | 'group' | 'detached';
      readonly session: SessionId | null;
    };

/** A running session of this clone, with what identifies its processes. */
export type AtWork = Pick<LiveRecord, 'session' | 'epic' | 'kind' | 'group'> & {
  readonly pid: number;
  /** When its process started, on the same scale as a caller's. */
  readonly startedAt: number | null;
};

const outside: Origin = { kind: 'outside' };

/**
 * Decides where a call comes from. Any of these puts it inside:
 * - It, or a process above it, was started with the `ORCH_SESSION` of a running session: clearing the variable changes
 *   neither its parent nor the environment that was started with.
 * - A process above it works on a session: the supervisor, or an agent with orch in its hooks.
 * - It is in the control group of a session's command, which a double fork does not leave.
 * - It is detached: it has no terminal, and everything above it, up to the process that adopts orphans, is younger than
 *   a supervised session on this epic. Then its parent is gone, and nothing tells it from the agent's own processes.
 */
export function judgeOrigin(
  { chain, hasTerminal, groups }: Ancestry,
  sessions: readonly AtWork[],
  epic: EpicId | null,
): Origin {
  const holderOf = ({ pid: own }: Ancestor) =>
    sessions.find(({ pid, kind }) => pid === own && kind !== 'library');
  for (const [index, each] of chain.entries()) {
    const named = sessions.find(({ session }) => session === each.session);
    // What works on another session and passes the variable on is nearer: the scheduler of a convoy that an agent started.
    const passing = named ? chain.slice(index + 1).filter(({ session }) => session === each.session) : [];
    const holder = [...(index > 0 ? [each] : []), ...passing].map(holderOf).find(Boolean);
    if (holder) return { kind: 'inside', because: 'parent', session: holder.session };
    if (named) return { kind: 'inside', because: 'environment', session: named.session };
  }
  const grouped = sessions.find(({ group }) => group !== undefined && groups.includes(basename(group)));
  if (grouped) return { kind: 'inside', because: 'group', session: grouped.session };
  const isDetachedFrom = ({ kind, epic: of, startedAt: began }: AtWork) => {
    if (kind !== 'supervised' || of !== epic || hasTerminal !== false) return false;
    const older = chain.find(({ startedAt }) => startedAt === null || began === null || startedAt < began);
    return older === undefined || older.isReaper;
  };
  return sessions.some(isDetachedFrom) ? { kind: 'inside', because: 'detached', session: null } : outside;
}

/** Where this process, or another one, comes from. Free if no session is running in this clone. */
export function findOrigin(home: string, epic: EpicId | null, pid?: number): Origin {
  const sessions = listAtWork(home);
  return sessions.length === 0 ? outside : judgeOrigin(traceAncestry(pid), sessions, epic);
}

/**
 * Does this process come from inside any running session of this clone? For decisions an agent must not make for its
 * user: an approval counts in every later session.
 */
export function isFromInside(home: string): boolean {
  const sessions = listAtWork(home);
  if (sessions.length === 0) return false;
  const descent = traceAncestry();
  return sessions.some(({ epic }) => judgeOrigin(descent, sessions, epic).kind === 'inside');
}

/** The running session that this process certainly belongs to; null if there is none. */
export function findSessionAbove(home: string): LiveRecord | null {
  const origin = findOrigin(home, null);
  if (origin.kind === 'outside') return null;
  return listLive(home).find(({ session }) => session === origin.session) ?? null;
}

/** The epics of the session this process belongs to, and of those that one was started from. */
export function listEpicsAbove(home: string): EpicId[] {
  const epics: EpicId[] = [];
  let live = findSessionAbove(home);
  while (live !== null && !epics.includes(live.epic)) {
    epics.push(live.epic);
    live = live.above === undefined ? null : readLive(home, live.above.session);
  }
  return epics;
}

function listAtWork(home: string): AtWork[] {
  const alive = listLive(home).filter((live) => checkLive(live) === 'alive');
  return alive.map(({ session, epic, kind, group, holder }) => {
    const startedAt = holder.startedAt === null ? null : Number(holder.startedAt);
    return { session, epic, kind, pid: holder.pid, startedAt, ...(group !== undefined && { group }) };
  });
}
