import type { Fate } from '../session/fate.ts';
import type { EpicId, Millis, SessionId } from '../types.ts';
import { formatAge } from '../units.ts';
import type { CleanupFacts, EpicFacts, Thing } from './cleanup-types.ts';

/** How long what is over is kept; null is for ever. */
export type Retention = {
  readonly failed: Millis | null;
  readonly snapshots: Millis | null;
  readonly trash: Millis | null;
  readonly archive: Millis | null;
};

/** Nothing that ended less than this ago is removed, whatever the settings say: somebody may just be looking at it. */
export const retentionFloor: Millis = 86_400_000;

export type Judgement = { readonly thing: Thing; readonly isRemoved: boolean; readonly why: string };

type Verdict = Omit<Judgement, 'thing'>;
type Ended = { readonly fate: Fate | 'unknown'; readonly at: Millis };

const keep = (why: string): Verdict => ({ isRemoved: false, why });

/** Decides what goes and what stays, and why. */
export function planCleanup(facts: CleanupFacts, retention: Retention, now: Millis): Judgement[] {
  const inTrash = new Set<EpicId>();
  const newest = new Map<EpicId, Millis>();
  for (const thing of facts.things) {
    if (thing.kind === 'trash' && !judgeAge('deleted', thing.at, retention.trash, now).isRemoved)
      inTrash.add(thing.epic);
    if (thing.kind === 'epic' && judgeEpic(facts.epics.get(thing.epic), retention.failed, now).isRemoved)
      inTrash.add(thing.epic);
    if (thing.kind === 'snapshots') newest.set(thing.epic, Math.max(thing.at, newest.get(thing.epic) ?? 0));
  }
  const around = { facts, inTrash, newest, retention, now };
  return facts.things.map((thing) => ({ thing, ...judge(thing, around) }));
}

type Surroundings = {
  readonly facts: CleanupFacts;
  /** The epics that stay in the trash, or go there now. */
  readonly inTrash: ReadonlySet<EpicId>;
  /** When the newest snapshot of each epic was taken. */
  readonly newest: ReadonlyMap<EpicId, Millis>;
  readonly retention: Retention;
  readonly now: Millis;
};

function judge(thing: Thing, around: Surroundings): Verdict {
  const { facts, inTrash, retention, now } = around;
  switch (thing.kind) {
    case 'snapshots':
      return judgeSnapshots(thing, around);
    case 'epic':
      return judgeEpic(facts.epics.get(thing.epic), retention.failed, now);
    case 'completed':
      return judgeCompleted(facts.epics.get(thing.epic), retention.archive, now);
    case 'trash':
      return judgeAge('deleted', thing.at, retention.trash, now);
    case 'undo':
      if (thing.isNewest) return keep('the last restore of its worktree');
      return judgeAge(thing.isGone ? 'its worktree is gone, made' : 'made', thing.at, retention.trash, now);
    case 'trashed_journal':
      if (thing.epic === null || inTrash.has(thing.epic)) return keep('its epic is in the trash');
      return judgeAge('last written', thing.file.at, retention.trash, now);
    case 'journal':
      return judgeAge('all of it is in checkpoints, last written', thing.file.at, 0, now);
    case 'log':
      return judgeLog(thing, around);
    case 'run':
      return judgeRun(thing, around);
    case 'damaged':
      return judgeAge('set aside', thing.file.at, retention.trash, now);
    case 'leftover': {
      const session = thing.session && findSession(facts, thing.session);
      if (session && isOpen(session.fate)) return keep(describeOpen(session.fate));
      return judgeAge('last used', Math.max(thing.file.at, session?.at ?? 0), 0, now);
    }
  }
}

/** Past its retention, and past the floor. */
function judgeAge(verb: string, at: Millis, keptFor: Millis | null, now: Millis): Verdict {
  const age = Math.max(0, now - at);
  const since = `${verb} ${formatAge(age)} ago`.replace('now ago', 'just now');
  if (keptFor === null) return keep(`${since}; its retention is off`);
  if (age < retentionFloor) return keep(`${since}; nothing goes within a day`);
  if (age < keptFor) return keep(`${since}; kept for ${formatAge(keptFor)}`);
  return { isRemoved: true, why: since };
}

