import type { Millis } from '../../types.ts';
import { formatAge } from '../../units.ts';

/** `14:02`, in the user's time zone. */
export function timeOfDay(at: Millis): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The time of day, with the date unless it is today. */
export function describeTime(at: Millis, now: Millis): string {
  const day = new Date(at).toDateString();
  return day === new Date(now).toDateString() ? timeOfDay(at) : `${timeOfDay(at)} on ${day}`;
}

/** `5m ago`, `now`. */
export function formatAgo(age: Millis, justNow = 'now'): string {
  const short = formatAge(Math.max(0, age));
  return short === 'now' ? justNow : `${short} ago`;
}

/** How long ago a timestamp is: `2m ago`, `now`. */
export function formatWhen(timestamp: string, now: Millis): string {
  return formatAgo(now - Date.parse(timestamp));
}

/** `1h02m`, `12m04s`, `9s`: a duration that counts up on the screen. */
export function formatClock(elapsed: Millis): string {
  const seconds = Math.max(0, Math.floor(elapsed / 1_000));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  if (hours > 0) return `${hours}h${two(minutes)}m`;
  return minutes > 0 ? `${minutes}m${two(seconds % 60)}s` : `${seconds}s`;
}
