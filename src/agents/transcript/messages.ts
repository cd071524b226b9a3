import type { Nanos } from '../../cost/json-fields.ts';
import { addTokens, noTokens, subtractTokens, sumTokens, type Tokens } from '../../cost/tokens.ts';
import { hash } from '../../digest.ts';
import { type Keyed, lookUp } from '../../keyed.ts';
import type { UsageLine } from './usage.ts';

/** What a model has used, as counted from messages. */
export type Tally = {
  readonly tokens: Tokens;
  /** The agent's own figures, for messages that have one. */
  readonly nanos: Nanos;
  /** Tokens of messages without a figure. */
  readonly bare: number;
};
export type Tallies = Keyed<Tally>;

export type Message = { readonly model: string; readonly tokens: Tokens; readonly nanos: Nanos | null };

/**
 * The counted messages, stored compactly. The last ones of each file may still grow, so they are kept whole, the one
 * that grew last at the end. Of all others, only the sum and a digest of each are kept.
 */
export type KeptMessages = {
  /** By the file they first appeared in: how far other files were read does not matter. */
  readonly recent: Keyed<readonly (readonly [digest: number, message: Message])[]>;
  readonly settled: Tallies;
  /** Ascending. */
  readonly digests: Float64Array;
};

export const noMessages: KeptMessages = { recent: {}, settled: {}, digests: new Float64Array() };

export const noTally: Tally = { tokens: noTokens, nanos: 0, bare: 0 };

/** An agent works on few messages at a time: after this many others in its file, one no longer grows. */
const usualWindow = 16;

export type MessageCounter = {
  /** Returns what the line added to the count. */
  add(file: string, line: UsageLine & { kind: 'message' }): Tokens;
  /** Marks that nothing in this file will grow any more. */
  close(file: string): void;
  read(): Tallies;
  keep(): KeptMessages;
};

/**
 * Counts each message once, at the largest size seen, however often and in whichever file it appears.
 * So the order of reading does not matter, and a reading never falls: the last copy written is the largest.
 */
export function countMessages(kept: KeptMessages, window = usualWindow): MessageCounter {
  const files = new Map(Object.entries(kept.recent).map(([file, messages]) => [file, new Map(messages)]));
  const owners = new Map(
    [...files].flatMap(([file, recent]) => [...recent.keys()].map((digest) => [digest, file])),
  );
  let { settled } = kept;
  const fresh = new Set<number>();

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
      // The last to grow goes last. A mere repetition must not displace messages that still grow.
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
      const digests = fresh.size === 0 ? kept.digests : addSorted(kept.digests, fresh);
      return { recent, settled, digests };
    },
  };
}

/** 52 bits fit a number; among a million messages the chance of a collision is one in ten thousand. */
function digestOf(key: string): number {
  return Number.parseInt(hash('sha256', key).slice(0, 13), 16);
}

function includes(sorted: Float64Array, digest: number): boolean {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < digest) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === digest;
}

function addSorted(digests: Float64Array, more: ReadonlySet<number>): Float64Array {
  const all = new Float64Array(digests.length + more.size);
  all.set(digests);
  all.set([...more], digests.length);
  return all.sort();
}

/** Compares whole messages: the larger of each kind of token would be a message that was never written. */
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
