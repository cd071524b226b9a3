/* What the shapes of a stored state are made of. */
import * as z from 'zod/mini';
import { isCheckpointId, isOid, isSessionId, isWriterId } from '../ids.ts';
import type { CheckpointId, Oid, SessionId, WriterId } from '../types.ts';
import { latestTime, maxSessionNumber } from '../units.ts';

/**
 * What is wrong with a value, or null. Zod compares numbers even where it has found that there is none, which throws
 * where `{"valueOf": 1}` stands in the place of one.
 */
export function findShapeProblem(
  shape: z.ZodMiniType,
  value: unknown,
): { path: string; message: string } | null {
  try {
    const checked = z.safeParse(shape, value);
    if (checked.success) return null;
    const { path, message } = checked.error.issues[0] ?? { path: [], message: 'wrong shape' };
    return { path: path.join('.'), message };
  } catch {
    return { path: '', message: 'it holds a value that cannot be compared' };
  }
}

export const text = z.string();
export const textOrNull = z.nullable(text);
export const number = z.number();
export const numberOrNull = z.nullable(number);
/** Milliseconds since 1970. */
export const time = z.number().check(z.nonnegative(), z.maximum(latestTime));
export const timeOrNull = z.nullable(time);
/** Sessions are counted from 1; a number that could not be counted on from is wrong, or made up. */
export const sessionNumber = z.int().check(z.nonnegative(), z.maximum(maxSessionNumber));

/** The pattern is for JSON Schemas; `isId` decides. */
export const idOf = <Id extends string>(isId: (text: string) => boolean, pattern: RegExp) =>
  z
    .custom<Id>((value) => typeof value === 'string' && isId(value))
    .register(z.globalRegistry, { type: 'string', pattern: pattern.source });
export const sessionId = idOf<SessionId>(isSessionId, /^sess-[a-z0-9]{4,32}$/);
export const writerId = idOf<WriterId>(isWriterId, /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
export const checkpointId = idOf<CheckpointId>(isCheckpointId, /^ckpt-[0-9]{8,15}-[a-z0-9]{4,64}$/);
export const oid = idOf<Oid>(isOid, /^([0-9a-f]{40}|[0-9a-f]{64})$/);
