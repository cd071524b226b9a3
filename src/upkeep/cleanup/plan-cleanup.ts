import type { SessionCondition } from '../../record/sessions.ts';
import type { RunHead } from '../../state/runs.ts';
import type { EpicId, Millis, Oid, SessionId } from '../../types.ts';
import { formatAge } from '../../units.ts';

export type EpicFacts = {
  readonly tip: Oid | null;
  /** Why its state is not reliable; null if it is. */
  readonly problem: string | null;
  readonly sessions: ReadonlyMap<SessionId, { readonly condition: SessionCondition; readonly at: Millis }>;
  /** Are all its sessions in the list? A long list drops the oldest. */
  readonly isComplete: boolean;
  /** The number of events that are in no checkpoint yet. */
  readonly pending: number;
  /** The session whose code last passed all gates. */
  readonly green: SessionId | null;
  /** The session whose code is the newest in the history. */
  readonly latest: SessionId | null;
  /** When it was completed; null if it is not, or is archived already. */
  readonly completedAt: Millis | null;
};

/** A file or a folder with its content. It is removed only if it has not changed since. */
export type FileFacts = {
  readonly path: string;
  readonly mark: string;
  readonly bytes: number;
  /** When it last changed. */
  readonly at: Millis;
};

type DatedRef = { readonly ref: string; readonly oid: Oid; readonly at: Millis };

/** Something that may be removed. */
export type CleanupItem =
  /** `at` is when the newest one was taken. */
  | ({ readonly kind: 'snapshots'; readonly epic: EpicId; readonly session: SessionId } & DatedRef)
  | { readonly kind: 'epic'; readonly epic: EpicId; readonly ref: string; readonly oid: Oid }
  /** A completed epic: it is archived, not removed. */
  | { readonly kind: 'completed'; readonly epic: EpicId }
  | ({ readonly kind: 'trash'; readonly epic: EpicId } & DatedRef)
  /** What a restore replaced in a worktree; null for the main one. */
  | ({
      readonly kind: 'undo';
      readonly worktree: string | null;
      readonly isGone: boolean;
      /** Is it what `orch restore --undo` would bring back? */
      readonly isNewest: boolean;
    } & DatedRef)
  | { readonly kind: 'trashed_journal'; readonly epic: EpicId | null; readonly file: FileFacts }
  | {
      readonly kind: 'journal';
      readonly session: SessionId;
      readonly size: number;
      readonly file: FileFacts;
    }
  /** The output of a session or a run. */
  | { readonly kind: 'log'; readonly sessions: readonly SessionId[]; readonly file: FileFacts }
  /** The files that a run keeps in the newest checkpoint: its plan, its results, and the artifacts it may still need. */
  | {
      readonly kind: 'run';
      readonly epic: EpicId;
      readonly run: string;
      readonly plan: string;
      readonly status: RunHead['status'];
      readonly files: number;
      /** Does the tree have the records of its tasks, which nothing needs any more? */
      readonly hasRecords: boolean;
      /** When it ended. */
      readonly at: Millis;
      /** When its status was last recorded: it is cleaned up only if that has not changed. */
      readonly seen: Millis;
    }
  | { readonly kind: 'damaged'; readonly file: FileFacts }
  /** Caches, briefs and half-written files: orch can make them again, or has no use for them. */
  | {
      readonly kind: 'leftover';
      readonly what: string;
      readonly session: SessionId | null;
      readonly file: FileFacts;
    };

export type CleanupFacts = {
  readonly epics: ReadonlyMap<EpicId, EpicFacts>;
  readonly items: readonly CleanupItem[];
};

/** How long finished work is kept; null means forever. */
export type Retention = {
  readonly failed: Millis | null;
  readonly snapshots: Millis | null;
  readonly trash: Millis | null;
  readonly archive: Millis | null;
};

/** Nothing that ended more recently is removed, whatever the settings say: the user may still be looking at it. */
export const retentionFloor: Millis = 86_400_000;

export type CleanupDecision = {
  readonly item: CleanupItem;
  readonly isRemoved: boolean;
  readonly why: string;
};

