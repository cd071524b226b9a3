import { parseBudget } from '../cost/budget.ts';
import { spentIn } from '../cost/money.ts';
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
): Extract<Fact, { kind: 'budget_set' }> {
  const limit = parseBudget(text, spentIn(state.ledger));
  if (isRaise(budgetOf(state), limit)) refuseFromInside(epic, budgetOf(state), limit, caller);
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

/** An agent that could take back what it spent would have no budget either. */
export function refuseCorrection(epic: EpicId, state: State, caller: Caller): void {
  const isOutside = () => !caller.byAgent && findOrigin(caller.home, epic).kind === 'outside';
  if (budgetOf(state) === null || isOutside()) return;
  throw new OrchError('BUDGET_REFUSED', 'an agent cannot take back a cost while there is a budget', {
    hint: `Ask the person you work for to correct it in a terminal of their own: orch record cost RIGHT --correct WRONG -e ${epic}`,
    data: { epicId: epic },
  });
}

/** Refuses to begin work that there is no money for. */
export function refuseOverBudget(epic: EpicId, state: State, limit: Micros | null): void {
  const spent = spentIn(state.ledger);
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
