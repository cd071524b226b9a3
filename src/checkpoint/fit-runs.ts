import { lookUp } from '../keyed.ts';
import { compareStamps } from '../state/join.ts';
import type { Entry, List } from '../state/lists.ts';
import { newestRuns, type RunPart, readRuns, runOf } from '../state/run.ts';

/** Which runs may lose what they recorded: those that nobody goes on with, or also those that succeeded. */
export type Slimming = 'old' | 'succeeded';

/**
 * Takes from runs what nobody needs any more: the tasks and effects of those that are over and have a later one of
 * their plan, and what a session said that a later one of its run has said again. What can be gone on with stays
 * whole, and no acknowledgement that only one session knows of is lost.
 */
export function slimRuns(runs: List<RunPart>, which: Slimming): List<RunPart> {
  const current = newestRuns(runs);
  const needed = new Set(
    [...current].flatMap(([id, { head }]) =>
      head.status === 'succeeded' && which === 'succeeded' ? [] : [id],
    ),
  );
  const last = lastParts(runs);
  const all = readRuns(runs);
  return Object.fromEntries(
    Object.entries(runs).flatMap(([key, entry]): [string, Entry<RunPart>][] => {
      const id = runOf(key);
      if (last.get(id) !== key) return isSaidAgain(entry.value, last.get(id), runs) ? [] : [[key, entry]];
      if (needed.has(id) || all.get(id)?.head === null) return [[key, entry]];
      return [[key, { ...entry, value: { ...entry.value, tasks: {}, effects: {} } }]];
    }),
  );
}

/** The part of each run that was written last, of those that know what the run is. */
function lastParts(runs: List<RunPart>): Map<string, string> {
  const inOrder = Object.entries(runs)
    .filter(([, { value }]) => value.head !== null)
    .sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
  return new Map(inOrder.map(([key]) => [runOf(key), key]));
}

function isSaidAgain(part: RunPart, by: string | undefined, runs: List<RunPart>): boolean {
  const later = by === undefined ? null : (lookUp(runs, by)?.value ?? null);
  if (later === null) return false;
  return Object.entries(part.effects).every(
    ([id, { status }]) => status !== 'acknowledged' || lookUp(later.effects, id)?.status === 'acknowledged',
  );
}
