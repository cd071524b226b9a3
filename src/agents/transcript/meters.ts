import type { Nanos } from '../../cost/json-fields.ts';
import { noUsage, type Usage } from '../../cost/ledger.ts';
import { guessOf, withOpenGuess } from '../../cost/money.ts';
import {
  countUnpriced,
  findPrice,
  guessTokens,
  type Prices,
  plainModel,
  priceTokens,
} from '../../cost/pricing.ts';
import {
  addTokens,
  combineTokens,
  noTokens,
  subtractTokens,
  sumTokens,
  type Tokens,
} from '../../cost/tokens.ts';
import { type Keyed, lookUp, mergeKeyed } from '../../keyed.ts';
import type { Micros } from '../../types.ts';
import type { Tallies, Tally } from './messages.ts';
import type { OwnFigure } from './usage.ts';

/** What each model has used so far, with its price. */
export type Meters = Keyed<Usage>;

/** What an agent itself reports for a model. */
type OwnAccount = Omit<OwnFigure, 'model'>;
export type OwnAccounts = Keyed<OwnAccount>;

/** Adds two accounts of different usage. */
export function addAccounts(a: OwnAccount, b: OwnAccount): OwnAccount {
  return {
    tokens: addTokens(a.tokens, b.tokens),
    nanos: a.nanos + b.nanos,
    isGuess: a.isGuess || b.isGuess,
  };
}

/** Merges two accounts of the same usage: the larger counts, because accounts only grow. */
export function mergeAccounts(a: OwnAccount, b: OwnAccount): OwnAccount {
  return {
    tokens: combineTokens(a.tokens, b.tokens, Math.max),
    nanos: Math.max(a.nanos, b.nanos),
    isGuess: a.isGuess || b.isGuess,
  };
}

/**
 * Prices the counted tokens. Without a price, the agent's own figures count; other tokens stay unpriced, and the most
 * they may cost is kept separately as a guess.
 */
export function makeMeters(tallies: Tallies, users: Prices): Meters {
  return Object.fromEntries(
    Object.entries(tallies).map(([model, tally]) => [model, makeMeter(model, tally, users)]),
  );
}

function makeMeter(model: string, { tokens, nanos, bare }: Tally, users: Prices): Usage {
  const price = findPrice(model, users);
  const guess = guessTokens(price, model, tokens, users);
  if (price === null) {
    // For tokens without a figure only the number is known, not the kinds, so they get their share of the guess.
    const part = guess === 0 ? 0 : Math.ceil((guess * bare) / sumTokens(tokens));
    const usage = withOpenGuess({ ...usageOf(tokens), unpriced: bare }, part);
    return withEstimate(usage, roundNanos(nanos));
  }
  const usage = {
    ...usageOf(tokens),
    micros: priceTokens(price, tokens),
    unpriced: countUnpriced(price, tokens),
  };
  return withOpenGuess(usage, guess);
}

function usageOf({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Tokens): Usage {
  return { ...noUsage, input, output, cacheRead, cacheWrite: cacheWrite5m + cacheWrite1h };
}

function roundNanos(nanos: Nanos): Micros {
  return Math.round(nanos / 1_000);
}

/** Adds the agent's own figure to the priced amount. */
function withEstimate(usage: Usage, more: Micros): Usage {
  if (more <= 0) return usage;
  return { ...usage, micros: usage.micros + more, estimated: (usage.estimated ?? 0) + more };
}

/**
 * Compares our count with the agent's own account, model by model, and returns the meters that count:
 * - Tokens: the larger of each kind. Agents also make requests that are in no transcript.
 * - Money: the missing tokens at our price. If the agent's figure is still larger, it counts, marked as estimated:
 *   some prices (long prompts, fast answers, searches) don't show in tokens, and a budget must not be overrun.
 *   A price the user set always wins, and so does ours over a figure the agent says it guessed.
 * An account holds for the time it was given; `since` is what was counted after that, which the account can't include.
 */
export function reconcileMeters(
  meters: Meters,
  accounts: OwnAccounts,
  users: Prices,
  since: Keyed<Tokens> = {},
): Meters {
  const result = new Map(Object.entries(meters));
  for (const [plain, account] of Object.entries(groupByPlainModel(accounts))) {
    const names = [...result.keys()].filter((name) => plainModel(name) === plain).sort();
    const counted = names.reduce((sum, name) => addUp(sum, lookUp(meters, name) ?? noUsage), noUsage);
    // The agent does not say which dated model it was. Any will do, as long as it is always the same one.
    const [name = plain] = names;
    const own = result.get(name) ?? noUsage;
    const later = sumLater(since, plain);
    result.set(name, raiseUsage(own, counted, account, name, users, later));
    // The agent's figure covers all of them together.
    for (const other of names.slice(1))
      if (account.nanos > 0 && findPrice(other, users) === null)
        result.set(other, withOpenGuess(result.get(other) ?? noUsage, 0));
  }
  return Object.fromEntries(result);
}

function groupByPlainModel(accounts: OwnAccounts): OwnAccounts {
  return Object.entries(accounts).reduce<OwnAccounts>(
    (groups, [model, account]) => mergeKeyed(groups, { [plainModel(model)]: account }, addAccounts),
    {},
  );
}

function sumLater(since: Keyed<Tokens>, plain: string): Tokens {
  return Object.entries(since).reduce(
    (sum, [model, tokens]) => (plainModel(model) === plain ? addTokens(sum, tokens) : sum),
    noTokens,
  );
}

function addUp(a: Usage, b: Usage): Usage {
  return {
    micros: a.micros + b.micros,
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    unpriced: a.unpriced + b.unpriced,
  };
}

function raiseUsage(
  own: Usage,
  counted: Usage,
  account: OwnAccount,
  model: string,
  users: Prices,
  since: Tokens,
): Usage {
  const reported = addTokens(account.tokens, tokensOf(usageOf(since)));
  const missing = subtractTokens(reported, tokensOf(counted));
  const figure = roundNanos(account.nanos);
  const price = findPrice(model, users);
  const added = addUp(own, usageOf(missing));
  const raised = own.estimated === undefined ? added : { ...added, estimated: own.estimated };
  const guess = guessOf(own) + guessTokens(price, model, missing, users);
  if (price === null) {
    if (figure === 0) return withOpenGuess({ ...raised, unpriced: own.unpriced + sumTokens(missing) }, guess);
    // The figure covers the tokens of the account; later ones still have no price.
    const later = subtractTokens(tokensOf(counted), account.tokens);
    const usage = { ...raised, unpriced: Math.min(own.unpriced, sumTokens(later)) };
    const open = withOpenGuess(usage, Math.min(guess, guessTokens(null, model, later, users)));
    return withEstimate(open, figure - counted.micros);
  }
  const more = priceTokens(price, missing);
  const priced = {
    ...raised,
    micros: own.micros + more,
    unpriced: own.unpriced + countUnpriced(price, missing),
  };
  if (price.isUsers || account.isGuess || figure === 0) return withOpenGuess(priced, guess);
  return withEstimate(priced, figure + priceTokens(price, since) - counted.micros - more);
}

function tokensOf({ input, output, cacheRead, cacheWrite }: Usage): Tokens {
  return { input, output, cacheRead, cacheWrite5m: cacheWrite, cacheWrite1h: 0 };
}
