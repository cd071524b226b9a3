/*
 * What a stored state must look like. The types are what the shapes say; the shapes are checked where a document comes
 * in from outside. Only that needs zod, which is why they stand apart: loading it costs more than the check.
 */
import * as z from 'zod/mini';
import { amount, ledgerRow } from '../cost/shape.ts';
import { isCheckpointId, isOid, isRunId, isSessionId, isWriterId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { type CheckpointId, type Oid, type SessionId, statuses, type WriterId } from '../types.ts';
import { latestTime, maxSessionNumber } from '../units.ts';
import type { State } from './lists.ts';

const text = z.string();
const textOrNull = z.nullable(text);
const number = z.number();
const numberOrNull = z.nullable(number);
/** Milliseconds since 1970. */
export const time = z.number().check(z.nonnegative(), z.maximum(latestTime));
const timeOrNull = z.nullable(time);
/** Sessions are counted from 1; a number that could not be counted on from is wrong, or made up. */
export const sessionNumber = z.int().check(z.nonnegative(), z.maximum(maxSessionNumber));

const idOf = <Id extends string>(isId: (text: string) => boolean) =>
  z.custom<Id>((value) => typeof value === 'string' && isId(value));
export const sessionId = idOf<SessionId>(isSessionId);
export const writerId = idOf<WriterId>(isWriterId);
export const checkpointId = idOf<CheckpointId>(isCheckpointId);
export const oid = idOf<Oid>(isOid);

export const session = z.object({
  number: sessionNumber,
  status: z.enum(statuses),
  writer: writerId,
  agent: textOrNull,
  parentSessionId: z.nullable(sessionId),
  startedAt: time,
  endedAt: timeOrNull,
  /** Why it ended, in a person's words. */
  reason: textOrNull,
  /** When it last recorded anything. */
  seenAt: time,
  /** How much it recorded besides its own coming and going: 0 is a session in which nothing happened. */
  worked: amount,
  checkpoints: amount,
  latestCheckpointId: z.nullable(checkpointId),
  /** Nothing ran in it: it holds what single calls recorded, all those of a day. */
  forCalls: z.optional(z.literal(true)),
});

/** A note, a blocker, or something that was tried and failed. */
export const note = z.object({
  text,
  session: sessionId,
  /** When a blocker was resolved; null while it stands. */
  resolvedAt: timeOrNull,
});

/** What the user said: something to do, an answer, or a question by the way. */
export const request = z.object({
  text,
  kind: z.enum(['request', 'reply', 'question']),
  /** What the agent had asked, where this answers it. */
  to: textOrNull,
  session: sessionId,
});

/** What an agent said at the end of its last turn. */
export const message = z.object({
  text,
  /** The agent's own name for the conversation. */
  conversation: textOrNull,
  session: sessionId,
});

export const commit = z.object({ subject: text, session: sessionId });

export const decision = z.object({
  text,
  rationale: textOrNull,
  session: sessionId,
  /** Left out where the agent, or whoever records by hand, decided it. */
  by: z.optional(z.literal('user')),
});

export const fileChange = z.object({
  change: z.enum(['added', 'modified', 'deleted', 'read']),
  added: numberOrNull,
  removed: numberOrNull,
  /** 1 is read first; null where nobody said. */
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
  /** The tree it ran on: the result is true of no other. */
  tree: z.nullable(oid),
  /** The end of what it printed. */
  output: text,
  /** It failed in the same way before this session began. */
  knownBefore: z.boolean(),
  session: sessionId,
});

export const taskRecord = z.object({
  status: z.enum(['running', 'succeeded', 'failed', 'skipped']),
  attempts: amount,
  /** Digest of the task as it was written, so that a changed one is noticed. */
  digest: text,
  artifacts: z.array(z.object({ path: text, sha256: text, bytes: amount })),
  at: time,
});

export const effectRecord = z.object({
  task: text,
  /** Sent with every attempt, the same in every replay. */
  key: text,
  status: z.enum(['planned', 'acknowledged', 'blocked']),
  /** Why it is blocked, or why it is not done yet although it was tried. */
  reason: textOrNull,
  /** Digest of the effect as it was written, so that a changed one is noticed. */
  digest: text,
  /** What it does, for people: bounded, without what must not be kept. */
  what: text,
  at: time,
});

export const runHead = z.object({
  plan: text,
  digest: text,
  status: z.enum(['running', 'succeeded', 'failed', 'resume_needed', 'blocked']),
  session: sessionId,
  /** The run this one goes on from (`--resume-step`). */
  from: textOrNull,
  /** Where its plan is, from the top of the working tree; left out where no file was named. */
  file: z.optional(text),
  startedAt: time,
  endedAt: timeOrNull,
  at: time,
});

export const runPart = z.object({
  head: z.nullable(runHead),
  tasks: z.record(text, taskRecord),
  effects: z.record(text, effectRecord),
});

const list = (value: z.ZodMiniType, key: (text: string) => boolean = () => true) =>
  z.record(text.check(z.refine(key)), z.object({ value, stamp: z.tuple([time, writerId, amount]) }));

/** `<run>@<session>`: both are names of files. */
function isRunKey(key: string): boolean {
  const [run = '', session = '', ...rest] = key.split('@');
  return isRunId(run) && isSessionId(session) && rest.length === 0;
}

/** A budget that is no amount of money would read as none. */
const isCurrent = (current: { readonly [key: string]: { readonly value: unknown } }) => {
  const budget = lookUp(current, 'budget')?.value ?? null;
  return budget === null || z.safeParse(amount, budget).success;
};

/** What a stored state must look like. It may hold lists of a later orch, which are carried along and joined. */
export const stateShape = z.catchall(
  z.object({
    clock: time,
    current: list(z.json()).check(z.refine(isCurrent, 'the budget is no amount')),
    sessions: list(session, isSessionId),
    // Documents of the first orch have none of these four.
    requests: z.optional(list(request)),
    goals: z.optional(list(request)),
    messages: z.optional(list(message, isSessionId)),
    commits: z.optional(list(commit, isOid)),
    notes: list(note),
    blockers: list(note),
    tried: list(note),
    decisions: list(decision),
    files: list(fileChange),
    issues: list(issueUpdate),
    gates: list(gateResult),
    runs: list(runPart, isRunKey),
    ledger: list(ledgerRow, isWriterId),
  } satisfies { [K in keyof State]: z.ZodMiniType }),
  list(z.json()),
);
