import * as z from 'zod/mini';
import { amount } from '../../cost/ledger-shape.ts';
import { isEpicId, isRunId } from '../../ids.ts';
import { factShape, findFactProblem } from '../../state/fact-shape.ts';
import type { Event } from '../../state/facts.ts';
import {
  checkpointId,
  findShapeProblem,
  idOf,
  oid,
  sessionId,
  sessionNumber,
  stateShape,
  time,
  writerId,
} from '../../state/state-shape.ts';

import { cleanLine } from '../../text.ts';
import { type EpicId, triggers } from '../../types.ts';

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

/** Facts of later orch versions are kept unchanged; those of a known kind must be valid. */
function isFact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  return kinds.has(value.kind) ? findFactProblem(value) === null : typeof value.kind === 'string';
}

/** Far more checkpoints than any epic has, and small enough to count on from. */
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
  /** 2 if records of runs are in shards, which an older orch would not see. */
  format: z.union([z.literal(1), z.literal(2)]),
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
  /** The user's HEAD and branch. */
  gitCommit: z.nullable(oid),
  branch: z.nullable(z.string()),
  snapshot: z.nullable(oid),
  /** What is not in the snapshot, and why. */
  leftOut: z.optional(z.array(z.object({ path: z.string(), reason: z.string() }))),
  /** How many files that is, if more than are listed here. */
  leftOutTotal: z.optional(amount),
  /** Why there is no snapshot although there should be one. */
  snapshotFailed: z.optional(z.string()),
  /** Everything the epic has cost so far. */
  costUsd: z.number().check(z.nonnegative()),
  /** The events folded into this checkpoint. */
  events: z.array(event),
  state: stateShape,
  /** The trees with the records of runs, by run. */
  shards: z.optional(z.record(z.string().check(z.refine(isRunId)), oid)),
  /** Unreadable checkpoints that this one was rebuilt without. */
  rebuiltOver: z.optional(z.array(z.object({ commit: z.string(), problem: z.string() }))),
});

/**
 * A state's clock is the newest time of any stamp, and new entries are stamped past it. An entry with a later stamp could
 * never be replaced.
 */
function findLateStamp({ clock, ...lists }: { readonly clock: number }): string | null {
  for (const [name, list] of Object.entries<{
    readonly [key: string]: { readonly stamp: readonly unknown[] };
  }>(lists))
    if (Object.values(list).some(({ stamp }) => Number(stamp[0]) > clock))
      return `state.${name}: a stamp past the clock`;
  return null;
}

/** What is wrong with a document's content; null if nothing is. */
export function findProblem(content: unknown): string | null {
  const checked = withoutHidden(content);
  const problem = findShapeProblem(documentShape, checked);
  // Its shape was just checked.
  if (problem === null) return findLateStamp((checked as { state: { clock: number } }).state);
  // Both may contain names that the document's writer chose.
  return cleanLine(`${problem.path || 'document'}: ${problem.message}`, 200);
}

/** Zod ignores a key named `__proto__`; under another name it is checked like the rest. */
function withoutHidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHidden);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key === '__proto__' ? '(proto)' : key,
    withoutHidden(part),
  ]);
  return Object.fromEntries(entries);
}
