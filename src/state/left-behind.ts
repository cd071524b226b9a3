import type { infer as Infer } from 'zod/mini';
import { amount, checkpoint, listOf, orNull, session, time, withFields, writer, yesOrNo } from '../checks.ts';
import { lookUp } from '../keyed.ts';
import type { Millis, SessionId, WriterId } from '../types.ts';
import type { Fact } from './facts.ts';
import { compareStamps } from './join.ts';
import type { Entry, List, Lists, Stamp, State } from './lists.ts';
import type { abandonedWork, namedCheckpoint, restoredCode } from './state-shape.ts';

/*
 * Code and work that were left behind. A restore brings back older code; a session that continues from an older
 * checkpoint abandons what was recorded after it. Nothing is deleted: it stays in the history and in the state, but the
 * brief for the next session leaves it out (`withoutAbandoned`). Pure.
 */

type NamedCheckpoint = Infer<typeof namedCheckpoint>;
export type RestoredCode = Infer<typeof restoredCode>;
type AbandonedWork = Infer<typeof abandonedWork>;

export const isNamed = withFields<NamedCheckpoint>({ id: checkpoint, seq: amount });
export const isRestoredCode = withFields<RestoredCode>({
  checkpoint: orNull(isNamed),
  leftBehind: isNamed,
  paths: orNull(amount),
  isUndo: yesOrNo,
  session,
  at: time,
});
type Recorded = AbandonedWork['recorded'][number];
export const isRecorded = withFields<Recorded>({ by: writer, after: time, until: time });
const isAbandonedWork = withFields<AbandonedWork>({
  from: isNamed,
  upTo: isNamed,
  recorded: listOf(isRecorded),
});

const prefix = 'abandoned:';

/** The key of `current` for what a session abandoned: one per session, so that two clones do not hide each other's. */
export function abandonedKey(session: SessionId): string {
  return `${prefix}${session}`;
}

/** All abandoned work of an epic, in order. */
export function listAbandoned({ current }: Pick<State, 'current'>): AbandonedWork[] {
  const entries = Object.entries(current).filter(([key]) => key.startsWith(prefix));
  entries.sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
  return entries.flatMap(([, { value }]) => (isAbandonedWork(value) ? [value] : []));
}

/** Was a checkpoint left behind? Not if a session has since returned to it, or to a later one of its line. */
export function isLeftBehind(abandoned: readonly AbandonedWork[], seq: number): boolean {
  let line = Number.POSITIVE_INFINITY;
  for (const { from, upTo } of abandoned.toReversed()) {
    if (upTo.seq >= line) continue; // this line was itself left behind
    if (seq > upTo.seq) return false;
    if (seq > from.seq) return true;
    line = from.seq;
  }
  return false;
}

/** Returns a test for entries that still count because they were not abandoned. */
export function findCurrent(state: Pick<State, 'current'>): (entry: { readonly stamp: Stamp }) => boolean {
  const recorded = listAbandoned(state).flatMap((work) => work.recorded);
  return ({ stamp: [at, by] }) =>
    !recorded.some((range) => range.by === by && at > range.after && at <= range.until);
}

/** The lists that describe the work. Money, runs and settings hold whichever checkpoint a session continues from. */
type WorkList = 'notes' | 'blockers' | 'tried' | 'decisions' | 'files' | 'issues' | 'gates';

const currentOfWork: ReadonlySet<string> = new Set([
  'currentTask',
  'testState',
  'lastGreen',
  'asked',
  'approvedPlan',
  'lastMessage',
  'compactSummary',
]);

/** The state without abandoned work: what a brief is made from. */
export function withoutAbandoned(state: State): State {
  if (listAbandoned(state).length === 0) return state;
  const isCurrent = findCurrent(state);
  const keep = <T>(list: List<T>, isKept: (entry: Entry<T>, key: string) => boolean): List<T> =>
    Object.fromEntries(Object.entries(list).filter(([key, entry]) => isKept(entry, key)));
  return {
    ...state,
    current: keep(state.current, (entry, key) => !currentOfWork.has(key) || isCurrent(entry)),
    // A session belongs to the time it started: one that is continued may have recorded its end later.
    sessions: keep(state.sessions, ({ value, stamp }) =>
      isCurrent({ stamp: [value.startedAt, value.writer, stamp[2]] }),
    ),
    requests: keep(state.requests, isCurrent),
    goals: keep(state.goals, isCurrent),
    messages: keep(state.messages, isCurrent),
    commits: keep(state.commits, isCurrent),
    questions: keep(state.questions, isCurrent),
    notes: keep(state.notes, isCurrent),
    blockers: keep(state.blockers, isCurrent),
    tried: keep(state.tried, isCurrent),
    decisions: keep(state.decisions, isCurrent),
    files: keep(state.files, isCurrent),
    issues: keep(state.issues, isCurrent),
    gates: keep(state.gates, isCurrent),
  };
}

