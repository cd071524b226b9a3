import { OrchError } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import type { Event } from '../../state/facts.ts';
import { compareStamps } from '../../state/join.ts';
import { bounds, type Entry, type List, type ListName, type State } from '../../state/lists.ts';
import { newestRuns, type RunPart, readRuns, runOf } from '../../state/runs.ts';
import { cutBytes } from '../../text.ts';
import {
  type CheckpointDocument,
  type DocumentContent,
  formatDocument,
  maxDocumentBytes,
  maxReadBytes,
  sealDocument,
} from './document.ts';

/** The most events and bytes of one checkpoint. */
const maxEvents = 200;
const maxEventBytes = 64 * 1024;

/** Splits events into as many checkpoints as they need; no events give one empty part. */
export function partEvents(events: readonly Event[]): Event[][] {
  const parts: Event[][] = [[]];
  let bytes = 0;
  for (const event of events) {
    const size = Buffer.byteLength(JSON.stringify(event));
    const part = parts.at(-1);
    if (part && part.length > 0 && (part.length >= maxEvents || bytes + size > maxEventBytes)) {
      parts.push([event]);
      bytes = size;
    } else {
      part?.push(event);
      bytes += size;
    }
  }
  return parts;
}

type Step = { readonly runs: RunTrimming } | { readonly textBytes: number; readonly entries: number };

// First, runs that cannot be resumed lose their details, then long texts are shortened, then old entries are dropped.
// Everything stays in the history.
const steps: readonly Step[] = [
  { runs: 'old' },
  { runs: 'succeeded' },
  { textBytes: 1_024, entries: 100 },
  { textBytes: 256, entries: 100 },
  { textBytes: 256, entries: 50 },
  { textBytes: 128, entries: 20 },
  { textBytes: 64, entries: 5 },
];

/** Lists that are never cut: money, marks, goals, current values, and runs, which have steps of their own. */
const whole: readonly string[] = ['current', 'goals', 'sessions', 'ledger', 'runs'] satisfies ListName[];

/** Seals a document and makes it small enough to store, which it nearly always is already. */
export function fitDocument(content: DocumentContent): { document: CheckpointDocument; bytes: Buffer } {
  let fitted = content;
  for (const step of [...steps, null]) {
    const document = sealDocument(fitted);
    const bytes = formatDocument(document);
    if (bytes.length <= maxDocumentBytes) return { document, bytes };
    if (step === null) return { document, bytes: refuseUnreadable(bytes, content.epicId) };
    fitted = 'runs' in step ? slim(fitted, step.runs) : shrink(fitted, step);
  }
  throw new Error('unreachable: the last step returns');
}

/** Refuses what no clone could read again: it must not be acknowledged. */
function refuseUnreadable(bytes: Buffer, epicId: string): Buffer {
  if (bytes.length <= maxReadBytes) return bytes;
  throw new OrchError('INTEGRITY', `the state of ${epicId} takes ${bytes.length} bytes, too many to store`, {
    hint: `Everything recorded is safe in the journals. Continue with another epic, and inspect this one with: orch checkpoint show -e ${epicId}`,
    data: { epicId, bytes: bytes.length },
  });
}

function slim(content: DocumentContent, which: RunTrimming): DocumentContent {
  return { ...content, state: { ...content.state, runs: slimRuns(content.state.runs, which) } };
}

type Bounds = Extract<Step, { readonly entries: number }>;

function shrink(content: DocumentContent, { textBytes, entries }: Bounds): DocumentContent {
  const state = Object.entries(content.state).map(([name, list]) =>
    name in bounds && !whole.includes(name)
      ? [name, shorten(keepNewest(list as List<unknown>, entries), textBytes)]
      : [name, list],
  );
  // The same lists under the same names, some of them shorter.
  return {
    ...content,
    state: Object.fromEntries(state) as State,
    events: shorten(content.events, textBytes),
  };
}

function keepNewest(list: List<unknown>, entries: number): List<unknown> {
  const sorted = Object.entries(list).sort(([, a], [, b]) => compareStamps(b.stamp, a.stamp));
  return Object.fromEntries(sorted.slice(0, entries));
}

/** Shortens every text in a value. */
function shorten<T>(value: T, bytes: number): T {
  const shortenAny = (part: unknown): unknown => {
    if (typeof part === 'string') return cutBytes(part, bytes);
    if (Array.isArray(part)) return part.map(shortenAny);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, shortenAny(inner)]));
  };
  return shortenAny(value) as T; // only texts change, and they stay texts
}

/** Which runs may lose their details: those that cannot be resumed, or also those that succeeded. */
export type RunTrimming = 'old' | 'succeeded';

/**
 * Drops details of runs that are no longer needed: the tasks and effects of runs that a later run of their plan
 * replaced, and what a later session of the same run has restated. What can be resumed stays complete, and no
 * acknowledgement that only one session has is lost.
 */
export function slimRuns(runs: List<RunPart>, which: RunTrimming): List<RunPart> {
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

/** The last written part of each run, among those with a head. */
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
