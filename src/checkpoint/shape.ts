import * as z from 'zod/mini';
import { amount } from '../cost/shape.ts';
import { isEpicId } from '../ids.ts';
import { factShape, findFactProblem } from '../state/fact-shape.ts';
import type { Event } from '../state/facts.ts';
import { stateShape } from '../state/shape.ts';
import {
  checkpointId,
  findShapeProblem,
  idOf,
  oid,
  sessionId,
  sessionNumber,
  time,
  writerId,
} from '../state/shape-parts.ts';
import { cleanLine } from '../text.ts';
import { type EpicId, triggers } from '../types.ts';

const event = z.object({
  at: time,
  by: writerId,
  session: sessionId,
  journal: z.optional(sessionId),
  offset: amount,
  end: amount,
  fact: z.custom<Event['fact']>(isFact),
});

const kinds = new Set<unknown>(factShape.def.options.map(({ shape }) => shape.kind.def.values[0]));

/** Facts of later versions of orch are kept as they are; of a known kind, they are as they should be. */
function isFact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  return kinds.has(value.kind) ? findFactProblem(value) === null : typeof value.kind === 'string';
}

/** Far more than anybody makes checkpoints, and few enough that numbers and names can be counted on from there. */
const maxSeq = 1_000_000_000_000;

const instant = z
  .string()
  .check(
    z.refine(
      (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(Date.parse(text)),
    ),
  );

/** What a stored document must look like, without its checksum. */
export const documentShape = z.object({
  format: z.literal(1),
  id: checkpointId,
  seq: z.int().check(z.positive(), z.maximum(maxSeq)),
  epicId: idOf<EpicId>(isEpicId, /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  sessionId,
  sessionNumber,
  writer: writerId,
  /** ISO 8601, UTC. */
  timestamp: instant,
  trigger: z.enum(triggers),
  reason: z.nullable(z.string()),
  summary: z.string(),
  /** The user's HEAD, and the branch it was on. */
  gitCommit: z.nullable(oid),
  branch: z.nullable(z.string()),
  snapshot: z.nullable(oid),
  /** What is not in the snapshot, and why. */
  leftOut: z.optional(z.array(z.object({ path: z.string(), reason: z.string() }))),
  /** How many that is, where it is more than are named here. */
  leftOutTotal: z.optional(amount),
  /** Why there is no snapshot, where there should be one. */
  snapshotFailed: z.optional(z.string()),
  /** All that the epic has cost up to here. */
  costUsd: z.number().check(z.nonnegative()),
  /** What was folded into this checkpoint. */
  events: z.array(event),
  state: stateShape,
  /** Checkpoints that could not be read when this one was made from what was left. */
  rebuiltOver: z.optional(z.array(z.object({ commit: z.string(), problem: z.string() }))),
});

/**
 * A state's clock is the newest time in any of its stamps, and new entries are stamped past it. A stamp beyond it would
 * have the last word for ever.
 */
function findLateStamp({ clock, ...lists }: { readonly clock: number }): string | null {
  for (const [name, list] of Object.entries<{
    readonly [key: string]: { readonly stamp: readonly unknown[] };
  }>(lists))
    if (Object.values(list).some(({ stamp }) => Number(stamp[0]) > clock))
      return `state.${name}: a stamp past the clock`;
  return null;
}

/** What is wrong with a document's content, or null where it is as it should be. */
export function findProblem(content: unknown): string | null {
  const checked = withoutHidden(content);
  const problem = findShapeProblem(documentShape, checked);
  // It was found to be one just now.
  if (problem === null) return findLateStamp((checked as { state: { clock: number } }).state);
  // Both may hold names that the document's writer chose.
  return cleanLine(`${problem.path || 'document'}: ${problem.message}`, 200);
}

/** Zod passes over what is called `__proto__`, whatever it is; under another name it is looked at like the rest. */
function withoutHidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHidden);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key === '__proto__' ? '(proto)' : key,
    withoutHidden(part),
  ]);
  return Object.fromEntries(entries);
}
