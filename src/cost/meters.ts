import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import type { Micros } from '../types.ts';
import type { Nanos } from './fields.ts';
import { noUsage, type Usage } from './ledger.ts';
import type { Tallies, Tally } from './messages.ts';
import { guessOf, withOpenGuess } from './money.ts';
import { countUnpriced, findPrice, guessTokens, type Prices, plainModel, priceTokens } from './pricing.ts';
import { addTokens, combineTokens, noTokens, subtractTokens, sumTokens, type Tokens } from './tokens.ts';
import type { OwnFigure } from './usage.ts';

/** What each model has used up so far, with its price. */
export type Meters = Keyed<Usage>;

/** What an agent itself says of a model. */
export type OwnAccount = Omit<OwnFigure, 'model'>;
export type OwnAccounts = Keyed<OwnAccount>;

/** Both accounts in one, where each tells of something else. */
export function addAccounts(a: OwnAccount, b: OwnAccount): OwnAccount {
  return {
    tokens: addTokens(a.tokens, b.tokens),
    nanos: a.nanos + b.nanos,
    isGuess: a.isGuess || b.isGuess,
  };
}

/** The larger of two accounts of the same: they only grow. */
export function mergeAccounts(a: OwnAccount, b: OwnAccount): OwnAccount {
  return {
    tokens: combineTokens(a.tokens, b.tokens, Math.max),
    nanos: Math.max(a.nanos, b.nanos),
    isGuess: a.isGuess || b.isGuess,
  };
}

/**
 * Prices what was counted. Without a price the agent's own figures are taken; the other tokens stay unpriced, and what
 * they may cost at the most is kept apart, as a guess.
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
    // Of what the agent gave figures for, only the number of tokens is known, not of which kind they are.
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

/** Adds the agent's own figure to what is priced. */
function withEstimate(usage: Usage, more: Micros): Usage {
  if (more <= 0) return usage;
  return { ...usage, micros: usage.micros + more, estimated: (usage.estimated ?? 0) + more };
}

/** Where the agent's own account of a model is not ours. */
export type Difference = {
  readonly model: string;
  readonly counted: Usage;
  readonly reported: Usage;
};

/**
 * Compares what was counted with what the agent says, model by model, and gives the meters that count:
 * - Tokens: the larger of each kind. An agent also asks models for things that are in no transcript.
 * - Money: those missing tokens at our price. If the agent's figure is still larger, it counts, marked as estimated:
 *   some prices (long prompts, fast answers, searches) are not told by tokens, and a budget must not be overrun.
 *   But not over a price the user set, and not where the agent says it guessed and we have a price.
 * An account is of the time it was given: `since` is what was counted after that. What only the agent knew of before
 * must not be taken for it.
 */
export function reconcile(
  meters: Meters,
  accounts: OwnAccounts,
  users: Prices,
  since: Keyed<Tokens> = {},
): { readonly meters: Meters; readonly differences: readonly Difference[] } {
  const result = new Map(Object.entries(meters));
  const differences: Difference[] = [];
  for (const [plain, account] of Object.entries(groupByPlainModel(accounts))) {
    const names = [...result.keys()].filter((name) => plainModel(name) === plain).sort();
    const counted = names.reduce((sum, name) => addUp(sum, lookUp(meters, name) ?? noUsage), noUsage);
    const reported = { ...usageOf(account.tokens), micros: roundNanos(account.nanos) };
    if (!isSame(counted, reported)) differences.push({ model: plain, counted, reported });
    // The agent does not say which of the dates it was; any will do, as long as it is always the same.
    const [name = plain] = names;
    const own = result.get(name) ?? noUsage;
    const later = sumLater(since, plain);
    result.set(name, raise(own, counted, account, name, users, later));
    // The agent's figure is of all of them together.
    for (const other of names.slice(1))
      if (account.nanos > 0 && findPrice(other, users) === null)
        result.set(other, withOpenGuess(result.get(other) ?? noUsage, 0));
  }
  return { meters: Object.fromEntries(result), differences };
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

function isSame(a: Usage, b: Usage): boolean {
  const kinds = ['micros', 'input', 'output', 'cacheRead', 'cacheWrite'] as const;
  return kinds.every((kind) => a[kind] === b[kind]);
}

function raise(
  own: Usage,
  counted: Usage,
  account: OwnAccount,
  model: string,
  users: Prices,
  since: Tokens,
): Usage {
  const told = addTokens(account.tokens, tokensOf(usageOf(since)));
  const missing = subtractTokens(told, tokensOf(counted));
  const figure = roundNanos(account.nanos);
  const price = findPrice(model, users);
  const added = addUp(own, usageOf(missing));
  const raised = own.estimated === undefined ? added : { ...added, estimated: own.estimated };
  const guess = guessOf(own) + guessTokens(price, model, missing, users);
  if (price === null) {
    if (figure === 0) return withOpenGuess({ ...raised, unpriced: own.unpriced + sumTokens(missing) }, guess);
    // Its figure is for the tokens of its account; what came after those is still without a price.
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
