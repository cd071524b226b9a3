import * as z from 'zod/mini';
import { mergeKeyed } from '../keyed.ts';
import type { Millis, SessionId } from '../types.ts';
import { compareJson } from './canonical.ts';

const text = z.string();
const number = z.number();

const taskRecord = z.object({
  status: z.enum(['running', 'succeeded', 'failed', 'skipped']),
  attempts: number,
  /** Digest of the task as it was written, so that a changed one is noticed. */
  digest: text,
  artifacts: z.array(z.object({ path: text, sha256: text, bytes: number })),
  at: number,
});

const effectRecord = z.object({
  task: text,
  /** Sent with every attempt, the same in every replay. */
  key: text,
  status: z.enum(['planned', 'acknowledged', 'blocked']),
  reason: z.nullable(text),
  at: number,
});

const runHead = z.object({
  plan: text,
  digest: text,
  status: z.enum(['running', 'succeeded', 'failed', 'resume_needed', 'blocked']),
  session: z.custom<SessionId>((value) => typeof value === 'string'),
  /** The run this one goes on from (`--resume-step`). */
  from: z.nullable(text),
  startedAt: number,
  endedAt: z.nullable(number),
  at: number,
});

export const runPart = z.object({
  head: z.nullable(runHead),
  tasks: z.record(text, taskRecord),
  effects: z.record(text, effectRecord),
});

export type TaskRecord = z.infer<typeof taskRecord>;
export type EffectRecord = z.infer<typeof effectRecord>;
export type RunHead = z.infer<typeof runHead>;
/** What one writer finished, planned or acknowledged in a run. */
export type RunPart = z.infer<typeof runPart>;

/** The newer of two; equal times are told apart by content, so that the order of asking never matters. */
function newer<T extends { readonly at: Millis }>(a: T, b: T): T {
  if (a.at !== b.at) return a.at > b.at ? a : b;
  return compareJson(a, b) >= 0 ? a : b;
}

/** Per task and per effect the newer word. Commutative, associative, idempotent. */
export function mergeRunParts(a: RunPart, b: RunPart): RunPart {
  return {
    head: a.head && b.head ? newer(a.head, b.head) : (a.head ?? b.head),
    tasks: mergeKeyed(a.tasks, b.tasks, newer),
    effects: mergeKeyed(a.effects, b.effects, newer),
  };
}
