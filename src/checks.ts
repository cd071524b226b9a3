import { isCheckpointId, isOid, isSessionId, isWriterId } from './ids.ts';
import { lookUp } from './keyed.ts';
import { latestTime, maxCount } from './units.ts';

/*
 * What a value from a file is checked with where zod would take too long to load: in journals and in orch's own small
 * files, which hooks read.
 */

export type Check = (value: unknown) => boolean;

/** One that may be missing. */
export type OptionalCheck = Check & { readonly mayBeMissing: true };

/** A check for every field of a type: one that is left out does not compile, nor one that may be missing and must not. */
export type Checks<T> = {
  readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? OptionalCheck : Check;
};

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object whose fields are as they should be; what else it has is left alone. */
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

/** How much or how many of something. */
export const amount: Check = wholeUpTo(maxCount);

/** The value in a text, where it is what it should be; null for anything else. */
export function readChecked<T>(json: string | null, isRight: (value: unknown) => value is T): T | null {
  try {
    const value: unknown = JSON.parse(json ?? 'null');
    return isRight(value) ? value : null;
  } catch {
    return null; // torn, damaged or not written by orch: treated as missing
  }
}
