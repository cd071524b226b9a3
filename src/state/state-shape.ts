import * as z from 'zod/mini';
import { amount, ledgerRow } from '../cost/ledger-shape.ts';
import { isCheckpointId, isOid, isRunId, isSessionId, isWriterId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { type CheckpointId, type Oid, type SessionId, statuses, type WriterId } from '../types.ts';
import { latestTime, maxSessionNumber } from '../units.ts';
import type { State } from './lists.ts';

/**
 * What is wrong with a value; null if nothing is. Zod compares a number's bounds even if the value is not a number, and
 * with `{"valueOf": 1}` that throws.
 */
export function findShapeProblem(
  shape: z.ZodMiniType,
  value: unknown,
): { path: string; message: string } | null {
  try {
    const checked = z.safeParse(shape, value);
    if (checked.success) return null;
    const { path, message } = checked.error.issues[0] ?? { path: [], message: 'wrong shape' };
    return { path: path.join('.'), message };
  } catch {
    return { path: '', message: 'it holds a value that cannot be compared' };
  }
}

export const text = z.string();
export const textOrNull = z.nullable(text);
export const number = z.number();
export const numberOrNull = z.nullable(number);
/** Milliseconds since 1970. */
export const time = z.number().check(z.nonnegative(), z.maximum(latestTime));
export const timeOrNull = z.nullable(time);
/** Sessions count from 1. A number too large to count on from is wrong or forged. */
export const sessionNumber = z.int().check(z.nonnegative(), z.maximum(maxSessionNumber));

/** The pattern is for JSON Schemas; `isId` decides. */
export const idOf = <Id extends string>(isId: (text: string) => boolean, pattern: RegExp) =>
  z
    .custom<Id>((value) => typeof value === 'string' && isId(value))
    .register(z.globalRegistry, { type: 'string', pattern: pattern.source });
export const sessionId = idOf<SessionId>(isSessionId, /^sess-[a-z0-9]{4,32}$/);
export const writerId = idOf<WriterId>(isWriterId, /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
export const checkpointId = idOf<CheckpointId>(isCheckpointId, /^ckpt-[0-9]{8,15}-[a-z0-9]{4,64}$/);
export const oid = idOf<Oid>(isOid, /^([0-9a-f]{40}|[0-9a-f]{64})$/);

/*
 * What a stored state must look like. The types are inferred from these shapes; the shapes themselves are checked only
 * when a document comes from outside. They have their own file because loading zod takes longer than the check.
 */

export const session = z.object({
  number: sessionNumber,
  status: z.enum(statuses),
  writer: writerId,
  agent: textOrNull,
  parentSessionId: z.nullable(sessionId),
  startedAt: time,
  endedAt: timeOrNull,
  /** Why it ended, for people. */
  reason: textOrNull,
  /** When it last recorded anything. */
  seenAt: time,
  /** How many facts it recorded besides its own start and end: 0 means that nothing happened in it. */
  worked: amount,
  checkpoints: amount,
  latestCheckpointId: z.nullable(checkpointId),
  /** No agent ran in it: it holds what single calls recorded, one session per day. */
  forCalls: z.optional(z.literal(true)),
  /** The name of the machine it ran on. */
  host: z.optional(text),
  /** Its process died, and a later session recovered what it had recorded. */
  recovered: z.optional(z.literal(true)),
});

/** A note or a blocker. */
export const note = z.object({
  text,
  session: sessionId,
  /** When a blocker was resolved; null while it is open. */
  resolvedAt: timeOrNull,
});

/** What the user said: a request, a reply, or a side question. */
export const request = z.object({
  text,
  kind: z.enum(['request', 'reply', 'question']),
  /** What the agent had asked, if this is the answer. */
  to: textOrNull,
  session: sessionId,
});

/** What an agent said at the end of its last turn. */
export const message = z.object({
  text,
  /** The agent's own id for the conversation. */
  conversation: textOrNull,
  session: sessionId,
});

export const commit = z.object({ subject: text, session: sessionId });

export const decision = z.object({
  text,
  rationale: textOrNull,
  session: sessionId,
  /** Missing if the agent, or a person recording by hand, decided it. */
  by: z.optional(z.literal('user')),
});

/** Something that was tried and failed, and why; the first documents have no `why`. */
export const attempt = z.extend(note, { why: z.optional(textOrNull) });

/** A question an agent asks the user; `waits`: it needs the answer before it goes on. */
export const question = z.extend(note, { answer: textOrNull, waits: z.optional(z.literal(true)) });

export const fileChange = z.object({
  change: z.enum(['added', 'modified', 'deleted', 'read']),
  added: numberOrNull,
  removed: numberOrNull,
  /** 1 is read first; null if not given. */
  priority: numberOrNull,
  why: textOrNull,
  session: sessionId,
});

export const issueUpdate = z.object({
  title: textOrNull,
  status: z.enum(['open', 'in_progress', 'done', 'deferred']),
  severity: z.nullable(z.enum(['critical', 'high', 'medium', 'low'])),
  location: textOrNull,
  session: sessionId,
});

export const gateResult = z.object({
  status: z.enum(['passed', 'failed', 'timed_out', 'skipped']),
  durationMs: number,
  /** The tree it ran on: the result holds for no other. */
  tree: z.nullable(oid),
  /** The end of its output. */
  output: text,
  /** The tests that failed, if it ran tests that name them. */
  failing: z.optional(z.array(z.object({ name: text, why: textOrNull }))),
  /** It already failed in the same way before this session. */
  knownBefore: z.boolean(),
  session: sessionId,
});

export const shardDepth = z.int().check(z.minimum(0), z.maximum(3));

/** How far a task is that an agent does, and where. */
export const workerRecord = z.object({
  /** Grows with every worker; what has an old one is not merged. */
  lease: amount,
  /** `left_out`: cancelled, and what needs it goes on without. */
  step: z.enum(['working', 'needs_input', 'checking', 'merging', 'held', 'cancelled', 'left_out']),
  /** The epic that records the task. */
  epic: text,
  agent: text,
  model: textOrNull,
  /** The commit the task began from. */
  base: text,
  /** What the worker did, once it is committed. */
  commit: textOrNull,
  /** The commit on the merged branch that has it. */
  merged: textOrNull,
  costMicros: amount,
  /** How much of it went into attempts that were not accepted. */
  rejectedMicros: z.optional(amount),
  /** Tests that were written first and seen to fail: in which commit, by which gates, and in which session. */
  tests: z.optional(z.object({ commit: text, gates: z.array(text), session: z.optional(text) })),
  /** How much of it went into reviews. */
  reviewMicros: z.optional(amount),
  /** The newest commit that reviewers have accepted. */
  reviewed: z.optional(text),
  /** The session of its newest worker. */
  session: z.optional(text),
  /** The newest session whose work was not accepted: what follows is another attempt, with a worker of its own. */
  refused: z.optional(text),
  /** What a person asked for: another model, or so many attempts in all. */
  wanted: z.optional(z.object({ model: z.optional(text), attempts: z.optional(amount) })),
  /** As the plan has it. */
  complexity: z.optional(text),
  /** The models its attempts were made with, oldest first, and why; of many, the newest. */
  tries: z.optional(
    z.array(
      z.object({
        attempt: amount,
        model: textOrNull,
        why: text,
        /** What the task had cost before. */
        before: amount,
        /** Why it was not accepted; missing for one that was, or is not over. */
        refused: z.optional(text),
        /** The gates that were red on its work, with the tests that failed, as far as they are named. */
        red: z.optional(z.array(z.object({ gate: text, failing: z.array(text) }))),
        /** The files it conflicted in. */
        conflicts: z.optional(z.array(text)),
      }),
    ),
  ),
  /** When its first worker was started. */
  since: z.optional(time),
});

export const taskRecord = z.object({
  /**
   * `pending`: it had succeeded, and runs again; or it is repeated, and waits for its next attempt. `undoing`, `undone`:
   * it was taken back.
   */
  status: z.enum(['pending', 'running', 'succeeded', 'failed', 'skipped', 'undoing', 'undone']),
  /** For a group, its rounds. */
  attempts: amount,
  /** Digest of the task as written, to notice changes. */
  digest: text,
  artifacts: z.array(z.object({ path: text, sha256: text, bytes: amount })),
  /** The exit status of its command, if it ended with one. */
  exit: z.optional(amount),
  /** The values it set. */
  values: z.optional(z.record(text, text)),
  /** The round of its group, from the second on. */
  round: z.optional(amount),
  /** Why it was skipped, repeated or not undone, in words. */
  why: z.optional(text),
  /** Sent with every attempt to undo it. */
  undoKey: z.optional(text),
  /** For a task that an agent does. */
  worker: z.optional(workerRecord),
  at: time,
});

export const effectRecord = z.object({
  task: text,
  /** Sent with every attempt, and the same in every replay. */
  key: text,
  status: z.enum(['planned', 'acknowledged', 'blocked', 'undoing', 'undone']),
  /** Why it is blocked, or why it is still not done after an attempt. */
  reason: textOrNull,
  /** Digest of the effect as written, to notice changes. */
  digest: text,
  /** What it does, for people: bounded and redacted. */
  what: text,
  /** What it sends, as planned: variables by name, redacted; missing if too long. */
  content: z.optional(text),
  /** Where it may have been tried: nowhere, in this clone, or in another; missing in the first documents. */
  tried: z.optional(z.enum(['no', 'here', 'elsewhere'])),
  /** How often it was undone before. */
  turn: z.optional(amount),
  at: time,
});

export const runHead = z.object({
  plan: text,
  digest: text,
  status: z.enum(['running', 'succeeded', 'failed', 'resume_needed', 'blocked']),
  session: sessionId,
  /** The run this one resumes (`--resume-step`). */
  from: textOrNull,
  /** Its plan's path from the top of the working tree; missing if no file was named. */
  file: z.optional(text),
  startedAt: time,
  endedAt: timeOrNull,
  /** How far its rollback is; missing if there was none. */
  rollback: z.optional(z.enum(['running', 'stopped', 'done'])),
  /** How many tasks its plan has; missing in the first documents. */
  tasks: z.optional(amount),
  /** How deep the tree of its shards is; missing if all its tasks and effects are in the document. */
  shards: z.optional(shardDepth),
  at: time,
});

export const runPart = z.object({
  head: z.nullable(runHead),
  tasks: z.record(text, taskRecord),
  effects: z.record(text, effectRecord),
});

/** A checkpoint by its id and number. */
export const namedCheckpoint = z.object({ id: checkpointId, seq: amount });

/** Code that a restore brought into the working tree. */
export const restoredCode = z.object({
  /** The checkpoint with this code; null if an undo brought back code that no known checkpoint holds. */
  checkpoint: z.nullable(namedCheckpoint),
  /** The checkpoint saved just before: it holds the code that was replaced. */
  leftBehind: namedCheckpoint,
  /** How many paths were named; null for all files. */
  paths: z.nullable(amount),
  /** Did it undo an earlier restore? */
  isUndo: z.boolean(),
  session: sessionId,
  at: time,
});

/** Work that a session left behind by continuing from an older checkpoint. */
export const abandonedWork = z.object({
  /** The checkpoint it continues from. */
  from: namedCheckpoint,
  /** The newest checkpoint it leaves behind. */
  upTo: namedCheckpoint,
  /** For each clone, what it had recorded by the first checkpoint and by the second: the work between is left behind. */
  recorded: z.array(z.object({ by: writerId, after: time, until: time })),
});

const list = (value: z.ZodMiniType, key: (text: string) => boolean = () => true) =>
  z.record(text.check(z.refine(key)), z.object({ value, stamp: z.tuple([time, writerId, amount]) }));

/** `<run>@<session>`: both are file names. */
function isRunKey(key: string): boolean {
  const [run = '', session = '', ...rest] = key.split('@');
  return isRunId(run) && isSessionId(session) && rest.length === 0;
}

/** A budget that is not an amount would read as no budget. */
const isCurrent = (current: { readonly [key: string]: { readonly value: unknown } }) => {
  const budget = lookUp(current, 'budget')?.value ?? null;
  return budget === null || findShapeProblem(amount, budget) === null;
};

/** What a stored state must look like. Lists of a later orch are kept and joined. */
export const stateShape = z.catchall(
  z.object({
    clock: time,
    current: list(z.json()).check(z.refine(isCurrent, 'the budget is no amount')),
    sessions: list(session, isSessionId),
    // The first documents have none of these four.
    requests: z.optional(list(request)),
    goals: z.optional(list(request)),
    messages: z.optional(list(message, isSessionId)),
    commits: z.optional(list(commit, isOid)),
    notes: list(note),
    blockers: list(note),
    tried: list(attempt),
    // Missing in documents that are older than questions.
    questions: z.optional(list(question)),
    decisions: list(decision),
    files: list(fileChange),
    issues: list(issueUpdate),
    gates: list(gateResult),
    runs: list(runPart, isRunKey),
    ledger: list(ledgerRow, isWriterId),
  } satisfies { [K in keyof State]: z.ZodMiniType }),
  list(z.json()),
);
