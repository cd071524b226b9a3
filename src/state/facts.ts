import type { Usage } from '../cost/ledger.ts';
import type { Json, Micros, Millis, SessionId, WriterId } from '../types.ts';
import type { Decision, FileChange, GateResult, IssueUpdate, Note, Stamp } from './lists.ts';
import type { EffectRecord, RunHead, TaskRecord } from './run.ts';

type Said<T> = Omit<T, 'session'>;
type Told<T> = Omit<T, 'at'>;

/** One thing that happened in a session. Everything else is derived from these. */
export type Fact =
  | { kind: 'session_started'; number: number; agent: string | null; parentSessionId: SessionId | null }
  | { kind: 'session_running' }
  | { kind: 'session_paused'; reason: string | null }
  | { kind: 'session_completed'; reason: string | null }
  | { kind: 'session_failed'; reason: string | null }
  /** Its process was found gone, and what it left was brought in. */
  | { kind: 'session_recovered'; reason: string | null }
  | { kind: 'budget_exceeded'; reason: string | null }
  /** The epic's total; null lifts it. */
  | { kind: 'budget_set'; limit: Micros | null }
  /** A keyed singleton: currentTask, testState, agent, contextWindow, resumptionState, lastGreen. */
  | { kind: 'current_set'; key: string; value: Json }
  | { kind: 'note'; id: string; text: string }
  | ({ kind: 'blocker'; id: string } & Said<Note>)
  | { kind: 'tried'; id: string; text: string }
  | ({ kind: 'decision'; id: string } & Said<Decision>)
  | ({ kind: 'file'; path: string } & Said<FileChange>)
  | ({ kind: 'issue'; id: string } & Said<IssueUpdate>)
  | ({ kind: 'gate'; name: string } & Said<GateResult>)
  /** Adds to the session's own meter. */
  | { kind: 'cost'; model: string | null; usage: Usage }
  /** A cumulative reading of somebody else's meter: the larger wins, so reading twice costs nothing. */
  | { kind: 'meter'; model: string; usage: Usage }
  | ({ kind: 'run'; run: string } & Told<RunHead>)
  | ({ kind: 'task'; run: string; id: string } & Told<TaskRecord>)
  | ({ kind: 'effect'; run: string; id: string } & Told<EffectRecord>);

/** A fact in its place: in which journal, where, and when. */
export type Event = {
  readonly at: Millis;
  readonly by: WriterId;
  readonly session: SessionId;
  /** Where its record begins in the journal, and where the next one can. */
  readonly offset: number;
  readonly end: number;
  readonly fact: Fact;
};

export function stampOf(event: Event): Stamp {
  return [event.at, event.by, event.offset];
}
