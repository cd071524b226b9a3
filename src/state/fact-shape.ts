import * as z from 'zod/mini';
import { amount, usage } from '../cost/ledger-shape.ts';
import { isRunId } from '../ids.ts';
import { cleanLine } from '../text.ts';
import {
  abandonedWork,
  attempt,
  decision,
  effectRecord,
  fileChange,
  findShapeProblem,
  gateResult,
  issueUpdate,
  note,
  question,
  restoredCode,
  runHead,
  sessionId,
  sessionNumber,
  shardDepth,
  taskRecord,
} from './state-shape.ts';

const text = z.string();
const key = z.string().check(z.minLength(1), z.maxLength(1_024));
const reason = z.nullable(text);
const run = z.string().check(z.refine(isRunId));

/** For a record in a shard: how deep the tree of its run's shards is, and whether its task is done with it, effects included. */
const inShards = { shards: z.optional(shardDepth), completes: z.optional(z.literal(true)) };

const isBudget = (value: unknown) => value === null || findShapeProblem(amount, value) === null;

/** One thing that happened in a session. Everything else is derived from facts. */
export const factShape = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('session_started'),
    number: sessionNumber,
    agent: z.nullable(text),
    parentSessionId: z.nullable(sessionId),
    forCalls: z.optional(z.literal(true)),
    host: z.optional(text),
  }),
  /** Another call of the day; the session it joins is ended between calls. */
  z.object({ kind: z.literal('session_joined') }),
  z.object({ kind: z.literal('session_running') }),
  z.object({ kind: z.literal('session_paused'), reason }),
  z.object({ kind: z.literal('session_completed'), reason }),
  z.object({ kind: z.literal('session_failed'), reason }),
  /** Its process was gone, and what it had recorded was recovered. */
  z.object({ kind: z.literal('session_recovered'), reason }),
  z.object({ kind: z.literal('budget_exceeded'), reason }),
  /** The epic's total budget; null removes it. */
  z.object({ kind: z.literal('budget_set'), limit: z.nullable(amount) }),
  /** A keyed singleton: currentTask, testState, agent, contextWindow, resumptionState, lastGreen. */
  z
    .object({ kind: z.literal('current_set'), key, value: z.json() })
    .check(z.refine((set) => set.key !== 'budget' || isBudget(set.value), 'the budget is no amount')),
  z.object({ kind: z.literal('note'), id: key, text }),
  z.extend(z.omit(attempt, { session: true, resolvedAt: true }), { kind: z.literal('tried'), id: key }),
  z.extend(z.omit(question, { session: true }), { kind: z.literal('question'), id: key }),
  z.extend(z.omit(note, { session: true }), { kind: z.literal('blocker'), id: key }),
  z.extend(z.omit(decision, { session: true }), { kind: z.literal('decision'), id: key }),
  z.extend(z.omit(fileChange, { session: true }), { kind: z.literal('file'), path: key }),
  z.extend(z.omit(issueUpdate, { session: true }), { kind: z.literal('issue'), id: key }),
  z.extend(z.omit(gateResult, { session: true }), { kind: z.literal('gate'), name: key }),
  /** Adds to the session's own meter. */
  z.object({ kind: z.literal('cost'), model: z.nullable(key), usage: usage }),
  /** A cumulative reading of another meter: the larger one wins, so reading twice adds nothing. */
  z.object({ kind: z.literal('meter'), model: key, usage: usage }),
  /** The files in the working tree were replaced by a checkpoint's, or by what they were before. */
  z.extend(z.omit(restoredCode, { session: true, at: true }), { kind: z.literal('restored') }),
  /** The session continues from an older checkpoint, and leaves behind what was recorded after it. */
  z.extend(abandonedWork, { kind: z.literal('abandoned') }),
  z.extend(z.omit(runHead, { at: true }), { kind: z.literal('run'), run }),
  z.extend(z.omit(taskRecord, { at: true }), { kind: z.literal('task'), run, id: key, ...inShards }),
  z.extend(z.omit(effectRecord, { at: true }), { kind: z.literal('effect'), run, id: key, ...inShards }),
]);

/** What is wrong with a fact from outside; null if nothing is. */
export function findFactProblem(fact: unknown): string | null {
  const problem = findShapeProblem(factShape, fact);
  return problem && cleanLine(`${problem.path || 'fact'}: ${problem.message}`, 200);
}
