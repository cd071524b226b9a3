import { add } from 'date-fns/add';
import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import { startOfDay } from 'date-fns/startOfDay';
import { OrchError } from '../errors.ts';
import type { Millis } from '../types.ts';

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const units: Record<string, string> = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days', w: 'weeks' };

/**
 * Reads `--since`: `2h` or `3d` back from now, the beginning of `today`, `yesterday`, the last `fri` (today, if it is one)
 * or `2026-11-16`, or a time in ISO 8601. Days begin where the reader is.
 */
export function parseSince(text: string, now: Millis): Millis {
  const at = readSince(text.trim().toLowerCase(), now);
  if (at !== null && at <= now) return at;
  const why = at === null ? 'is not a time' : 'is still to come';
  throw new OrchError('USAGE', `${JSON.stringify(text.slice(0, 80))} ${why}`, {
    hint: 'Use 2h, 3d, today, yesterday, fri, 2026-11-16 or 2026-11-16T14:30',
  });
}

function readSince(text: string, now: Millis): Millis | null {
  const back = /^(\d{1,6})\s*([smhdw])(?:\s+ago)?$/.exec(text);
  const unit = units[back?.[2] ?? ''];
  if (back && unit) return add(now, { [unit]: -Number(back[1]) }).getTime();
  const days = daysBack(text, now);
  if (days !== null) return startOfDay(add(now, { days: -days })).getTime();
  if (!/^\d{4}-\d\d-\d\d([t ]\d\d:\d\d(:\d\d(\.\d+)?)?(z|[+-]\d\d:?\d\d)?)?$/.test(text)) return null;
  const date = parseISO(text.toUpperCase().replace(' ', 'T'));
  return isValid(date) ? date.getTime() : null;
}

/** How many days ago a named day was. */
function daysBack(text: string, now: Millis): number | null {
  if (text === 'today') return 0;
  if (text === 'yesterday') return 1;
  const weekday = text.length < 3 ? -1 : weekdays.findIndex((name) => name.startsWith(text));
  return weekday < 0 ? null : (new Date(now).getDay() - weekday + 7) % 7;
}
