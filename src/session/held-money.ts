import { type LedgerRow, mergeRows, meterName, noUsage, totalUsage, type Usage } from '../cost/ledger.ts';
import { guessOf, spentIn, withOpenGuess } from '../cost/money.ts';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { Micros, SessionId } from '../types.ts';

/*
 * What a supervisor knows of an epic's money, in its own memory. Refs and journals are files, and its agent can write
 * them: put an older tip in place, cut a journal, add lines that say that less was spent or that the budget is higher.
 * None of that lowers what is held here, and only a raise that was granted lifts the limit.
 */

export type Held = {
  readonly session: SessionId;
  /** Every meter at its highest reading. */
  readonly ledger: Keyed<{ readonly value: LedgerRow }>;
  /** What is guessed for the session's models, by the agent's own files: a journal could say that less is. */
  readonly guesses: Keyed<Micros>;
  /** Null: no limit. */
  readonly limit: Micros | null;
  /** A raise was granted, and whoever asked records it next: until then the state says what it said. */
  readonly raisedFrom: { readonly limit: Micros | null } | null;
};

/** The meter under which money is put back that disappeared from the record. */
const restored = 'restored';

export function holdMoney(state: State, session: SessionId): Held {
  const ledger = readLedger(state, session);
  return { session, ledger, guesses: {}, limit: budgetOf(state), raisedFrom: null };
}

/** The same after another look. Spending only rises, and the limit only falls. */
export function holdOn(held: Held, state: State): Held {
  const limit = budgetOf(state);
  const isOnItsWay = held.raisedFrom !== null && held.raisedFrom.limit === limit;
  const money = isOnItsWay ? held : { ...held, limit: lowerOf(held.limit, limit), raisedFrom: null };
  return withLedger(money, readLedger(state, held.session));
}

/** The same with what the agent's own files say, whatever becomes of it on disk. */
export function holdReadings(held: Held, state: State, facts: readonly Fact[]): Held {
  const writer = lookUp(state.sessions, held.session)?.value.writer ?? '';
  const generation = lookUp(held.ledger, writer)?.value.generation ?? 0;
  const meters: { [name: string]: Usage } = {};
  const guesses = { ...held.guesses };
  for (const fact of facts) {
    if (fact.kind !== 'meter') continue;
    meters[meterName(held.session, fact.model)] = onlyMoney(fact.usage);
    guesses[fact.model] = guessOf(fact.usage);
  }
  return withLedger({ ...held, guesses }, { [writer]: { value: { generation, folded: {}, meters } } });
}

/** The same with a higher limit, that a person set. */
export function grantRaise(held: Held, state: State, limit: Micros | null): Held {
  return { ...held, limit, raisedFrom: { limit: budgetOf(state) } };
}

export function spentOf({ ledger, session, guesses }: Held): Micros {
  const prefix = meterName(session, '');
  const withGuesses = ([name, usage]: [string, Usage]) => {
    const guess = name.startsWith(prefix) ? lookUp(guesses, name.slice(prefix.length)) : undefined;
    return [name, guess === undefined ? usage : withOpenGuess(usage, guess)] as const;
  };
  const rows = Object.entries(ledger).map(([writer, { value }]) => {
    const meters = Object.fromEntries(Object.entries(value.meters).map(withGuesses));
    return [writer, { value: { ...value, meters } }] as const;
  });
  return spentIn(Object.fromEntries(rows));
}

/** Is the money gone, by all that is known here? */
export function findOverrun(held: Held) {
  const { limit } = held;
  const spent = spentOf(held);
  return limit !== null && spent >= limit ? { kind: 'budget' as const, spent, limit } : null;
}

/** The facts that make a state say again what is held: it was changed behind orch's back. */
export function planRepairs(held: Held, state: State): Fact[] {
  const facts: Fact[] = [];
  const known = Object.values(state.ledger).map(
    ({ value }) => value.meters[meterName(held.session, restored)],
  );
  const before = Math.max(0, ...known.map((usage) => usage?.micros ?? 0));
  // Only what is certain: a guess is made anew at every reading, and what was taken back stays taken back.
  const missing = totalUsage(held.ledger).micros - totalUsage(state.ledger).micros;
  if (missing > 0)
    facts.push({ kind: 'meter', model: restored, usage: { ...noUsage, micros: before + missing } });
  const limit = budgetOf(state);
  if (limit !== held.limit && lowerOf(limit, held.limit) === held.limit)
    facts.push({ kind: 'budget_set', limit: held.limit });
  return facts;
}

function withLedger(held: Held, seen: Held['ledger']): Held {
  const ledger = mergeKeyed(held.ledger, seen, (a, b) => ({
    value: keepMost(a.value, b.value, held.session),
  }));
  return { ...held, ledger };
}

/**
 * A row and the same row seen again. A later generation sums up, so it replaces the one before only if it comes to at
 * least as much. Of any other generation, only the running session's meters are news.
 */
function keepMost(known: LedgerRow, seen: LedgerRow, session: SessionId): LedgerRow {
  const isSummary = seen.generation > known.generation && moneyIn(seen) >= moneyIn(known);
  if (isSummary) return seen;
  const own = Object.entries(seen.meters).filter(([name]) => name.startsWith(`${session}/`));
  const meters = seen.generation === known.generation ? seen.meters : Object.fromEntries(own);
  return mergeRows(known, { ...seen, generation: known.generation, meters });
}

const moneyIn = (value: LedgerRow): Micros => totalUsage({ row: { value } }).micros;

/** What a state's ledger says, as far as it is money at all. What was put back here is counted where it was lost. */
function readLedger(state: State, session: SessionId): Held['ledger'] {
  const own = meterName(session, restored);
  return Object.fromEntries(
    Object.entries(state.ledger).map(([writer, { value }]) => {
      const meters = Object.entries(value.meters).flatMap(([name, usage]) =>
        name !== own && isMoney(usage?.micros) ? [[name, onlyMoney(usage)]] : [],
      );
      const generation = Number.isSafeInteger(value.generation) ? value.generation : 0;
      return [writer, { value: { generation, folded: {}, meters: Object.fromEntries(meters) } }];
    }),
  );
}

const onlyMoney = ({ micros, ...usage }: Usage): Usage => {
  const parts = (['guessed', 'settled', 'corrected'] as const).filter((part) => isMoney(usage[part]));
  return { ...noUsage, micros, ...Object.fromEntries(parts.map((part) => [part, usage[part]])) };
};
const isMoney = (micros: unknown): boolean => Number.isSafeInteger(micros) && Number(micros) >= 0;

/** No limit is the highest. */
function lowerOf(a: Micros | null, b: Micros | null): Micros | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
