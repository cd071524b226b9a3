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

const idOf = <Id extends string>(isId: (text: string) => boolean) =>
  z.custom<Id>((value) => typeof value === 'string' && isId(value));
export const sessionId = idOf<SessionId>(isSessionId);
export const writerId = idOf<WriterId>(isWriterId);
export const checkpointId = idOf<CheckpointId>(isCheckpointId);
export const oid = idOf<Oid>(isOid);
