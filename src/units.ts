import { OrchError } from './errors.ts';
import type { Micros, Millis } from './types.ts';

const microsPerDollar = 1_000_000;

/** Dollars from outside to whole micro-dollars; half a micro rounds up. */
export function toMicros(usd: number): Micros {
  const micros = Math.round(usd * microsPerDollar);
  if (!Number.isSafeInteger(micros) || micros < 0) {
    throw new OrchError('USAGE', `${usd} is not an amount of money`, {
      hint: 'Give a number of dollars that is zero or more, such as 0.25',
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

/** 2126: what says it is of a later time is wrong, or made up. */
export const latestTime: Millis = Date.UTC(2126, 0);

/** The most of anything that is counted: as many as a number holds exactly, with room to add. */
export const maxCount = 999_999_999_999_999;

/** The highest number of a session. */
export const maxSessionNumber = 1_000_000_000;

/** The most a trailer can hold: nine digits of dollars. */
export const maxMicros: Micros = 999_999_999_999_999;

/**
 * `5`, `5.50`, `$5`, `.25` to micro-dollars, digit by digit, so that nothing is rounded;
 * null for anything else, a part of a micro-dollar and more than a trailer can hold included.
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

/** ISO 8601, UTC, whole seconds: what a commit can hold, so that a list and a document agree. */
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
    // `30m1h` and `5m5m` are slips.
    if (scale >= smallest) return null;
    smallest = scale;
    total += Number(amount) * scale;
  }
  return total;
}

const unitBytes: Record<string, number> = { '': 1, B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

/** `10MB`, `512 KB`, `4096` to bytes, a KB being 1,024 as in git; null for anything else. */
export function parseSize(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([KMG]?B|)$/i.exec(text.trim());
  const [, amount, unit = ''] = match ?? [];
  const scale = unitBytes[unit.toUpperCase()];
  return amount === undefined || scale === undefined ? null : Math.round(Number(amount) * scale);
}

/** `812 B`, `3.4 KB`, `12 MB`: for people, a KB being 1,024. */
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
