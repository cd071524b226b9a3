import type { ContextReading } from '../../cost/context-window.ts';
import type { Nanos } from '../../cost/json-fields.ts';
import { addUsage, exceeds, noUsage, subtractUsage, type Usage } from '../../cost/ledger.ts';
import { followFigure, type LiveFigure, sumMoney } from '../../cost/live-figure.ts';
import { followReading, guessOf, withOpenGuess } from '../../cost/money.ts';
import type { Prices } from '../../cost/pricing.ts';
import { type Keyed, lookUp, mergeKeyed } from '../../keyed.ts';
import type { Fact } from '../../state/facts.ts';
import type { WritePorts } from '../../system/disk.ts';
import type { Micros, Millis } from '../../types.ts';
import { type Meters, makeMeters, reconcileMeters } from './meters.ts';
import { readTranscript, unread } from './transcript.ts';
import { loadCached, storeCached } from './transcript-cache.ts';

type MeterRequest = {
  /** The cache file, one per session of orch. */
  readonly cache: string;
  /** All transcripts of the session; its meters cover them together. */
  readonly paths: readonly string[];
  readonly prices: Prices;
  /** The session's meters as recorded so far. */
  readonly recorded: Meters;
  /** What the transcripts held when the session started, if it continued them: that belongs to earlier sessions. */
  readonly before: Meters;
  /** When the conversations of newer files started: anything older in them belongs to earlier sessions too. */
  readonly begins?: Keyed<Millis>;
  /** The total cost the agent itself shows in the meantime. */
  readonly figure?: LiveFigure | null;
  /** Do the agents write their accounts into these files? Then an account covers only what precedes it. */
  readonly isFollowed: boolean;
};

export type MeterResult = {
  readonly facts: readonly (Fact & { kind: 'meter' })[];
  /** By model; the `before` of a session that continues these transcripts. */
  readonly meters: Meters;
  /** The sum of the session's own meters, without the agent's figure. */
  readonly counted: Micros;
  /** The sum of the agents' own accounts. */
  readonly reported: Nanos;
  /** By transcript: what is in its agent's context window, if known. */
  readonly contexts: Keyed<ContextReading | null>;
};

/**
 * Reads a session's meters from its agents' transcripts, but only what was added since the last time.
 * Without the cache everything is read again, with the same result. If a transcript is gone by then too, more is
 * recorded than can be read: the difference is remembered, so nothing is billed twice and new usage counts on top.
 * Only what was written between the last reading and the loss may be missed.
 */
export async function meterTranscripts(
  ports: WritePorts,
  { cache, paths, prices, recorded, before, begins = {}, figure = null, isFollowed }: MeterRequest,
): Promise<MeterResult> {
  const cached = loadCached(cache);
  const { state, reading } = readTranscript(cached?.state ?? unread, paths, undefined, begins);
  const meters = reconcileMeters(
    makeMeters(reading.counted, prices),
    reading.accounts,
    prices,
    isFollowed ? reading.since : {},
  );
  const others = mergeKeyed(before, makeMeters(state.repeated, prices), addUsage);
  const own = subtractMeters(meters, others, subtractEarlier);
  const reported = Object.values(reading.accounts).reduce((sum, { nanos }) => sum + nanos, 0);
  const read = figure === null ? own : followFigure(own, figure, reported, prices);
  const lost = cached?.lost ?? findLost(recorded, own);
  // An incomplete last line is read again anyway: only complete ones are worth storing.
  const isNew = cached === null || JSON.stringify(cached.state.files) !== JSON.stringify(state.files);
  if (isNew) await storeCached(ports, cache, { state, lost });
  const facts = Object.entries(mergeKeyed(read, lost, addUsage)).map(([model, usage]) => {
    return { kind: 'meter', model, usage: followReading(lookUp(recorded, model), usage) } as const;
  });
  const contexts = Object.fromEntries(
    Object.entries(state.files).map(([path, { context }]) => [path, context]),
  );
  return { facts, meters, counted: sumMoney(own), reported, contexts };
}

/** Subtracts meters, and drops those with nothing left. */
function subtractMeters(later: Meters, earlier: Meters, subtract: typeof subtractUsage): Meters {
  return Object.fromEntries(
    Object.entries(later)
      .map(([model, usage]) => [model, subtract(usage, lookUp(earlier, model) ?? noUsage)] as const)
      .filter(([, usage]) => exceeds(usage, noUsage)),
  );
}

/** An earlier session counted a guess for what has a figure now: only the excess is this session's. */
function subtractEarlier(later: Usage, earlier: Usage): Usage {
  const replaced = Math.max(0, guessOf(earlier) - guessOf(later));
  return subtractUsage(later, { ...earlier, micros: earlier.micros + replaced });
}

/** What was recorded but is in no file any more. A guess is lost only together with its tokens. */
function findLost(recorded: Meters, own: Meters): Meters {
  const open = Object.entries(recorded).map(([model, usage]) => {
    const { micros: _, ...tokens } = subtractUsage(withOpenGuess(usage, 0), lookUp(own, model) ?? noUsage);
    const isLost = exceeds({ ...noUsage, ...tokens, unpriced: 0, estimated: 0 }, noUsage);
    return [model, withOpenGuess(usage, isLost ? guessOf(usage) : 0)] as const;
  });
  return subtractMeters(Object.fromEntries(open), own, subtractUsage);
}