type Verdict = Omit<CleanupDecision, 'item'>;
type Ended = { readonly condition: SessionCondition | 'unknown'; readonly at: Millis };

const keep = (why: string): Verdict => ({ isRemoved: false, why });

/** Decides which items are removed and which are kept, and why. */
export function planCleanup(facts: CleanupFacts, retention: Retention, now: Millis): CleanupDecision[] {
  const inTrash = new Set<EpicId>();
  const newest = new Map<EpicId, Millis>();
  for (const item of facts.items) {
    if (item.kind === 'trash' && !decideAge('deleted', item.at, retention.trash, now).isRemoved)
      inTrash.add(item.epic);
    if (item.kind === 'epic' && decideEpic(facts.epics.get(item.epic), retention.failed, now).isRemoved)
      inTrash.add(item.epic);
    if (item.kind === 'snapshots') newest.set(item.epic, Math.max(item.at, newest.get(item.epic) ?? 0));
  }
  const context = { facts, inTrash, newest, retention, now };
  return facts.items.map((item) => ({ item, ...decide(item, context) }));
}

type PlanContext = {
  readonly facts: CleanupFacts;
  /** The epics that stay in the trash, or are moved there now. */
  readonly inTrash: ReadonlySet<EpicId>;
  /** When the newest snapshot of each epic was taken. */
  readonly newest: ReadonlyMap<EpicId, Millis>;
  readonly retention: Retention;
  readonly now: Millis;
};

function decide(item: CleanupItem, context: PlanContext): Verdict {
  const { facts, inTrash, retention, now } = context;
  switch (item.kind) {
    case 'snapshots':
      return decideSnapshots(item, context);
    case 'epic':
      return decideEpic(facts.epics.get(item.epic), retention.failed, now);
    case 'completed':
      return decideCompleted(facts.epics.get(item.epic), retention.archive, now);
    case 'trash':
      return decideAge('deleted', item.at, retention.trash, now);
    case 'undo':
      if (item.isNewest) return keep('the newest undo of its worktree');
      return decideAge(item.isGone ? 'its worktree is gone; made' : 'made', item.at, retention.trash, now);
    case 'trashed_journal':
      if (item.epic === null || inTrash.has(item.epic)) return keep('its epic is in the trash');
      return decideAge('last written', item.file.at, retention.trash, now);
    case 'journal':
      return decideAge('all in checkpoints; last written', item.file.at, 0, now);
    case 'log':
      return decideLog(item, context);
    case 'run':
      return decideRun(item, context);
    case 'damaged':
      return decideAge('set aside', item.file.at, retention.trash, now);
    case 'leftover': {
      const session = item.session && findSession(facts, item.session);
      if (session && isOpen(session.condition)) return keep(describeOpen(session.condition));
      return decideAge('last used', Math.max(item.file.at, session?.at ?? 0), 0, now);
    }
  }
}

/** Removes what is older than its retention and than the floor. */
function decideAge(verb: string, at: Millis, keptFor: Millis | null, now: Millis): Verdict {
  const age = Math.max(0, now - at);
  const since = `${verb} ${formatAge(age)} ago`.replace('now ago', 'just now');
  if (keptFor === null) return keep(`${since}; its retention is off`);
  if (age < retentionFloor) return keep(`${since}; nothing is removed within a day`);
  if (age < keptFor) return keep(`${since}; kept for ${formatAge(keptFor)}`);
  return { isRemoved: true, why: since };
}

function decideSnapshots(
  { epic, session, at }: CleanupItem & { kind: 'snapshots' },
  { facts, inTrash, newest, retention, now }: PlanContext,
): Verdict {
  const known = facts.epics.get(epic);
  if (known === undefined) {
    if (inTrash.has(epic)) return keep('its epic is in the trash');
    return decideAge('its epic is gone; taken', at, retention.snapshots, now);
  }
  if (known.problem !== null) return keep(known.problem);
  const ended = findEnd(known, session, at);
  if (isOpen(ended.condition)) return keep(describeOpen(ended.condition));
  // Two snapshots taken in the same second both count as the newest.
  if (at >= (newest.get(epic) ?? 0) || known.latest === session) return keep('the newest of its epic');
  if (known.green === session) return keep('the code that last passed all gates');
  return decideAge('its session ended', ended.at, retention.snapshots, now);
}

