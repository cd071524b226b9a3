import { hash } from '../digest.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import type { Nanos } from './fields.ts';
import { addTokens, noTokens, subtractTokens, sumTokens, type Tokens } from './tokens.ts';
import type { UsageLine } from './usage.ts';

/** What a model has used, by what was counted. */
export type Tally = {
  readonly tokens: Tokens;
  /** The agent's own figures, of the messages that have one. */
  readonly nanos: Nanos;
  /** Tokens of the messages that have none. */
  readonly bare: number;
};
export type Tallies = Keyed<Tally>;

export type Message = { readonly model: string; readonly tokens: Tokens; readonly nanos: Nanos | null };

/**
 * The messages that were counted, in little room. The last ones of each file may still grow, so they are kept as they
 * are, the one that grew last at the end. Of the others only their sum is kept, and what tells that a message is one of
 * them.
 */
export type KeptMessages = {
  /** By the file that had them first: how far the others were read meanwhile says nothing of it. */
  readonly recent: Keyed<readonly (readonly [digest: number, message: Message])[]>;
  readonly settled: Tallies;
  /** Ascending. They stay the same object until the fresh ones are put among them, which is seldom. */
  readonly digests: Float64Array;
  readonly fresh: readonly number[];
};

export const noMessages: KeptMessages = { recent: {}, settled: {}, digests: new Float64Array(), fresh: [] };

export const noTally: Tally = { tokens: noTokens, nanos: 0, bare: 0 };

/** An agent works on a few messages at a time; one is not written to again after so many others in its file. */
const usualWindow = 16;
/** So many digests are quickly read; more are worth being put in order. */
const mostFresh = 512;

export type MessageCounter = {
  /** Gives what the line added to what was counted. */
  add(file: string, line: UsageLine & { kind: 'message' }): Tokens;
  /** Nothing of this file will grow any more. */
  close(file: string): void;
  read(): Tallies;
  keep(): KeptMessages;
};

/**
 * Counts messages, each once however often and in whichever file it comes, at the largest it was seen.
 * So the order of reading does not matter, and a reading never falls; the last one written is the largest.
 */
export function countMessages(kept: KeptMessages, window = usualWindow): MessageCounter {
  const files = new Map(Object.entries(kept.recent).map(([file, messages]) => [file, new Map(messages)]));
  const owners = new Map(
    [...files].flatMap(([file, recent]) => [...recent.keys()].map((digest) => [digest, file])),
  );
  let { settled } = kept;
  const fresh = new Set(kept.fresh);

  function settle(recent: Map<number, Message>, left: number): void {
    const oldest = [...recent].slice(0, recent.size - left);
    for (const [digest, message] of oldest) {
      settled = addTo(settled, message);
      recent.delete(digest);
      owners.delete(digest);
      fresh.add(digest);
    }
  }

  return {
    add(file, { key, model, tokens, nanos }) {
      const digest = digestOf(key);
      const owner = owners.get(digest) ?? file;
      const recent = files.get(owner) ?? new Map<number, Message>();
      const known = recent.get(digest);
      if (known === undefined && (fresh.has(digest) || includes(kept.digests, digest))) return noTokens;
      const now = larger(known, { model, tokens, nanos });
      // Behind all others of its file: it is the last that grew there. One that is only repeated displaces none that grow.
      if (owner === file && now !== known) recent.delete(digest);
      recent.set(digest, now);
      owners.set(digest, owner);
      files.set(owner, recent);
      if (recent.size > 2 * window) settle(recent, window);
      return subtractTokens(now.tokens, known?.tokens ?? noTokens);
    },
    close(file) {
      const recent = files.get(file);
      if (recent) settle(recent, 0);
      files.delete(file);
    },
    read: () => [...files.values()].flatMap((recent) => [...recent.values()]).reduce(addTo, settled),
    keep: () => {
      const recent = Object.fromEntries([...files].map(([file, messages]) => [file, [...messages]]));
      if (fresh.size <= mostFresh) return { recent, settled, digests: kept.digests, fresh: [...fresh] };
      const digests = mergeSorted(kept.digests, Float64Array.from(fresh).sort());
      return { recent, settled, digests, fresh: [] };
    },
  };
}

/** 52 bits: a number holds them, and among a million messages the chance of two alike is one in ten thousand. */
function digestOf(key: string): number {
  return Number.parseInt(hash('sha256', key).slice(0, 13), 16);
}

function includes(sorted: Float64Array, digest: number): boolean {
  return sorted[findPlace(sorted, digest)] === digest;
}

/** Where a number stands among others in order, or would stand. */
function findPlace(sorted: Float64Array, number: number): number {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Both in order. `b` is short: what lies between two of its numbers is copied at once. */
function mergeSorted(a: Float64Array, b: Float64Array): Float64Array {
  const merged = new Float64Array(a.length + b.length);
  let from = 0;
  for (const [index, number] of b.entries()) {
    const to = findPlace(a, number);
    merged.set(a.subarray(from, to), from + index);
    merged[to + index] = number;
    from = to;
  }
  merged.set(a.subarray(from), from + b.length);
  return merged;
}

/** As a whole, not kind by kind: that would make up a message nobody wrote. */
function larger(known: Message | undefined, next: Message): Message {
  if (known === undefined) return next;
  const [a, b] = [rankOf(known), rankOf(next)];
  const place = a.findIndex((value, index) => value !== b[index]);
  return place >= 0 && (a[place] ?? 0) < (b[place] ?? 0) ? next : known;
}

function rankOf({ tokens, nanos }: Message): number[] {
  const { output, input, cacheRead, cacheWrite1h } = tokens;
  return [sumTokens(tokens), output, input, cacheRead, cacheWrite1h, nanos ?? -1];
}

function addTo(tallies: Tallies, { model, tokens, nanos }: Message): Tallies {
  const tally = lookUp(tallies, model) ?? noTally;
  return {
    ...tallies,
    [model]: {
      tokens: addTokens(tally.tokens, tokens),
      nanos: tally.nanos + (nanos ?? 0),
      bare: tally.bare + (nanos === null ? sumTokens(tokens) : 0),
    },
  };
}
