import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import { withoutAbandoned } from '../../state/left-behind.ts';
import type { Session, State } from '../../state/lists.ts';
import type { SessionId } from '../../types.ts';
import { gatherRuns, isFailing } from './work-items.ts';

export type SourceSession = { readonly session: SessionId; readonly value: Session };

/** All sessions, the last started first. */
export function sortSessions(state: State): SourceSession[] {
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
 * The session whose work the next one continues: the newest that did any and was not continued yet. A session that
 * recorded no work is skipped. Parents count before times: the next session may run on a machine with a slow clock.
 */
export function findBriefSource(state: State): SourceSession | null {
  const worked = sortSessions(state).filter(({ value }) => value.worked > 0);
  return worked.find(({ session }) => findSuccessor(state, session) === null) ?? worked[0] ?? null;
}

/** The session that continued this one and recorded work; null while its brief is still to be used. */
export function findSuccessor(state: State, session: SessionId): SessionId | null {
  const successor = sortSessions(state).find(
    (other) =>
      other.session !== session && other.value.worked > 0 && resumesFrom(state, other.value, session),
  );
  return successor?.session ?? null;
}

/** Did a session resume another, directly or through sessions without work? */
function resumesFrom(state: State, successor: Session, from: SessionId): boolean {
  const seen = new Set<SessionId>();
  let parent = successor.parentSessionId;
  while (parent !== null && parent !== from && !seen.has(parent)) {
    seen.add(parent);
    const value = lookUp(state.sessions, parent)?.value;
    if (value === undefined || value.worked > 0) return false;
    parent = value.parentSessionId;
  }
  return parent === from;
}

/** Is there anything to resume: work that was not completed, or something that is still open? */
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
