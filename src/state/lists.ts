import type { infer as Infer } from 'zod/mini';
import type { LedgerRow } from '../cost/ledger.ts';
import type { Keyed } from '../keyed.ts';
import type { Json, Millis, WriterId } from '../types.ts';
import type { RunPart } from './run.ts';
import type {
  attempt,
  commit,
  decision,
  fileChange,
  gateResult,
  issueUpdate,
  message,
  note,
  question,
  request,
  session,
} from './shape.ts';

export type Session = Infer<typeof session>;
export type Note = Infer<typeof note>;
export type Attempt = Infer<typeof attempt>;
export type Question = Infer<typeof question>;
export type Decision = Infer<typeof decision>;
export type FileChange = Infer<typeof fileChange>;
export type IssueUpdate = Infer<typeof issueUpdate>;
export type GateResult = Infer<typeof gateResult>;
export type Request = Infer<typeof request>;
export type Message = Infer<typeof message>;
export type Commit = Infer<typeof commit>;

/** Everything an epic knows, as lists of keyed entries. */
export type Lists = {
  /** Keyed singletons: budget, currentTask, testState, agent, contextWindow, resumptionState, lastGreen. */
  current: Json;
  /** By session id. */
  sessions: Session;
  /** What the user asked for and answered, by where it stands in the journals. */
  requests: Request;
  /** The first of what was asked for: the newest request never replaces what the work is for. */
  goals: Request;
  /** What the agent said last, by session. */
  messages: Message;
  /** What was committed meanwhile, by the commit's id. */
  commits: Commit;
  notes: Note;
  blockers: Note;
  tried: Attempt;
  questions: Question;
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

/** How many entries each list keeps, newest first (of the goals the oldest). A list without a bound does not compile. */
export type Limits = { readonly [L in ListName]: number };
export const bounds: Limits = {
  current: Number.POSITIVE_INFINITY,
  sessions: 20,
  requests: 40,
  goals: 3,
  messages: 20,
  commits: 40,
  notes: 100,
  blockers: 100,
  tried: 100,
  questions: 100,
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

export const emptyState: State = {
  clock: 0,
  current: {},
  sessions: {},
  requests: {},
  goals: {},
  messages: {},
  commits: {},
  notes: {},
  blockers: {},
  tried: {},
  questions: {},
  decisions: {},
  files: {},
  issues: {},
  gates: {},
  runs: {},
  ledger: {},
};
