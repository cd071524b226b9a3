import * as z from 'zod/mini';
import type { Event } from '../state/facts.ts';
import { stateShape } from '../state/shape.ts';
import {
  type CheckpointId,
  type EpicId,
  type Oid,
  type SessionId,
  triggers,
  type WriterId,
} from '../types.ts';

const id = <Id extends string>() => z.custom<Id>((value) => typeof value === 'string');

const event = z.object({
  at: z.number(),
  by: id<WriterId>(),
  session: id<SessionId>(),
  offset: z.number(),
  end: z.number(),
  // Facts of later versions of orch are kept as they are.
  fact: z.custom<Event['fact']>((value) => typeof value === 'object' && value !== null && 'kind' in value),
});

/** What a stored document must look like, without its checksum. */
export const documentShape = z.object({
  format: z.literal(1),
  id: id<CheckpointId>(),
  seq: z.int().check(z.positive()),
  epicId: id<EpicId>(),
  sessionId: id<SessionId>(),
  sessionNumber: z.number(),
  writer: id<WriterId>(),
  /** ISO 8601, UTC. */
  timestamp: z.string(),
  trigger: z.enum(triggers),
  reason: z.nullable(z.string()),
  summary: z.string(),
  /** The user's HEAD, and the branch it was on. */
  gitCommit: z.nullable(id<Oid>()),
  branch: z.nullable(z.string()),
  snapshot: z.nullable(id<Oid>()),
  /** What is not in the snapshot, and why. */
  leftOut: z.optional(z.array(z.object({ path: z.string(), reason: z.string() }))),
  /** All that the epic has cost up to here. */
  costUsd: z.number(),
  /** What was folded into this checkpoint. */
  events: z.array(event),
  state: stateShape,
  /** Checkpoints that could not be read when this one was made from what was left. */
  rebuiltOver: z.optional(z.array(z.object({ commit: z.string(), problem: z.string() }))),
});

/** What is wrong with a document's content, or null where it is as it should be. */
export function findProblem(content: unknown): string | null {
  const checked = z.safeParse(documentShape, content);
  if (checked.success) return null;
  const { path, message } = checked.error.issues[0] ?? { path: [], message: 'wrong shape' };
  return `${path.join('.') || 'document'}: ${message}`;
}
