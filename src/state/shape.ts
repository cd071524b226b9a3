/*
 * What a stored state must look like. The types are what the shapes say; the shapes are checked where a document comes
 * in from outside. Only that needs zod, which is why they stand apart: loading it costs more than the check.
 */
import * as z from 'zod/mini';
import { amount, ledgerRow } from '../cost/shape.ts';
import { isOid, isRunId, isSessionId, isWriterId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { statuses } from '../types.ts';
import type { State } from './lists.ts';
import {
  checkpointId,
  findShapeProblem,
  number,
  numberOrNull,
  oid,
  sessionId,
  sessionNumber,
  text,
  textOrNull,
  time,
  timeOrNull,
  writerId,
} from './shape-parts.ts';

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
  /** The machine it ran on, by its own name. */
  host: z.optional(text),
  /** Its process died, and what it had recorded was brought in later. */
  recovered: z.optional(z.literal(true)),
});

/** A note or a blocker. */
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

/** Something that was tried and failed, and why; documents of the first orch do not say why. */
export const attempt = z.extend(note, { why: z.optional(textOrNull) });

/** What an agent asks the user, without waiting for the answer. */
export const question = z.extend(note, { answer: textOrNull });

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
  /** The tests that failed, where it ran some that name them. */
  failing: z.optional(z.array(z.object({ name: text, why: textOrNull }))),
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
  /** What it sends, as it was planned: variables by their names, without what must not be kept; left out where too long. */
  content: z.optional(text),
  /** Where it may have been tried: nowhere, in this clone, or in another; documents of the first orch do not say. */
  tried: z.optional(z.enum(['no', 'here', 'elsewhere'])),
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

/** A checkpoint, by its id and the number people call it by. */
export const namedCheckpoint = z.object({ id: checkpointId, seq: amount });

/** Code that was brought back into the working tree. */
export const restoredCode = z.object({
  /** The checkpoint whose code it is; null where an undo brought back what no checkpoint is known to hold. */
  checkpoint: z.nullable(namedCheckpoint),
  /** The checkpoint that was saved just before: it holds the code that was left behind. */
  leftBehind: namedCheckpoint,
  /** How many paths were named; null where all files were meant. */
  paths: z.nullable(amount),
  /** Is it the undo of an earlier restore? */
  isUndo: z.boolean(),
  session: sessionId,
  at: time,
});

/** Work that a session left behind, because it continues from an older checkpoint. */
export const abandonedWork = z.object({
  /** The checkpoint that it continues from. */
  from: namedCheckpoint,
  /** The newest checkpoint that is left behind. */
  upTo: namedCheckpoint,
  /** What each clone had recorded by the first of them, and by the second: what came between is left behind. */
  recorded: z.array(z.object({ by: writerId, after: time, until: time })),
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
  return budget === null || findShapeProblem(amount, budget) === null;
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
    tried: list(attempt),
    // Documents from before there were questions do not have the list.
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
