import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import { withoutAbandoned } from '../../state/left-behind.ts';
import type { Session, State } from '../../state/lists.ts';
import type { SessionId } from '../../types.ts';
import { gatherRuns, isFailing } from './work.ts';

export type KnownSession = { readonly session: SessionId; readonly value: Session };

/** Every session, the one that was started last first. */
export function listSessions(state: State): KnownSession[] {
  const known = Object.entries(state.sessions).map(([id, { value }]) => ({
    session: id as SessionId, // the keys of this list are session ids
    value,
  }));
  return known.sort(
    (a, b) =>
      b.value.startedAt - a.value.startedAt ||
      b.value.number - a.value.number ||
      (a.session < b.session ? 1 : -1),
  );
}

/**
 * The session whose work the next one goes on with: the newest that did any and that nobody has gone on from.
 * One that came and went without progress leaves the brief to whoever comes next. Who resumed whom decides before
 * the clock does: the next session may run on a machine whose clock is behind.
 */
export function findBriefSource(state: State): KnownSession | null {
  const worked = listSessions(state).filter(({ value }) => value.worked > 0);
  return worked.find(({ session }) => isHandedOver(state, session) === null) ?? worked[0] ?? null;
}

/** The session that took over from this one and got something done, or null while its brief is still to be used. */
export function isHandedOver(state: State, session: SessionId): SessionId | null {
  const heir = listSessions(state).find(
    (other) =>
      other.session !== session && other.value.worked > 0 && resumesFrom(state, other.value, session),
  );
  return heir?.session ?? null;
}

/** Did it resume from that session, directly or through some in which nothing happened? */
function resumesFrom(state: State, heir: Session, from: SessionId): boolean {
  const seen = new Set<SessionId>();
  let parent = heir.parentSessionId;
  while (parent !== null && parent !== from && !seen.has(parent)) {
    seen.add(parent);
    const value = lookUp(state.sessions, parent)?.value;
    if (value === undefined || value.worked > 0) return false;
    parent = value.parentSessionId;
  }
  return parent === from;
}

/** Is there anything worth resuming? Work that was not completed, or something that is still open after all. */
export function hasResumableContext(known: State): boolean {
  const state = withoutAbandoned(known);
  const source = findBriefSource(state);
  if (source !== null && source.value.status !== 'completed') return true;
  const has = <T>(list: { readonly [key: string]: { readonly value: T } }, isOpen: (value: T) => boolean) =>
    Object.values(list).some(({ value }) => isOpen(value));
  return (
    readCurrent(state, 'currentTask')?.status === 'in_progress' ||
    has(state.issues, ({ status }) => status !== 'done') ||
    has(state.blockers, ({ resolvedAt }) => resolvedAt === null) ||
    gatherRuns(state, 1).items.length > 0 ||
    isFailing(state)
  );
}
