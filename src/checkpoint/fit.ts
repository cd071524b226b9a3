import { OrchError } from '../errors.ts';
import type { Event } from '../state/facts.ts';
import { compareStamps } from '../state/join.ts';
import { bounds, type List, type ListName, type State } from '../state/lists.ts';
import { cutBytes } from '../text.ts';
import {
  type CheckpointDocument,
  type DocumentContent,
  formatDocument,
  maxDocumentBytes,
  maxReadBytes,
  sealDocument,
} from './document.ts';
import { type Slimming, slimRuns } from './fit-runs.ts';

/** What a checkpoint takes in at the most. */
const maxEvents = 200;
const maxEventBytes = 64 * 1024;

/** Parts events into as many checkpoints as they need; none of them gives one empty part. */
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

type Step = { readonly runs: Slimming } | { readonly textBytes: number; readonly entries: number };

// First runs lose what nobody goes on with, then long texts are shortened, then old entries leave. The whole of it
// stays in the history.
const steps: readonly Step[] = [
  { runs: 'old' },
  { runs: 'succeeded' },
  { textBytes: 1_024, entries: 100 },
  { textBytes: 256, entries: 100 },
  { textBytes: 256, entries: 50 },
  { textBytes: 128, entries: 20 },
  { textBytes: 64, entries: 5 },
];

/** Lists that nothing is cut from: money, marks, what the epic is for and at now, and runs, which have a step of their own. */
const whole: readonly string[] = ['current', 'goals', 'sessions', 'ledger', 'runs'] satisfies ListName[];

/** Seals a document and makes it small enough to store. Nearly always it is, and stays as it was. */
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

/** What no clone would read again must not be acknowledged. */
function refuseUnreadable(bytes: Buffer, epicId: string): Buffer {
  if (bytes.length <= maxReadBytes) return bytes;
  throw new OrchError('INTEGRITY', `the state of ${epicId} has ${bytes.length} bytes, too many to store`, {
    hint: `What was recorded is safe in the journals. Go on with another epic, and look at this one with: orch checkpoint show -e ${epicId}`,
    data: { epicId, bytes: bytes.length },
  });
}

function slim(content: DocumentContent, which: Slimming): DocumentContent {
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
