import { type Keyed, lookUp } from '../keyed.ts';
import type { Micros } from '../types.ts';
import type { Nanos } from './fields.ts';
import type { Usage } from './ledger.ts';
import { guessOf, moneyOf, withOpenGuess } from './money.ts';
import { findPrice, type Prices } from './pricing.ts';

/**
 * What an agent says, while it works, that its conversation has cost in all: its status line tells it, compactions and
 * models without a price included. It may have begun before the session, so it counts from where it stood first.
 */
export type LiveFigure = {
  readonly agentSession: string;
  /** What the agent said first, and what the session's meters came to then. */
  readonly first: Micros;
  readonly countedFirst: Micros;
  /** The same now. */
  readonly last: Micros;
  readonly countedLast: Micros;
  /** What the agent's accounts came to then: a later one knows more than the figure. */
  readonly told: Nanos;
};

/** Each model is rounded by itself, and the figure as a whole. */
const roundings: Micros = 10;

/** What the meters of a session come to. */
export function sumMoney(meters: Keyed<Usage>): Micros {
  return Object.entries(meters).reduce((sum, [model, usage]) => sum + moneyOf(model, usage), 0);
}

/** The figure after the agent said another one. A conversation that is new, or counts anew, begins anew here too. */
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
 * What the session has cost by the figure. The agent's files lag behind it: what they have more by now may be in it
 * already, so that is added only where they were said to be too much before.
 */
function totalOf({ first, countedFirst, last, countedLast }: LiveFigure, counted: Micros): Micros {
  const own = countedFirst + last - first;
  return own >= countedLast ? Math.max(counted, own) : own + Math.max(0, counted - countedLast);
}

/**
 * Meters whose guesses come to what the agent says itself. It stays a guess until the agent gives its account: a figure
 * of all models together says nothing of each. Not where the user set a price, which the agent does not know.
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

/** The largest guess comes first, then the model that said most. */
function rank(meters: Keyed<Usage>, name: string): number {
  const usage = lookUp(meters, name);
  return usage === undefined ? 0 : guessOf(usage) * 1e6 + usage.output;
}