function judgeSnapshots(
  { epic, session, at }: Thing & { kind: 'snapshots' },
  { facts, inTrash, newest, retention, now }: Surroundings,
): Verdict {
  const known = facts.epics.get(epic);
  if (known === undefined) {
    if (inTrash.has(epic)) return keep('its epic is in the trash');
    return judgeAge('its epic is gone, taken', at, retention.snapshots, now);
  }
  if (known.problem !== null) return keep(known.problem);
  const ended = findEnd(known, session, at);
  if (isOpen(ended.fate)) return keep(describeOpen(ended.fate));
  // Of two that were taken in the same second, neither is older than the other.
  if (at >= (newest.get(epic) ?? 0) || known.latest === session) return keep('the newest of its epic');
  if (known.green === session) return keep('the code that last passed all gates');
  return judgeAge('its session ended', ended.at, retention.snapshots, now);
}

function findEnd(epic: EpicFacts, session: SessionId, lastSnapshot: Millis): Ended {
  const known = epic.sessions.get(session);
  if (known) return known;
  // A long list has dropped it: many sessions came after it.
  return epic.isComplete ? { fate: 'unknown', at: lastSnapshot } : { fate: 'completed', at: lastSnapshot };
}

function judgeEpic(epic: EpicFacts | undefined, keptFor: Millis | null, now: Millis): Verdict {
  if (epic === undefined) return keep('nothing is known of it');
  if (epic.problem !== null) return keep(epic.problem);
  const sessions = [...epic.sessions.values()];
  const other = sessions.find(({ fate }) => fate !== 'failed');
  if (other || sessions.length === 0 || !epic.isComplete) return keep('not all of its sessions failed');
  if (epic.green !== null) return keep('its code passed all gates once');
  if (epic.pending > 0) return keep('it has events that are in no checkpoint yet');
  const end = Math.max(...sessions.map(({ at }) => at));
  const { isRemoved, why } = judgeAge('its last session failed', end, keptFor, now);
  return { isRemoved, why: isRemoved ? `${why}: to the trash` : why };
}

function judgeCompleted(epic: EpicFacts | undefined, keptFor: Millis | null, now: Millis): Verdict {
  if (epic === undefined || epic.completedAt === null) return keep('nothing is known of its end');
  const open = [...epic.sessions.values()].find(({ fate }) => isOpen(fate));
  if (open) return keep(describeOpen(open.fate));
  return judgeAge('completed', epic.completedAt, keptFor, now);
}

/** Its state stays, so that one that failed can still be gone on with; what only may go on keeps its files. */
function judgeRun(
  { epic, status, at }: Thing & { kind: 'run' },
  { facts, retention, now }: Surroundings,
): Verdict {
  const known = facts.epics.get(epic);
  if (known?.problem) return keep(known.problem);
  if (judgeEpic(known, retention.failed, now).isRemoved) return keep('its epic goes to the trash');
  switch (status) {
    case 'running':
    case 'resume_needed':
      return keep('its run is not finished');
    case 'failed':
    case 'blocked':
      return judgeAge('its run failed', at, retention.failed, now);
    case 'succeeded':
      return judgeAge('its run succeeded', at, retention.snapshots, now);
  }
}

/** What failed is looked into soon or never; the log of any other session is kept as long as its code. */
function judgeLog(
  { sessions, file }: Thing & { kind: 'log' },
  { facts, retention, now }: Surroundings,
): Verdict {
  const known = sessions.map((session) => findSession(facts, session)).filter((one) => one !== null);
  const open = known.find(({ fate }) => isOpen(fate));
  if (open) return keep(describeOpen(open.fate));
  const problem = [...facts.epics.values()].find((epic) => epic.problem !== null)?.problem;
  if (known.length === 0 && problem) return keep(problem);
  const hasFailed = known.length > 0 && known.every(({ fate }) => fate === 'failed');
  const at = known.length > 0 ? Math.max(...known.map((one) => one.at)) : file.at;
  const verb = hasFailed ? 'its session failed' : known.length > 0 ? 'its session ended' : 'last written';
  return judgeAge(verb, at, hasFailed ? retention.failed : retention.snapshots, now);
}

function findSession({ epics }: CleanupFacts, session: SessionId): Ended | null {
  for (const { sessions } of epics.values()) {
    const found = sessions.get(session);
    if (found) return found;
  }
  return null;
}

function isOpen(fate: Ended['fate']): boolean {
  return ['initializing', 'running', 'interrupted', 'elsewhere', 'unknown'].includes(fate);
}

function describeOpen(fate: Ended['fate']): string {
  switch (fate) {
    case 'interrupted':
      return 'its session was interrupted, and is still to be recovered';
    case 'elsewhere':
      return 'its session may run elsewhere';
    case 'unknown':
      return 'nothing is known of its session';
    default:
      return 'its session runs';
  }
}
