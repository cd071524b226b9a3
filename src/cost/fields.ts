/** Billionths of a dollar: what an agent says of its own cost has more places than a micro-dollar. */
export type Nanos = number;

/** An object of whatever. */
export type Fields = { readonly [name: string]: unknown };

/** The value as an object with fields; null where it is none. */
export function asFields(value: unknown): Fields | null {
  // An object can be asked for any name; what it gives is unknown until it is looked at.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** Past this it is no name. */
const longestName = 256;

/** A short text; null where it is none. */
export function asName(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= longestName ? value : null;
}

/** Far more than a model can be asked in a life, and little enough to be added up exactly. */
const mostTokens = 1e12;

/** A count of tokens; nothing where it is missing or makes no sense. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= mostTokens ? value : 0;
}

/** Dollars to billionths; null where it is no amount of money. */
export function asNanos(value: unknown): Nanos | null {
  return typeof value === 'number' && value >= 0 && value <= 1e6 ? Math.round(value * 1e9) : null;
}
