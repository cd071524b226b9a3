import type { infer as Infer } from 'zod/mini';
import type { effectRecord, runHead, runPart, taskRecord } from './shape.ts';

export type TaskRecord = Infer<typeof taskRecord>;
export type EffectRecord = Infer<typeof effectRecord>;
export type RunHead = Infer<typeof runHead>;
/** What one session finished, planned or acknowledged in a run. A session that resumes a run says again what was done. */
export type RunPart = Infer<typeof runPart>;
