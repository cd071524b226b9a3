import { isCheckpointId, isEpicId, isOid, isSessionId, isWriterId } from './ids.ts';
import { lookUp } from './keyed.ts';
import { latestTime, maxCount } from './units.ts';

/*
 * Checks for values from journals and orch's own small files. Hooks read these, and loading zod would take too long.
 */

export type Check = (value: unknown) => boolean;

/** A check for a field that may be missing. */
type OptionalCheck = Check & { readonly mayBeMissing: true };

/** One check for every field of a type: leaving one out, or making a required field optional, does not compile. */
export type Checks<T> = {
  readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? OptionalCheck : Check;
};

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Checks an object's fields; other fields are ignored. */
export function withFields<T>(checks: Checks<T>): (value: unknown) => value is T {
  const entries: [string, Check][] = Object.entries(checks);
  return (value): value is T =>
    isRecord(value) && entries.every(([name, check]) => check(lookUp(value, name)));
}

export const text: Check = (value) => typeof value === 'string';
export const number: Check = (value) => Number.isFinite(value);
export const yesOrNo: Check = (value) => typeof value === 'boolean';
/** Milliseconds since 1970. */
export const time: Check = (value) => typeof value === 'number' && value >= 0 && value <= latestTime;
export const session: Check = isSessionId;
export const epic: Check = (value) => typeof value === 'string' && isEpicId(value);
export const oid: Check = isOid;
export const checkpoint: Check = isCheckpointId;
export const writer: Check = isWriterId;

export function orNull(check: Check): Check {
  return (value) => value === null || check(value);
}

export function optional(check: Check): OptionalCheck {
  return Object.assign((value: unknown) => value === undefined || check(value), {
    mayBeMissing: true as const,
  });
}

export function oneOf<T extends string>(...words: readonly T[]): Check {
  return (value) => words.some((word) => word === value);
}

export function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

export function mapOf(check: Check): Check {
  return (value) => isRecord(value) && Object.values(value).every(check);
}

export function wholeUpTo(most: number): Check {
  return (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most;
}

/** A count or an amount. */
export const amount: Check = wholeUpTo(maxCount);

/** Parses JSON and checks it; null if either fails. */
export function readChecked<T>(json: string | null, isRight: (value: unknown) => value is T): T | null {
  try {
    const value: unknown = JSON.parse(json ?? 'null');
    return isRight(value) ? value : null;
  } catch {
    return null; // torn, damaged or not written by orch: treated as missing
  }
}
