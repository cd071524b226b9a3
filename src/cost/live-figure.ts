import { type Keyed, lookUp } from '../keyed.ts';
import type { Micros } from '../types.ts';
import type { Nanos } from './json-fields.ts';
import type { Usage } from './ledger.ts';
import { guessOf, moneyOf, withOpenGuess } from './money.ts';
import { findPrice, type Prices } from './pricing.ts';

/**
 * What an agent reports while it works as the total cost of its conversation, on its status line, including compactions
 * and models without a price. The conversation may be older than the session, so only growth since the first report
 * counts.
 */
export type LiveFigure = {
  readonly agentSession: string;
  /** The agent's first report, and the session's meters at that time. */
  readonly first: Micros;
  readonly countedFirst: Micros;
  /** The same for the latest report. */
  readonly last: Micros;
  readonly countedLast: Micros;
  /** The agent's own account at that time: a later account knows more than this figure. */
  readonly told: Nanos;
};

/** Each model is rounded separately, and so is the figure. */
const roundings: Micros = 10;

/** The money of all meters of a session. */
export function sumMoney(meters: Keyed<Usage>): Micros {
  return Object.entries(meters).reduce((sum, [model, usage]) => sum + moneyOf(model, usage), 0);
}

/** The figure after another report. A new conversation, or one that counts from zero again, starts a new figure. */
export function nextFigure(
  known: LiveFigure | null,
  agentSession: string,
  figure: Micros,
  counted: Micros,
  told: Nanos,
): LiveFigure {
  const last = { last: figure, countedLast: counted, told };
  const goesOn = known?.agentSession === agentSession && figure >= known.last && known.told === told;
  if (known && goesOn) return { ...known, ...last };
  const before = known?.told === told ? totalOf(known, counted) : counted;
  return { agentSession, first: figure, countedFirst: before, ...last };
}

/**
 * What the session has cost by the figure. The agent's files lag behind it: growth of the meters since may already be in
 * the figure, so it is added only if the meters were too high before.
 */
function totalOf({ first, countedFirst, last, countedLast }: LiveFigure, counted: Micros): Micros {
  const own = countedFirst + last - first;
  return own >= countedLast ? Math.max(counted, own) : own + Math.max(0, counted - countedLast);
}

/**
 * Adjusts the guesses of meters so that they add up to the agent's own figure. They stay guesses until the agent gives
 * its account, because the figure does not split by model. Not if the user set a price, which the agent does not know.
 */
export function followFigure(
  meters: Keyed<Usage>,
  figure: LiveFigure,
  told: Nanos,
  users: Prices,
): Keyed<Usage> {
  const names = Object.keys(meters).sort((a, b) => rank(meters, b) - rank(meters, a));
  if (figure.told !== told || names.some((name) => findPrice(name, users)?.isUsers)) return meters;
  let more = totalOf(figure, sumMoney(meters)) - sumMoney(meters);
  if (Math.abs(more) < roundings) return meters;
  const adjusted = new Map(Object.entries(meters));
  for (const name of names) {
    const usage = adjusted.get(name);
    if (usage === undefined || more === 0) break;
    const guess = Math.max(0, guessOf(usage) + more);
    more -= guess - guessOf(usage);
    adjusted.set(name, withOpenGuess(usage, guess));
  }
  return Object.fromEntries(adjusted);
}

/** The largest guess comes first, then the model with the most output. */
function rank(meters: Keyed<Usage>, name: string): number {
  const usage = lookUp(meters, name);
  return usage === undefined ? 0 : guessOf(usage) * 1e6 + usage.output;
}
