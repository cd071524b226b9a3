/*
 * What a stored state must look like. The types are what the shapes say; the shapes are checked where a document comes
 * in from outside. Only that needs zod, which is why they stand apart: loading it costs more than the check.
 */
import * as z from 'zod/mini';
import { ledgerRow } from '../cost/shape.ts';
import { type CheckpointId, type Oid, type SessionId, statuses, type WriterId } from '../types.ts';
import type { State } from './lists.ts';

const text = z.string();
const textOrNull = z.nullable(text);
const number = z.number();
const numberOrNull = z.nullable(number);
const id = <Id extends string>() => z.custom<Id>((value) => typeof value === 'string');

export const session = z.object({
  number,
  status: z.enum(statuses),
  writer: id<WriterId>(),
  agent: textOrNull,
  parentSessionId: z.nullable(id<SessionId>()),
  startedAt: number,
  endedAt: numberOrNull,
  /** Why it ended, in a person's words. */
  reason: textOrNull,
  /** When it last recorded anything. */
  seenAt: number,
  /** How much it recorded besides its own coming and going: 0 is a session in which nothing happened. */
  worked: number,
  checkpoints: number,
  latestCheckpointId: z.nullable(id<CheckpointId>()),
});

/** A note, a blocker, or something that was tried and failed. */
export const note = z.object({
  text,
  session: id<SessionId>(),
  /** When a blocker was resolved; null while it stands. */
  resolvedAt: numberOrNull,
});

export const decision = z.object({ text, rationale: textOrNull, session: id<SessionId>() });

export const fileChange = z.object({
  change: z.enum(['added', 'modified', 'deleted', 'read']),
  added: numberOrNull,
  removed: numberOrNull,
  /** 1 is read first; null where nobody said. */
  priority: numberOrNull,
  why: textOrNull,
  session: id<SessionId>(),
});

export const issueUpdate = z.object({
  title: textOrNull,
  status: z.enum(['open', 'in_progress', 'done', 'deferred']),
  severity: z.nullable(z.enum(['critical', 'high', 'medium', 'low'])),
  location: textOrNull,
  session: id<SessionId>(),
});

export const gateResult = z.object({
  status: z.enum(['passed', 'failed', 'timed_out', 'skipped']),
  durationMs: number,
  /** The tree it ran on: the result is true of no other. */
  tree: z.nullable(id<Oid>()),
  /** The end of what it printed. */
  output: text,
  /** It failed in the same way before this session began. */
  knownBefore: z.boolean(),
  session: id<SessionId>(),
});

export const taskRecord = z.object({
  status: z.enum(['running', 'succeeded', 'failed', 'skipped']),
  attempts: number,
  /** Digest of the task as it was written, so that a changed one is noticed. */
  digest: text,
  artifacts: z.array(z.object({ path: text, sha256: text, bytes: number })),
  at: number,
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
  at: number,
});

export const runHead = z.object({
  plan: text,
  digest: text,
  status: z.enum(['running', 'succeeded', 'failed', 'resume_needed', 'blocked']),
  session: id<SessionId>(),
  /** The run this one goes on from (`--resume-step`). */
  from: textOrNull,
  /** Where its plan is, from the top of the working tree; left out where no file was named. */
  file: z.optional(text),
  startedAt: number,
  endedAt: numberOrNull,
  at: number,
});

export const runPart = z.object({
  head: z.nullable(runHead),
  tasks: z.record(text, taskRecord),
  effects: z.record(text, effectRecord),
});

const list = (value: z.ZodMiniType) =>
  z.record(text, z.object({ value, stamp: z.tuple([number, id<WriterId>(), number]) }));

/** What a stored state must look like; what it holds beyond that is left alone. */
export const stateShape = z.object({
  clock: number,
  current: list(z.json()),
  sessions: list(session),
  notes: list(note),
  blockers: list(note),
  tried: list(note),
  decisions: list(decision),
  files: list(fileChange),
  issues: list(issueUpdate),
  gates: list(gateResult),
  runs: list(runPart),
  ledger: list(ledgerRow),
} satisfies { [K in keyof State]: z.ZodMiniType });
