import * as z from 'zod/mini';
import { type LedgerRow, ledgerRow } from '../cost/ledger.ts';
import type { Keyed } from '../keyed.ts';
import {
  type CheckpointId,
  type Json,
  type Millis,
  type Oid,
  type SessionId,
  statuses,
  type WriterId,
} from '../types.ts';
import { type RunPart, runPart } from './run.ts';

// The shapes are checked where a document comes in; the types are what the shapes say.
const text = z.string();
const textOrNull = z.nullable(text);
const number = z.number();
const numberOrNull = z.nullable(number);
const id = <Id extends string>() => z.custom<Id>((value) => typeof value === 'string');

const session = z.object({
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
  checkpoints: number,
  latestCheckpointId: z.nullable(id<CheckpointId>()),
});

/** A note, a blocker, or something that was tried and failed. */
const note = z.object({
  text,
  session: id<SessionId>(),
  /** When a blocker was resolved; null while it stands. */
  resolvedAt: numberOrNull,
});

const decision = z.object({ text, rationale: textOrNull, session: id<SessionId>() });

const fileChange = z.object({
  change: z.enum(['added', 'modified', 'deleted', 'read']),
  added: numberOrNull,
  removed: numberOrNull,
  /** 1 is read first; null where nobody said. */
  priority: numberOrNull,
  why: textOrNull,
  session: id<SessionId>(),
});

const issueUpdate = z.object({
  title: textOrNull,
  status: z.enum(['open', 'in_progress', 'done', 'deferred']),
  severity: z.nullable(z.enum(['critical', 'high', 'medium', 'low'])),
  location: textOrNull,
  session: id<SessionId>(),
});

const gateResult = z.object({
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

export type Session = z.infer<typeof session>;
export type Note = z.infer<typeof note>;
export type Decision = z.infer<typeof decision>;
export type FileChange = z.infer<typeof fileChange>;
export type IssueUpdate = z.infer<typeof issueUpdate>;
export type GateResult = z.infer<typeof gateResult>;

/** Everything an epic knows, as lists of keyed entries. */
export type Lists = {
  /** Keyed singletons: budget, currentTask, testState, agent, contextWindow, resumptionState, lastGreen. */
  current: Json;
  /** By session id. */
  sessions: Session;
  notes: Note;
  blockers: Note;
  tried: Note;
  decisions: Decision;
  /** By path. */
  files: FileChange;
  issues: IssueUpdate;
  /** By the gate's name. */
  gates: GateResult;
  /** By `<run>@<session>`. */
  runs: RunPart;
  /** By writer. */
  ledger: LedgerRow;
};

export type ListName = keyof Lists;

/** How many entries each list keeps, newest first. A list without a bound does not compile. */
export type Limits = { readonly [L in ListName]: number };
export const bounds: Limits = {
  current: Number.POSITIVE_INFINITY,
  sessions: 20,
  notes: 100,
  blockers: 100,
  tried: 100,
  decisions: 100,
  files: 100,
  issues: 100,
  gates: 100,
  runs: 100,
  ledger: Number.POSITIVE_INFINITY,
};

/** The bound of a list that a later version of orch brought: kept, not understood. */
export const foreignBound = 100;

/** When something was said, by whom, and where in their journal. */
export type Stamp = readonly [at: Millis, by: WriterId, offset: number];
export type Entry<T> = { readonly value: T; readonly stamp: Stamp };
export type List<T> = Keyed<Entry<T>>;

export type State = {
  /** The newest time in any stamp ever seen here. */
  readonly clock: Millis;
} & { readonly [L in ListName]: List<Lists[L]> };

/** A state that holds only a few entries: what an event becomes. */
export type PartialState = { readonly clock: Millis } & { readonly [L in ListName]?: List<Lists[L]> };

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

export const emptyState: State = {
  clock: 0,
  current: {},
  sessions: {},
  notes: {},
  blockers: {},
  tried: {},
  decisions: {},
  files: {},
  issues: {},
  gates: {},
  runs: {},
  ledger: {},
};
