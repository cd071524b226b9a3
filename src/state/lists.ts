import type { infer as Infer } from 'zod/mini';
import type { LedgerRow } from '../cost/ledger.ts';
import type { Keyed } from '../keyed.ts';
import type { Json, Millis, WriterId } from '../types.ts';
import type { RunPart } from './runs.ts';
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
} from './state-shape.ts';

export type Session = Infer<typeof session>;
export type Note = Infer<typeof note>;
export type Attempt = Infer<typeof attempt>;
type Question = Infer<typeof question>;
export type Decision = Infer<typeof decision>;
export type FileChange = Infer<typeof fileChange>;
export type IssueUpdate = Infer<typeof issueUpdate>;
export type GateResult = Infer<typeof gateResult>;
export type Request = Infer<typeof request>;
type Message = Infer<typeof message>;
export type Commit = Infer<typeof commit>;

/** Everything an epic knows, as lists of keyed entries. */
export type Lists = {
  /** Keyed singletons: see `Current`. */
  current: Json;
  /** By session id. */
  sessions: Session;
  /** What the user asked and answered, by its place in the journals. */
  requests: Request;
  /** The first requests: a newer one never replaces what the work is for. */
  goals: Request;
  /** The agent's last message, by session. */
  messages: Message;
  /** New commits, by id. */
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

/** How many of the newest entries each list keeps (of the goals, the oldest). A list without a bound does not compile. */
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

/** The bound for lists of a later orch, which are kept but not understood. */
export const foreignBound = 100;

/** When something was recorded, by which writer, and where in the journal. */
export type Stamp = readonly [at: Millis, by: WriterId, offset: number];
export type Entry<T> = { readonly value: T; readonly stamp: Stamp };
export type List<T> = Keyed<Entry<T>>;

export type State = {
  /** The newest time of any stamp seen here. */
  readonly clock: Millis;
} & { readonly [L in ListName]: List<Lists[L]> };

/** A state with only a few entries, such as an event becomes. */
export type PartialState = { readonly clock: Millis } & { readonly [L in ListName]?: List<Lists[L]> };

const noEntries = Object.keys(bounds).map((name) => [name, {}] as const);
/** A state with every list, each empty. */
export const emptyState = { clock: 0, ...Object.fromEntries(noEntries) } as State; // `bounds` names every list
