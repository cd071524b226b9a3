import { OrchError } from '../errors.ts';
import type { Outcome } from '../session/record.ts';
import { describeMoney } from '../session/status.ts';
import type { EpicId } from '../types.ts';
import { formatUsd } from '../units.ts';
import { showNotSaved, showTitle } from './checkpoint-view.ts';
import type { Context } from './run.ts';

/** Says once that most of the budget is spent: to people and to scripts, who read it beside their document. */
export function showWarning({ out }: Context, { verdict }: Outcome): void {
  for (const { spent, limit } of verdict.warn) {
    const percent = Math.floor((spent / limit) * 100);
    const text = `▲ ${percent} % of the budget is spent: ${formatUsd(spent)} of ${formatUsd(limit)}`;
    out.tell(out.paint('yellow', text));
  }
}

/** Prints what came of a record, as text or as its document; past the budget it ends with 4. */
export function showOutcome(context: Context, epic: EpicId, outcome: Outcome, said: string): number {
  const { out, json } = context;
  const { session, state, stored, events } = outcome;
  const shown = events.map(({ at, fact }) => ({
    epicId: epic,
    sessionId: session,
    at: new Date(at).toISOString(),
    ...fact,
  }));
  const isWork = ({ kind }: { kind: string }) => !kind.startsWith('session_') && kind !== 'budget_exceeded';
  const work = shown.filter(isWork);
  if (json) {
    const document = {
      event: work.at(-1) ?? null,
      ...(work.length > 1 && { events: work }),
      budget: describeMoney(state),
      checkpoint: stored?.checkpoint ?? null,
    };
    out.print(JSON.stringify(document));
  } else {
    out.print(`${out.paint('green', '✓')} ${said}`);
    if (stored) out.print(showTitle(out, stored.checkpoint, '◆ '));
    if (stored) for (const line of showNotSaved(out, stored.checkpoint)) out.tell(`  ${line}`);
  }
  showWarning(context, outcome);
  refuseOverBudget(epic, outcome);
  return 0;
}

/** Ends with 4 where the money is gone: what was recorded is, and that was all. */
export function refuseOverBudget(
  epic: EpicId,
  { verdict }: Outcome,
  more: Record<string, unknown> = {},
): void {
  if (verdict.stop === null) return;
  const { spent, limit } = verdict.stop;
  throw new OrchError(
    'BUDGET_EXCEEDED',
    `recorded, but ${epic} is over budget: ${formatUsd(spent)} of ${formatUsd(limit)}`,
    {
      hint: `Stop here. A person can give it more with: orch cost budget +10 -e ${epic}`,
      data: { epicId: epic, spentUsd: spent / 1_000_000, limitUsd: limit / 1_000_000, ...more },
    },
  );
}
