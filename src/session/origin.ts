import { basename } from 'node:path';
import { type Descent, traceDescent } from '../system/ancestry.ts';
import type { EpicId, SessionId } from '../types.ts';
import { checkLive, type LiveRecord, listLive } from './live.ts';

/**
 * Where a call comes from: a person or their script, or an agent that a session watches over. `session` is the one it
 * is below; null where nothing tells which.
 */
export type Origin =
  | { readonly kind: 'outside' }
  | {
      readonly kind: 'inside';
      readonly because: 'environment' | 'parent' | 'group' | 'detached';
      readonly session: SessionId | null;
    };

/** A session at work in this clone, with what its processes are known by. */
export type AtWork = Pick<LiveRecord, 'session' | 'epic' | 'kind' | 'group'> & {
  readonly pid: number;
  /** When its process began, on the same scale as that of a caller's. */
  readonly startedAt: number | null;
};

const outside: Origin = { kind: 'outside' };

/**
 * Decides where a call comes from. Any of these puts it inside:
 * - a process above it, or itself, was started with the `ORCH_SESSION` of a session at work here: clearing the
 *   variable changes neither its parent nor what that was started with;
 * - a process above it is the one that works on a session: the supervisor, or an agent that has orch in its hooks;
 * - it is in the control group of a session's command, which no double fork leaves;
 * - it is detached: it has no terminal, and everything above it, up to what adopts orphans, is younger than a
 *   supervised session on this epic. Then its parent is gone, and nothing tells it from the agent's own.
 */
export function judgeOrigin(
  { chain, hasTerminal, groups }: Descent,
  sessions: readonly AtWork[],
  epic: EpicId | null,
): Origin {
  for (const [index, each] of chain.entries()) {
    const named = sessions.find(({ session }) => session === each.session);
    if (named) return { kind: 'inside', because: 'environment', session: named.session };
    const holder = sessions.find(({ pid, kind }) => pid === each.pid && kind !== 'library');
    if (holder && index > 0) return { kind: 'inside', because: 'parent', session: holder.session };
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

/** Where this process, or another, comes from. Costs nothing where no session is at work in this clone. */
export function findOrigin(home: string, epic: EpicId | null, pid?: number): Origin {
  const sessions = listAtWork(home);
  return sessions.length === 0 ? outside : judgeOrigin(traceDescent(pid), sessions, epic);
}

/**
 * Does this process come from inside any session at work in this clone? For what an agent must not decide for its user:
 * what is approved counts in every later session.
 */
export function isFromInside(home: string): boolean {
  const sessions = listAtWork(home);
  if (sessions.length === 0) return false;
  const descent = traceDescent();
  return sessions.some(({ epic }) => judgeOrigin(descent, sessions, epic).kind === 'inside');
}

/** The session at work here that this process is below, where that is certain. */
export function findSessionAbove(home: string): LiveRecord | null {
  const origin = findOrigin(home, null);
  if (origin.kind === 'outside') return null;
  return listLive(home).find(({ session }) => session === origin.session) ?? null;
}

function listAtWork(home: string): AtWork[] {
  const alive = listLive(home).filter((live) => checkLive(live) === 'alive');
  return alive.map(({ session, epic, kind, group, holder }) => {
    const startedAt = holder.startedAt === null ? null : Number(holder.startedAt);
    return { session, epic, kind, pid: holder.pid, startedAt, ...(group !== undefined && { group }) };
  });
}
