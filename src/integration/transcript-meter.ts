import type { ContextReading } from '../cost/context.ts';
import type { Nanos } from '../cost/fields.ts';
import { followFigure, type LiveFigure, sumMoney } from '../cost/figure.ts';
import { addUsage, exceeds, noUsage, subtractUsage, type Usage } from '../cost/ledger.ts';
import { type Difference, type Meters, makeMeters, reconcile } from '../cost/meters.ts';
import { followReading, guessOf, withOpenGuess } from '../cost/money.ts';
import type { Prices } from '../cost/pricing.ts';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { Random } from '../system/clock.ts';
import type { Disk } from '../system/files.ts';
import type { Micros, Millis } from '../types.ts';
import { type FileNotice, readTranscript, unread } from './transcript.ts';
import { loadCached, storeCached } from './transcript-cache.ts';

export type MeterRequest = {
  /** Where what was read is remembered: one file a session of orch. */
  readonly cache: string;
  /** All transcripts of the session: its meters are of all of them together. */
  readonly paths: readonly string[];
  /** The prices the user set. */
  readonly prices: Prices;
  /** What the session's meters read, as far as it is recorded. */
  readonly recorded: Meters;
  /** What the transcripts held when the session began, if it went on with them: that was another session's. */
  readonly before: Meters;
  /** When the conversations of files began that were not there then: what is older in them is another session's too. */
  readonly begins?: Keyed<Millis>;
  /** What the agent says meanwhile that it has cost in all. */
  readonly figure?: LiveFigure | null;
  /** Do the agents give their accounts in these files, behind what they are of? Then what follows is not in them. */
  readonly isFollowed: boolean;
};

export type MeterResult = {
  /** A reading of each meter. */
  readonly facts: readonly (Fact & { kind: 'meter' })[];
  /** The same by model; what `before` is for a session that goes on with these transcripts. */
  readonly meters: Meters;
  /** What the session's own meters come to, whatever the agent says of itself meanwhile, and what its accounts do. */
  readonly counted: Micros;
  readonly told: Nanos;
  /** Where an agent's own account is another than ours. */
  readonly differences: readonly Difference[];
  readonly notices: readonly FileNotice[];
  /** By transcript: what is in the window of the agent that writes it; null where it does not tell. */
  readonly contexts: Keyed<ContextReading | null>;
};

/**
 * Reads a session's meters from its agents' transcripts: only what was added since the last time.
 * Without its cache everything is read again, and gives the same. If by then a transcript is gone too, what was
 * recorded is more than can be read: the difference is remembered, so nothing is billed twice, and what comes
 * counts from there on. Only what was written between the last reading and the loss may be missed.
 */
export async function meterTranscripts(
  { disk, random }: { readonly disk: Disk; readonly random: Random },
  { cache, paths, prices, recorded, before, begins = {}, figure = null, isFollowed }: MeterRequest,
): Promise<MeterResult> {
  const cached = loadCached(cache);
  const { state, reading, notices } = readTranscript(cached?.state ?? unread, paths, undefined, begins);
  const { meters, differences } = reconcile(
    makeMeters(reading.counted, prices),
    reading.accounts,
    prices,
    isFollowed ? reading.since : {},
  );
  const others = mergeKeyed(before, makeMeters(state.repeated, prices), addUsage);
  const own = subtractMeters(meters, others, subtractEarlier);
  const told = Object.values(reading.accounts).reduce((sum, { nanos }) => sum + nanos, 0);
  const read = figure === null ? own : followFigure(own, figure, told, prices);
  const lost = cached?.lost ?? findLost(recorded, own);
  // A last line that is still growing is read again anyway: only whole ones are worth keeping.
  const isNew = cached === null || JSON.stringify(cached.state.files) !== JSON.stringify(state.files);
  if (isNew) await storeCached(disk, cache, { state, lost }, cached, random);
  const facts = Object.entries(mergeKeyed(read, lost, addUsage)).map(([model, usage]) => {
    return { kind: 'meter', model, usage: followReading(lookUp(recorded, model), usage) } as const;
  });
  const contexts = Object.fromEntries(
    Object.entries(state.files).map(([path, { context }]) => [path, context]),
  );
  return { facts, meters, counted: sumMoney(own), told, differences, notices, contexts };
}

/** What is left of meters; those of which nothing is are left out. */
function subtractMeters(later: Meters, earlier: Meters, subtract: typeof subtractUsage): Meters {
  return Object.fromEntries(
    Object.entries(later)
      .map(([model, usage]) => [model, subtract(usage, lookUp(earlier, model) ?? noUsage)] as const)
      .filter(([, usage]) => exceeds(usage, noUsage)),
  );
}

/** A session before counted a guess for what has a figure now: only what is beyond the guess is this one's. */
function subtractEarlier(later: Usage, earlier: Usage): Usage {
  const replaced = Math.max(0, guessOf(earlier) - guessOf(later));
  return subtractUsage(later, { ...earlier, micros: earlier.micros + replaced });
}

/** What was recorded and is in no file any more. A guess is lost only together with its tokens. */
function findLost(recorded: Meters, own: Meters): Meters {
  const open = Object.entries(recorded).map(([model, usage]) => {
    const { micros: _, ...tokens } = subtractUsage(withOpenGuess(usage, 0), lookUp(own, model) ?? noUsage);
    const isLost = exceeds({ ...noUsage, ...tokens, unpriced: 0, estimated: 0 }, noUsage);
    return [model, withOpenGuess(usage, isLost ? guessOf(usage) : 0)] as const;
  });
  return subtractMeters(Object.fromEntries(open), own, subtractUsage);
}