function findEnd(epic: EpicFacts, session: SessionId, lastSnapshot: Millis): Ended {
  const known = epic.sessions.get(session);
  if (known) return known;
  // A full list has dropped it, so many sessions came after it.
  return epic.isComplete
    ? { condition: 'unknown', at: lastSnapshot }
    : { condition: 'completed', at: lastSnapshot };
}

function decideEpic(epic: EpicFacts | undefined, keptFor: Millis | null, now: Millis): Verdict {
  if (epic === undefined) return keep('its epic is unknown');
  if (epic.problem !== null) return keep(epic.problem);
  const sessions = [...epic.sessions.values()];
  const other = sessions.find(({ condition }) => condition !== 'failed');
  if (other || sessions.length === 0 || !epic.isComplete) return keep('not all of its sessions failed');
  if (epic.green !== null) return keep('its code passed all gates once');
  if (epic.pending > 0) return keep('it has events that are not in a checkpoint yet');
  const end = Math.max(...sessions.map(({ at }) => at));
  const { isRemoved, why } = decideAge('its last session failed', end, keptFor, now);
  return { isRemoved, why: isRemoved ? `${why}: to the trash` : why };
}

function decideCompleted(epic: EpicFacts | undefined, keptFor: Millis | null, now: Millis): Verdict {
  if (epic === undefined || epic.completedAt === null) return keep('not completed');
  const open = [...epic.sessions.values()].find(({ condition }) => isOpen(condition));
  if (open) return keep(describeOpen(open.condition));
  return decideAge('completed', epic.completedAt, keptFor, now);
}

/** The state of a run is kept, so a failed run can still be resumed. An unfinished run keeps its files as well. */
function decideRun(
  { epic, status, at, hasRecords }: CleanupItem & { kind: 'run' },
  { facts, retention, now }: PlanContext,
): Verdict {
  const known = facts.epics.get(epic);
  if (known?.problem) return keep(known.problem);
  if (decideEpic(known, retention.failed, now).isRemoved) return keep('its epic is moved to the trash');
  switch (status) {
    case 'running':
    case 'resume_needed':
      return keep('its run is not finished');
    case 'failed':
    case 'blocked':
      return decideAge('its run failed', at, retention.failed, now);
    case 'succeeded':
      return decideAge('its run succeeded', at, hasRecords ? retention.archive : retention.snapshots, now);
  }
}

/** A failure is looked into soon or never; the log of any other session is kept as long as its code. */
function decideLog(
  { sessions, file }: CleanupItem & { kind: 'log' },
  { facts, retention, now }: PlanContext,
): Verdict {
  const known = sessions.map((session) => findSession(facts, session)).filter((one) => one !== null);
  const open = known.find(({ condition }) => isOpen(condition));
  if (open) return keep(describeOpen(open.condition));
  const problem = [...facts.epics.values()].find((epic) => epic.problem !== null)?.problem;
  if (known.length === 0 && problem) return keep(problem);
  const hasFailed = known.length > 0 && known.every(({ condition }) => condition === 'failed');
  const at = known.length > 0 ? Math.max(...known.map((one) => one.at)) : file.at;
  const verb = hasFailed ? 'its session failed' : known.length > 0 ? 'its session ended' : 'last written';
  return decideAge(verb, at, hasFailed ? retention.failed : retention.snapshots, now);
}

function findSession({ epics }: CleanupFacts, session: SessionId): Ended | null {
  for (const { sessions } of epics.values()) {
    const found = sessions.get(session);
    if (found) return found;
  }
  return null;
}

function isOpen(condition: Ended['condition']): boolean {
  return ['initializing', 'running', 'interrupted', 'elsewhere', 'unknown'].includes(condition);
}

function describeOpen(condition: Ended['condition']): string {
  switch (condition) {
    case 'interrupted':
      return 'its session was interrupted and not recovered yet';
    case 'elsewhere':
      return 'its session may be running elsewhere';
    case 'unknown':
      return 'its session is unknown';
    default:
      return 'its session is running';
  }
}
