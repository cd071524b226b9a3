import {
  amount,
  type Check,
  type Checks,
  isRecord,
  listOf,
  number,
  oid,
  oneOf,
  optional,
  orNull,
  session,
  text,
  time,
  wholeUpTo,
  withFields,
  yesOrNo,
} from '../checks.ts';
import type { Usage } from '../cost/ledger.ts';
import { isRunId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { maxSessionNumber } from '../units.ts';
import type { Fact } from './facts.ts';
import { isNamed, isRecorded } from './left-behind.ts';
import { maxShardDepth } from './run-records.ts';
import type { WorkerRecord } from './runs.ts';

/*
 * Checks facts as `fact-shape.ts` defines them, but without zod: every hook reads journals, and loading zod would take
 * longer than the rest of the hook. The types ensure that no kind and no field is missing; a test compares the two.
 */

type OfKind<K extends Fact['kind']> = Omit<Extract<Fact, { readonly kind: K }>, 'kind'>;

/** The longest key. */
export const maxKeyLength = 1_024;

const key: Check = (value) => typeof value === 'string' && value.length >= 1 && value.length <= maxKeyLength;
const run: Check = (value) => typeof value === 'string' && isRunId(value);

export const isUsage = withFields<Usage>({
  micros: amount,
  input: amount,
  output: amount,
  cacheRead: amount,
  cacheWrite: amount,
  unpriced: amount,
  estimated: optional(amount),
  guessed: optional(amount),
  settled: optional(amount),
  corrected: optional(amount),
});
const artifact = withFields<{ path: string; sha256: string; bytes: number }>({
  path: text,
  sha256: text,
  bytes: amount,
});
const reason = orNull(text);
const areTexts: Check = (value) => isRecord(value) && Object.values(value).every((part) => text(part));
const isWorker = withFields<WorkerRecord>({
  lease: amount,
  step: oneOf('working', 'needs_input', 'checking', 'merging', 'held', 'cancelled', 'left_out'),
  epic: text,
  agent: text,
  model: orNull(text),
  base: text,
  commit: orNull(text),
  merged: orNull(text),
  costMicros: amount,
  rejectedMicros: optional(amount),
  tests: optional(
    withFields<NonNullable<WorkerRecord['tests']>>({
      commit: text,
      gates: listOf(text),
      session: optional(text),
    }),
  ),
  reviewMicros: optional(amount),
  reviewed: optional(text),
  session: optional(text),
  refused: optional(text),
  complexity: optional(text),
  tries: optional(
    listOf(
      withFields<NonNullable<WorkerRecord['tries']>[number]>({
        attempt: amount,
        model: orNull(text),
        why: text,
        before: amount,
        refused: optional(text),
        red: optional(
          listOf(withFields<{ gate: string; failing: string[] }>({ gate: text, failing: listOf(text) })),
        ),
        conflicts: optional(listOf(text)),
      }),
    ),
  ),
  wanted: optional(
    withFields<NonNullable<WorkerRecord['wanted']>>({ model: optional(text), attempts: optional(amount) }),
  ),
  since: optional(time),
});
const isTrue: Check = (value) => value === true;
const shards = wholeUpTo(maxShardDepth);

/** Deeper than orch nests anything, and well below what a document may hold. */
const maxDepth = 32;

function isJson(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null)
    return typeof value === 'number' ? Number.isFinite(value) : value !== undefined;
  return depth < maxDepth && Object.values(value).every((part) => isJson(part, depth + 1));
}

const kinds: { readonly [K in Fact['kind']]: Checks<OfKind<K>> } = {
  session_started: {
    number: wholeUpTo(maxSessionNumber),
    agent: orNull(text),
    parentSessionId: orNull(session),
    forCalls: optional(isTrue),
    host: optional(text),
  },
  session_joined: {},
  session_running: {},
  session_paused: { reason },
  session_completed: { reason },
  session_failed: { reason },
  session_recovered: { reason },
  budget_exceeded: { reason },
  budget_set: { limit: orNull(amount) },
  current_set: { key, value: (value) => value !== undefined },
  note: { id: key, text },
  tried: { id: key, text, why: optional(orNull(text)) },
  question: {
    id: key,
    text,
    answer: orNull(text),
    resolvedAt: orNull(time),
    waits: optional((value) => value === true),
  },
  blocker: { id: key, text, resolvedAt: orNull(time) },
  decision: { id: key, text, rationale: orNull(text), by: optional((value) => value === 'user') },
  file: {
    path: key,
    change: oneOf('added', 'modified', 'deleted', 'read'),
    added: orNull(number),
    removed: orNull(number),
    priority: orNull(number),
    why: orNull(text),
  },
  issue: {
    id: key,
    title: orNull(text),
    status: oneOf('open', 'in_progress', 'done', 'deferred'),
    severity: orNull(oneOf('critical', 'high', 'medium', 'low')),
    location: orNull(text),
  },
  gate: {
    name: key,
    status: oneOf('passed', 'failed', 'timed_out', 'skipped'),
    durationMs: number,
    tree: orNull(oid),
    output: text,
    failing: optional(
      listOf(withFields<{ name: string; why: string | null }>({ name: text, why: orNull(text) })),
    ),
    knownBefore: yesOrNo,
  },
  cost: { model: orNull(key), usage: isUsage },
  meter: { model: key, usage: isUsage },
  restored: { checkpoint: orNull(isNamed), leftBehind: isNamed, paths: orNull(amount), isUndo: yesOrNo },
  abandoned: { from: isNamed, upTo: isNamed, recorded: listOf(isRecorded) },
  run: {
    run,
    plan: text,
    digest: text,
    status: oneOf('running', 'succeeded', 'failed', 'resume_needed', 'blocked'),
    session,
    from: orNull(text),
    file: optional(text),
    startedAt: time,
    endedAt: orNull(time),
    rollback: optional(oneOf('running', 'stopped', 'done')),
    tasks: optional(amount),
    shards: optional(shards),
  },
  task: {
    run,
    id: key,
    status: oneOf('pending', 'running', 'succeeded', 'failed', 'skipped', 'undoing', 'undone'),
    attempts: amount,
    digest: text,
    artifacts: listOf(artifact),
    exit: optional(amount),
    values: optional(areTexts),
    round: optional(amount),
    why: optional(text),
    undoKey: optional(text),
    worker: optional(isWorker),
    shards: optional(shards),
    completes: optional(isTrue),
  },
  effect: {
    run,
    id: key,
    task: text,
    key: text,
    status: oneOf('planned', 'acknowledged', 'blocked', 'undoing', 'undone'),
    reason: orNull(text),
    digest: text,
    what: text,
    content: optional(text),
    tried: optional(oneOf('no', 'here', 'elsewhere')),
    turn: optional(amount),
    shards: optional(shards),
    completes: optional(isTrue),
  },
};

/** Is this a fact? One of an unknown kind, from a later orch, passes; one of a known kind must have the right fields. */
export function isFact(value: unknown): value is Fact {
  if (!isRecord(value) || !isJson(value)) return false;
  const kind = lookUp(value, 'kind');
  if (typeof kind !== 'string') return false;
  const checks = lookUp<Checks<object>>(kinds, kind);
  if (checks !== undefined && !withFields(checks)(value)) return false;
  // A budget that is not an amount would read as no budget.
  return kind !== 'current_set' || value.key !== 'budget' || orNull(amount)(value.value);
}
