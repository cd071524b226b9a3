import * as z from 'zod/mini';
import type { SessionId } from '../types.ts';

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
/** What one session finished, planned or acknowledged in a run. A session that resumes a run says again what was done. */
export type RunPart = z.infer<typeof runPart>;
