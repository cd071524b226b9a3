import { isRecord } from '../checks.ts';
/** Billionths of a dollar: an agent's own cost figure is finer than a micro-dollar. */
export type Nanos = number;

/** An object with unchecked fields. */
export type Fields = { readonly [name: string]: unknown };

/** The value as an object; null if it is not one. */
export function asFields(value: unknown): Fields | null {
  return isRecord(value) ? value : null;
}

/** Longer is not a name. */
const longestName = 256;

/** The value as a short text; null if it is not one. */
export function asName(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= longestName ? value : null;
}

/** Far more than any model will ever be asked, and small enough to add up exactly. */
const mostTokens = 1e12;

/** The value as a token count; 0 if it is missing or makes no sense. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= mostTokens ? value : 0;
}

/** Dollars as billionths; null if it is not an amount of money. */
export function asNanos(value: unknown): Nanos | null {
  return typeof value === 'number' && value >= 0 && value <= 1e6 ? Math.round(value * 1e9) : null;
}
