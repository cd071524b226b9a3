import type { infer as Infer } from 'zod/mini';
import { amount, checkpoint, listOf, orNull, session, time, withFields, writer, yesOrNo } from '../checks.ts';
import { lookUp } from '../keyed.ts';
import type { Millis, SessionId, WriterId } from '../types.ts';
import type { Fact } from './facts.ts';
import { compareStamps } from './join.ts';
import type { Entry, List, ListName, Lists, Stamp, State } from './lists.ts';
import type { abandonedWork, namedCheckpoint, restoredCode } from './shape.ts';

/*
 * Code and work that were left behind. A restore brings back older code; a session that continues from an older
 * checkpoint abandons what was recorded after it. Nothing is deleted: it stays in the history and in the state, and
 * whoever tells the next session what to do leaves it out (`withoutAbandoned`). Pure.
 */

export type NamedCheckpoint = Infer<typeof namedCheckpoint>;
export type RestoredCode = Infer<typeof restoredCode>;
export type AbandonedWork = Infer<typeof abandonedWork>;

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

/** Where `current` holds what a session left behind: each its own, so that two clones do not hide each other's. */
export function abandonedKey(session: SessionId): string {
  return `${prefix}${session}`;
}

/** All that was abandoned in an epic, in the order it happened. */
export function listAbandoned({ current }: Pick<State, 'current'>): AbandonedWork[] {
  const entries = Object.entries(current).filter(([key]) => key.startsWith(prefix));
  entries.sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
  return entries.flatMap(([, { value }]) => (isAbandonedWork(value) ? [value] : []));
}

/** Was a checkpoint left behind? Not if a session went back to it, or to a later one of its line, since. */
export function isLeftBehind(abandoned: readonly AbandonedWork[], seq: number): boolean {
  let line = Number.POSITIVE_INFINITY;
  for (const { from, upTo } of abandoned.toReversed()) {
    if (upTo.seq >= line) continue; // it happened on a line that was itself left behind
    if (seq > upTo.seq) return false;
    if (seq > from.seq) return true;
    line = from.seq;
  }
  return false;
}

/** Tells which entries still count: those that were not abandoned. */
export function findCurrent(state: Pick<State, 'current'>): (entry: { readonly stamp: Stamp }) => boolean {
  const recorded = listAbandoned(state).flatMap((work) => work.recorded);
  return ({ stamp: [at, by] }) =>
    !recorded.some((range) => range.by === by && at > range.after && at <= range.until);
}

/** What is known of the work itself. Money, runs and settings are true whichever checkpoint a session continues from. */
const ofWork = [
  'notes',
  'blockers',
  'tried',
  'decisions',
  'files',
  'issues',
  'gates',
] as const satisfies readonly ListName[];
type WorkList = (typeof ofWork)[number];

const currentOfWork: ReadonlySet<string> = new Set([
  'currentTask',
  'testState',
  'lastGreen',
  'asked',
  'approvedPlan',
  'lastMessage',
  'compactSummary',
]);

/** The state without the work that was abandoned: what a brief is made from. */
export function withoutAbandoned(state: State): State {
  if (listAbandoned(state).length === 0) return state;
  const isCurrent = findCurrent(state);
  const keep = <T>(list: List<T>, isKept: (entry: Entry<T>, key: string) => boolean): List<T> =>
    Object.fromEntries(Object.entries(list).filter(([key, entry]) => isKept(entry, key)));
  return {
    ...state,
    current: keep(state.current, (entry, key) => !currentOfWork.has(key) || isCurrent(entry)),
    // A session belongs to the time it began in: the one that is continued recorded its end later.
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
 * What a session says when it continues from an older checkpoint: that the rest is left behind, and again what was
 * known then and was overwritten, cut or abandoned since. Afterwards the work is known as it was at that checkpoint.
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
  const restated = listEntries(then).filter(({ list, key, entry }) => {
    const known = lookUp<Entry<unknown>>(newest.state[list], key);
    const isSame = known !== undefined && compareStamps(known.stamp, entry.stamp) === 0;
    return !isSame || !isCurrent(known);
  });
  restated.sort((a, b) => compareStamps(a.entry.stamp, b.entry.stamp));
  return [{ kind: 'abandoned', ...work }, ...restated.map(({ say }) => say())];
}

/** The time of the last thing each clone had recorded. */
function newestByWriter({ clock: _, ...lists }: State): Map<WriterId, Millis> {
  const newest = new Map<WriterId, Millis>();
  for (const list of Object.values<List<unknown>>(lists))
    for (const {
      stamp: [at, by],
    } of Object.values(list))
      newest.set(by, Math.max(at, newest.get(by) ?? 0));
  return newest;
}

type Said = {
  readonly list: WorkList | 'current';
  readonly key: string;
  readonly entry: Entry<unknown>;
  readonly say: () => Fact;
};

/** Each entry of the work, and the fact that says it again. */
function listEntries(state: State): Said[] {
  const current = Object.entries(state.current)
    .filter(([key]) => currentOfWork.has(key))
    .map(([key, entry]): Said => {
      const value = entry.value as Extract<Fact, { kind: 'current_set' }>['value']; // the same JSON, to zod a mutable one
      return { list: 'current', key, entry, say: () => ({ kind: 'current_set', key, value }) };
    });
  const of = <L extends WorkList>(list: L, say: (key: string, value: Lists[L]) => Fact): Said[] =>
    // A list's entries are of its own type, which an index by a type parameter does not keep.
    Object.entries(state[list] as List<Lists[L]>).map(([key, entry]) => {
      return { list, key, entry, say: () => say(key, entry.value) };
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
