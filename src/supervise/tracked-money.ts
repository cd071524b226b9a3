import type { Stop } from '../checkpoint/policy.ts';
import { type LedgerRow, mergeRows, meterName, noUsage, totalUsage, type Usage } from '../cost/ledger.ts';
import { guessOf, spentIn, withOpenGuess } from '../cost/money.ts';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { answerRaises } from '../record/raise.ts';
import { readView } from '../record/view.ts';
import { isNews } from '../session/agent/meter-session.ts';
import { budgetOf } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { Micros, SessionId } from '../types.ts';
import { formatUsd } from '../units.ts';

/*
 * What a supervisor remembers of an epic's money. Refs and journals are files that its agent can write: it could put
 * an older tip in place, cut a journal, or add lines that lower the spending or raise the budget. None of that lowers
 * the spending remembered here, and only a raise that was granted lifts the limit.
 */

/** Tracks what an epic has spent and may spend, from look to look. */
export type MoneyTracker = {
  /** Takes in what the agent's files say, and returns what is not recorded yet. */
  takeReadings(state: State, facts: Fact[]): Fact[];
  /** Compares a state with what is remembered; returns the facts that undo changes made outside orch. */
  checkState(state: State): Promise<Fact[]>;
  /** Finds out whether the money is gone, whatever the state says. */
  findOverrun(): Stop | null;
};

/** Starts to track the money. Call it before the agent starts: afterwards the agent can change what is recorded. */
export async function trackMoney(
  ports: SessionPorts,
  { epic, session }: RunningSession,
  onEvent: (event: { readonly kind: 'fault'; readonly message: string }) => void,
): Promise<MoneyTracker> {
  let money = rememberMoney((await readView(ports, epic)).state, session);
  let lastRepairs = '';
  return {
    takeReadings(state, facts) {
      money = addReadings(money, state, facts);
      return facts.filter(isNews(state, session));
    },
    async checkState(state) {
      for (const limit of await answerRaises(ports, session)) money = grantRaise(money, state, limit);
      money = addState(money, state);
      const repairs = planRepairs(money, state);
      const now = JSON.stringify(repairs);
      // A repair that did not help is not tried again: the limit is kept either way.
      if (repairs.length === 0 || now === lastRepairs) return [];
      lastRepairs = now;
      const limit = money.limit === null ? 'no limit' : formatUsd(money.limit);
      const message = `The record of ${epic}'s money was changed from outside orch. Still counted: ${formatUsd(sumSpent(money))} of ${limit}`;
      onEvent({ kind: 'fault', message });
      return repairs;
    },
    findOverrun: () => findOverrun(money),
  };
}

export type RememberedMoney = {
  readonly session: SessionId;
  /** Every meter at its highest reading. */
  readonly ledger: Keyed<{ readonly value: LedgerRow }>;
  /** The estimates for the session's models, from the agent's own files: a journal could claim less. */
  readonly guesses: Keyed<Micros>;
  /** Null: no limit. */
  readonly limit: Micros | null;
  /** A raise was granted, and the caller records it next: until then the state has the limit from before. */
  readonly raisedFrom: { readonly limit: Micros | null } | null;
};

/** The meter that puts back spending which disappeared from the record. */
const restored = 'restored';

export function rememberMoney(state: State, session: SessionId): RememberedMoney {
  const ledger = readLedger(state, session);
  return { session, ledger, guesses: {}, limit: budgetOf(state), raisedFrom: null };
}

/** Adds what a state says. Spending only rises, and the limit only falls. */
export function addState(money: RememberedMoney, state: State): RememberedMoney {
  const limit = budgetOf(state);
  const isRaiseComing = money.raisedFrom !== null && money.raisedFrom.limit === limit;
  const next = isRaiseComing ? money : { ...money, limit: lowerOf(money.limit, limit), raisedFrom: null };
  return withLedger(next, readLedger(state, money.session));
}

/** Adds what the agent's own files say, even if it is never recorded. */
export function addReadings(money: RememberedMoney, state: State, facts: readonly Fact[]): RememberedMoney {
  const writer = lookUp(state.sessions, money.session)?.value.writer ?? '';
  const generation = lookUp(money.ledger, writer)?.value.generation ?? 0;
  const meters: { [name: string]: Usage } = {};
  const guesses = { ...money.guesses };
  for (const fact of facts) {
    if (fact.kind !== 'meter') continue;
    meters[meterName(money.session, fact.model)] = onlyMoney(fact.usage);
    guesses[fact.model] = guessOf(fact.usage);
  }
  return withLedger({ ...money, guesses }, { [writer]: { value: { generation, folded: {}, meters } } });
}

/** Accepts a higher limit that a person set. */
export function grantRaise(money: RememberedMoney, state: State, limit: Micros | null): RememberedMoney {
  return { ...money, limit, raisedFrom: { limit: budgetOf(state) } };
}

export function sumSpent({ ledger, session, guesses }: RememberedMoney): Micros {
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

export function findOverrun(money: RememberedMoney): Stop | null {
  const { limit } = money;
  const spent = sumSpent(money);
  return limit !== null && spent >= limit ? { kind: 'budget', spent, limit } : null;
}

/** Plans the facts that correct a state which was changed outside orch. */
export function planRepairs(money: RememberedMoney, state: State): Fact[] {
  const facts: Fact[] = [];
  const known = Object.values(state.ledger).map(
    ({ value }) => value.meters[meterName(money.session, restored)],
  );
  const before = Math.max(0, ...known.map((usage) => usage?.micros ?? 0));
  // Only certain costs: every reading makes its estimates anew, and a withdrawn estimate stays withdrawn.
  const missing = totalUsage(money.ledger).micros - totalUsage(state.ledger).micros;
  if (missing > 0)
    facts.push({ kind: 'meter', model: restored, usage: { ...noUsage, micros: before + missing } });
  const limit = budgetOf(state);
  if (limit !== money.limit && lowerOf(limit, money.limit) === money.limit)
    facts.push({ kind: 'budget_set', limit: money.limit });
  return facts;
}

function withLedger(money: RememberedMoney, seen: RememberedMoney['ledger']): RememberedMoney {
  const ledger = mergeKeyed(money.ledger, seen, (a, b) => ({
    value: keepMost(a.value, b.value, money.session),
  }));
  return { ...money, ledger };
}

/**
 * Merges a row with the same row seen again. A later generation is a summary, so it replaces the earlier one only if it
 * amounts to at least as much. Of any other generation, only the running session's meters count.
 */
function keepMost(known: LedgerRow, seen: LedgerRow, session: SessionId): LedgerRow {
  const isSummary = seen.generation > known.generation && moneyIn(seen) >= moneyIn(known);
  if (isSummary) return seen;
  const own = Object.entries(seen.meters).filter(([name]) => name.startsWith(`${session}/`));
  const meters = seen.generation === known.generation ? seen.meters : Object.fromEntries(own);
  return mergeRows(known, { ...seen, generation: known.generation, meters });
}

const moneyIn = (value: LedgerRow): Micros => totalUsage({ row: { value } }).micros;

/** Reads the valid amounts of a state's ledger. Spending put back here already counts where it was lost. */
function readLedger(state: State, session: SessionId): RememberedMoney['ledger'] {
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
