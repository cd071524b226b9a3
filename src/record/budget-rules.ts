import { parseBudget } from '../cost/budget.ts';
import { spentIn } from '../cost/money.ts';
import { OrchError } from '../errors.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import { budgetOf } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Micros } from '../types.ts';
import { formatUsd } from '../units.ts';
import { notFromOutside } from './raise.ts';
import { findOrigin } from './which/origin.ts';

/** Who sets the budget. `byAgent`: the caller says it is an agent; otherwise its process tells. */
type Caller = { readonly byAgent: boolean; readonly home: string };

/** The fact that sets an epic's budget to what was typed: `20` in total, `+20` more than already spent, or `none`. */
export function makeBudgetFact(
  epic: EpicId,
  state: State,
  text: string,
  caller: Caller,
): Extract<Fact, { kind: 'budget_set' }> {
  const limit = parseBudget(text, spentIn(state.ledger));
  if (isRaise(budgetOf(state), limit)) refuseFromInside(epic, budgetOf(state), limit, caller);
  return { kind: 'budget_set', limit };
}

/** The budget from the config for a new epic. */
export function firstBudget(state: State, { newEpicBudget: limit }: SessionSettings): Fact[] {
  const isNew = Object.keys(state.sessions).length === 0;
  return isNew && limit !== null && limit !== undefined ? [{ kind: 'budget_set', limit }] : [];
}

/** Does this allow more spending? Null is no limit. */
export function isRaise(from: Micros | null, to: Micros | null): boolean {
  return from !== null && (to === null || to > from);
}

/** Refuses a raise from inside a session: an agent that can raise its own budget has none. */
function refuseFromInside(epic: EpicId, from: Micros | null, to: Micros | null, caller: Caller): void {
  const origin = caller.byAgent ? null : findOrigin(caller.home, epic);
  if (origin?.kind === 'outside') return;
  if (origin?.because === 'detached') throw notFromOutside(epic);
  throw new OrchError('BUDGET_REFUSED', `an agent cannot raise its own budget (${formatUsd(from ?? 0)})`, {
    hint: `Ask the person you work for to run: orch cost budget ${to === null ? 'none' : to / 1_000_000} -e ${epic}`,
    data: { epicId: epic, limitUsd: (from ?? 0) / 1_000_000 },
  });
}

/** Refuses a correction from inside a session with a budget: an agent that can take back costs has no budget either. */
export function refuseCorrection(epic: EpicId, state: State, caller: Caller): void {
  const isOutside = () => !caller.byAgent && findOrigin(caller.home, epic).kind === 'outside';
  if (budgetOf(state) === null || isOutside()) return;
  throw new OrchError('BUDGET_REFUSED', 'an agent cannot take back a cost while there is a budget', {
    hint: `Ask the person you work for to correct it in a terminal of their own: orch record cost RIGHT --correct WRONG -e ${epic}`,
    data: { epicId: epic },
  });
}

/** Refuses to start work on an epic that has used up its budget. */
export function refuseOverBudget(epic: EpicId, state: State, limit: Micros | null): void {
  const error = findOverBudget(epic, state, limit);
  if (error) throw error;
}

/** The error for an epic that has used up its budget; null if it has not. */
export function findOverBudget(epic: EpicId, state: State, limit: Micros | null): OrchError | null {
  const spent = spentIn(state.ledger);
  if (limit === null || spent < limit) return null;
  return new OrchError(
    'BUDGET_EXCEEDED',
    `${epic} has used up its budget: ${formatUsd(spent)} of ${formatUsd(limit)}`,
    {
      hint: `Give it more, for example: orch resume -e ${epic} --budget +10`,
      data: { epicId: epic, spentUsd: spent / 1_000_000, limitUsd: limit / 1_000_000 },
    },
  );
}