type Point = NamedCheckpoint & { readonly state: State };

/**
 * The facts of a session that continues from an older checkpoint: they abandon later work, and restate what was known
 * then but has been overwritten, cut or abandoned since. Afterwards the work is known as it was at that checkpoint.
 */
export function abandonFacts(from: Point, newest: Point): Fact[] {
  const [before, now] = [newestByWriter(from.state), newestByWriter(newest.state)];
  const recorded = [...now]
    .map(([by, until]): Recorded => ({ by, after: before.get(by) ?? 0, until }))
    .filter(({ after, until }) => until > after);
  if (recorded.length === 0) return [];
  const work = {
    from: { id: from.id, seq: from.seq },
    upTo: { id: newest.id, seq: newest.seq },
    recorded,
  };
  const isCurrent = findCurrent(newest.state);
  const then = withoutAbandoned(from.state);
  const restated = listWorkEntries(then).filter(({ list, key, entry }) => {
    const known = lookUp<Entry<unknown>>(newest.state[list], key);
    const isSame = known !== undefined && compareStamps(known.stamp, entry.stamp) === 0;
    return !isSame || !isCurrent(known);
  });
  restated.sort((a, b) => compareStamps(a.entry.stamp, b.entry.stamp));
  return [{ kind: 'abandoned', ...work }, ...restated.map(({ restate }) => restate())];
}

/** The time of the newest entry of each clone. */
function newestByWriter({ clock: _, ...lists }: State): Map<WriterId, Millis> {
  const newest = new Map<WriterId, Millis>();
  for (const list of Object.values<List<unknown>>(lists))
    for (const {
      stamp: [at, by],
    } of Object.values(list))
      newest.set(by, Math.max(at, newest.get(by) ?? 0));
  return newest;
}

type WorkEntry = {
  readonly list: WorkList | 'current';
  readonly key: string;
  readonly entry: Entry<unknown>;
  readonly restate: () => Fact;
};

/** Each entry about the work, with the fact that restates it. */
function listWorkEntries(state: State): WorkEntry[] {
  const current = Object.entries(state.current)
    .filter(([key]) => currentOfWork.has(key))
    .map(([key, entry]): WorkEntry => {
      const value = entry.value as Extract<Fact, { kind: 'current_set' }>['value']; // the same JSON, to zod a mutable one
      return { list: 'current', key, entry, restate: () => ({ kind: 'current_set', key, value }) };
    });
  const of = <L extends WorkList>(list: L, restate: (key: string, value: Lists[L]) => Fact): WorkEntry[] =>
    // Indexing by a type parameter loses the type of the list's entries.
    Object.entries(state[list] as List<Lists[L]>).map(([key, entry]) => {
      return { list, key, entry, restate: () => restate(key, entry.value) };
    });
  return [
    ...current,
    ...of('notes', (id, { text }) => ({ kind: 'note', id, text })),
    ...of('tried', (id, { text, why }) => ({ kind: 'tried', id, text, ...(why !== undefined && { why }) })),
    ...of('blockers', (id, { text, resolvedAt }) => ({ kind: 'blocker', id, text, resolvedAt })),
    ...of('decisions', (id, { session: _, ...decision }) => ({ kind: 'decision', id, ...decision })),
    ...of('files', (path, { session: _, ...change }) => ({ kind: 'file', path, ...change })),
    ...of('issues', (id, { session: _, ...update }) => ({ kind: 'issue', id, ...update })),
    ...of('gates', (name, { session: _, ...result }) => ({ kind: 'gate', name, ...result })),
  ];
}
