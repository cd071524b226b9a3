import { OrchError } from './errors.ts';
import type { Micros, Millis } from './types.ts';

const microsPerDollar = 1_000_000;

/** Converts dollars to whole micro-dollars; half a micro rounds up. */
export function toMicros(usd: number): Micros {
  const micros = Math.round(usd * microsPerDollar);
  if (!Number.isSafeInteger(micros) || micros < 0) {
    throw new OrchError('USAGE', `${usd} is not an amount of money`, {
      hint: 'Give a number of dollars, zero or more, such as 0.25',
    });
  }
  return micros;
}

export function toUsd(micros: Micros): number {
  return micros / microsPerDollar;
}

/** `4100000` → `4.100000`: exact, for trailers. */
export function formatMicros(micros: Micros): string {
  const digits = String(micros).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/** The reverse of `formatMicros`; null for anything else. */
export function parseMicros(text: string): Micros | null {
  return /^\d{1,9}\.\d{6}$/.test(text) ? Number(text.replace('.', '')) : null;
}

/** The year 2126: a later time is wrong or forged. */
export const latestTime: Millis = Date.UTC(2126, 0);

/** The highest count: a number still holds it exactly, with room to add. */
export const maxCount = 999_999_999_999_999;

/** The highest session number. */
export const maxSessionNumber = 1_000_000_000;

/** The most that fits into a trailer: nine digits of dollars. */
export const maxMicros: Micros = 999_999_999_999_999;

/**
 * Reads `5`, `5.50`, `$5` or `.25` as micro-dollars, digit by digit, so that nothing is rounded; null for anything else,
 * including fractions of a micro-dollar and more than a trailer can hold.
 */
export function parseUsd(text: string): Micros | null {
  const match = /^\$?(\d*)(?:\.(\d+))?$/.exec(text.trim());
  const [, dollars = '', decimals = ''] = match ?? [];
  if (dollars + decimals === '' || /[^0]/.test(decimals.slice(6))) return null;
  const micros = Number(dollars + decimals.slice(0, 6).padEnd(6, '0'));
  return micros <= maxMicros ? micros : null;
}

/** `4100000` → `$4.10`: for people. */
export function formatUsd(micros: Micros): string {
  return `$${toUsd(micros).toFixed(2)}`;
}

/** ISO 8601, UTC, whole seconds: a commit holds no more, so lists and documents agree. */
export function formatInstant(at: Millis): string {
  return `${new Date(at).toISOString().slice(0, -5)}Z`;
}

const unitMillis: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `15m`, `2h`, `90 s`, `1h30m`; null for anything else. */
export function parseDuration(text: string): Millis | null {
  const trimmed = text.trim();
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d|w)\s*)+$/.test(trimmed)) return null;
  let total = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (const [, amount, unit] of trimmed.matchAll(/([\d.]+)\s*(ms|[smhdw])/g)) {
    const scale = unitMillis[unit ?? ''] ?? 0;
    // `30m1h` and `5m5m` are typing mistakes.
    if (scale >= smallest) return null;
    smallest = scale;
    total += Number(amount) * scale;
  }
  return total;
}

const unitBytes: Record<string, number> = { '': 1, B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

/** Reads `10MB`, `512 KB` or `4096` as bytes; a KB is 1,024 as in git; null for anything else. */
export function parseSize(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([KMG]?B|)$/i.exec(text.trim());
  const [, amount, unit = ''] = match ?? [];
  const scale = unitBytes[unit.toUpperCase()];
  return amount === undefined || scale === undefined ? null : Math.round(Number(amount) * scale);
}

/** `812 B`, `3.4 KB`, `12 MB`: for people; a KB is 1,024. */
export function formatSize(bytes: number): string {
  const units = ['KB', 'MB', 'GB', 'TB'];
  let [amount, unit] = [bytes, 'B'];
  for (const next of units) {
    if (amount < 1_000) break;
    [amount, unit] = [amount / 1_024, next];
  }
  return `${unit === 'B' || amount >= 10 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
}

/** A short age for people: `now`, `45s`, `12m`, `3h`, `9d`. */
export function formatAge(elapsed: Millis): string {
  const seconds = Math.floor(elapsed / 1_000);
  if (seconds < 1) return 'now';
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3_600) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** `1 note`, `3 notes`. */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
