import type { Checkpoint } from '../checkpoint/list.ts';
import type { Verdict, Warning } from '../checkpoint/policy.ts';
import type { Budget } from '../cost/budget.ts';
import type { Outcome } from '../record/record.ts';
import type { Fact } from '../state/facts.ts';
import type { EpicId, SessionId } from '../types.ts';
import { toUsd } from '../units.ts';
import { describeMoney } from './epic-status.ts';

/** Says that a budget is nearly or completely used up, in dollars. */
export type BudgetNotice = { readonly kind: 'budget'; readonly spentUsd: number; readonly limitUsd: number };

/** The result of recording something. */
export type RecordedEntry = {
  readonly epicId: EpicId;
  /** What was recorded, without the start and end of a session that was opened for the call. */
  readonly events: readonly RecordedEvent[];
  readonly budget: Budget;
  /** Made because the policy called for it, or because the session was opened for this call. */
  readonly checkpoint: Checkpoint | null;
  readonly warnings: readonly BudgetNotice[];
  /** The budget is used up: stop working. */
  readonly stop: BudgetNotice | null;
};

export type RecordedEvent = Fact & {
  readonly epicId: EpicId;
  readonly sessionId: SessionId;
  readonly at: string;
};

/** Describes what `record` returned as scripts read it. */
export function describeRecorded(
  epic: EpicId,
  { session, state, stored, events, verdict }: Outcome,
): RecordedEntry {
  const isWork = ({ kind }: Fact) => !kind.startsWith('session_') && kind !== 'budget_exceeded';
  const work = events.filter(({ fact }) => isWork(fact));
  return {
    epicId: epic,
    events: work.map(({ at, fact }) => {
      return { epicId: epic, sessionId: session, at: new Date(at).toISOString(), ...fact };
    }),
    budget: describeMoney(state),
    checkpoint: stored?.checkpoint ?? null,
    ...inDollars(verdict),
  };
}

/** Converts a verdict's warnings and its stop to dollars. */
export function inDollars({ warn, stop }: Pick<Verdict, 'warn' | 'stop'>) {
  const notice = ({ kind, spent, limit }: Warning): BudgetNotice => {
    return { kind, spentUsd: toUsd(spent), limitUsd: toUsd(limit) };
  };
  return { warnings: warn.map(notice), stop: stop && notice(stop) };
}
