import { parseBudget } from '../cost/budget.ts';
import { totalUsage } from '../cost/ledger.ts';
import type { Prices } from '../cost/pricing.ts';
import { listUnpriced } from '../cost/unpriced.ts';
import { OrchError } from '../errors.ts';
import { budgetOf } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Micros } from '../types.ts';
import { formatUsd } from '../units.ts';
import { findOrigin } from './origin.ts';
import { notFromOutside } from './raise.ts';
import type { SessionSettings } from './settings.ts';

/** Who sets a budget: an agent by its own account, or else as the system shows. */
export type Caller = { readonly byAgent: boolean; readonly home: string };

/** The fact that sets an epic's budget to what was typed: `20` in all, `+20` more than is spent, `none`. */
export function setBudget(
  epic: EpicId,
  state: State,
  text: string,
  caller: Caller,
  prices: Prices = {},
): Extract<Fact, { kind: 'budget_set' }> {
  const limit = parseBudget(text, totalUsage(state.ledger).micros);
  if (isRaise(budgetOf(state), limit)) refuseFromInside(epic, budgetOf(state), limit, caller);
  refuseUnpriced(epic, state, limit, prices);
  return { kind: 'budget_set', limit };
}

/** What the config gives an epic in which nothing has begun yet, whoever begins it. */
export function firstBudget(state: State, { newEpicBudget: limit }: SessionSettings): Fact[] {
  const isNew = Object.keys(state.sessions).length === 0;
  return isNew && limit !== null && limit !== undefined ? [{ kind: 'budget_set', limit }] : [];
}

/** Is there more to spend afterwards? Null is no limit. */
export function isRaise(from: Micros | null, to: Micros | null): boolean {
  return from !== null && (to === null || to > from);
}

/** An agent that could give itself more money would have no budget at all. */
function refuseFromInside(epic: EpicId, from: Micros | null, to: Micros | null, caller: Caller): void {
  const origin = caller.byAgent ? null : findOrigin(caller.home, epic);
  if (origin?.kind === 'outside') return;
  if (origin?.because === 'detached') throw notFromOutside(epic);
  throw new OrchError('BUDGET_REFUSED', `an agent cannot raise its own budget (${formatUsd(from ?? 0)})`, {
    hint: `Ask the person you work for to run: orch cost budget ${to === null ? 'none' : to / 1_000_000} -e ${epic}`,
    data: { epicId: epic, limitUsd: (from ?? 0) / 1_000_000 },
  });
}

/** A budget that cannot be kept is refused: part of what was used has no price, and so will what comes. */
export function refuseUnpriced(epic: EpicId, state: State, limit: Micros | null, prices: Prices): void {
  const unpriced = limit === null ? [] : listUnpriced(state.ledger, prices);
  if (unpriced.length === 0) return;
  const models = unpriced.map(({ model }) => model).join(', ');
  throw new OrchError(
    'BUDGET_REFUSED',
    `a budget of ${epic} could not be kept: nobody knows the price of ${models}`,
    {
      hint: `Set it under prices in .orchestration/config.yaml, or go on without a budget: orch cost budget none -e ${epic}`,
      data: { epicId: epic, unpriced },
    },
  );
}

/** Refuses to begin work that there is no money for. */
export function refuseOverBudget(epic: EpicId, state: State, limit: Micros | null): void {
  const spent = totalUsage(state.ledger).micros;
  if (limit === null || spent < limit) return;
  throw new OrchError(
    'BUDGET_EXCEEDED',
    `${epic} has used up its budget: ${formatUsd(spent)} of ${formatUsd(limit)}`,
    {
      hint: `Give it more, such as: orch resume -e ${epic} --budget +10`,
      data: { epicId: epic, spentUsd: spent / 1_000_000, limitUsd: limit / 1_000_000 },
    },
  );
}
