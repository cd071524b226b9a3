import { OrchError } from '../../errors.ts';
import type { RaisedBudget, RecordedEntry } from '../../index.ts';
import { printJson } from '../output.ts';
import type { Context } from '../run-command.ts';
import { showNotSaved, showTitle } from './checkpoint-view.ts';
import { formatDollars, showBudgetWarning } from './money-view.ts';

/** Prints what was recorded, as text or as JSON; over budget, it fails with status 4. */
export function showRecorded(context: Context, recorded: RecordedEntry, message: string): undefined {
  const { out, json } = context;
  const { events, budget, checkpoint } = recorded;
  if (json) {
    const event = events.at(-1) ?? null;
    printJson(out, { event, ...(events.length > 1 && { events }), budget, checkpoint });
  } else {
    out.print(`${out.paint('green', '✓')} ${message}`);
    if (checkpoint) out.print(showTitle(out, checkpoint, '◆ '));
    if (checkpoint) for (const line of showNotSaved(out, checkpoint)) out.inform(`  ${line}`);
  }
  checkBudget(context, recorded);
}

/** Warns near the budget, with --json too. Beyond it, fails with status 4: this was recorded, but work must stop. */
export function checkBudget(
  { out }: Context,
  { epicId, stop, warnings }: Pick<RecordedEntry, 'epicId' | 'stop' | 'warnings'>,
  more: Record<string, unknown> = {},
): void {
  for (const warning of warnings) out.inform(showBudgetWarning(out, warning));
  if (stop === null) return;
  const { spentUsd, limitUsd } = stop;
  throw new OrchError(
    'BUDGET_EXCEEDED',
    `recorded, but ${epicId} is over budget: ${formatDollars(spentUsd)} of ${formatDollars(limitUsd)}`,
    {
      hint: `Stop here. A person can raise the budget: orch cost budget +10 -e ${epicId}`,
      data: { epicId, spentUsd, limitUsd, ...more },
    },
  );
}

/** Describes a budget that another clone raised; the old limit applies until the user agrees. */
export function showRaised({ epicId, fromUsd, toUsd }: RaisedBudget): string {
  const raised = toUsd === null ? 'removed the budget' : `raised the budget to ${formatDollars(toUsd)}`;
  return `${epicId}: another clone ${raised}. Here the limit is still ${formatDollars(fromUsd)}.`;
}

/** The command that applies the raised budget here. */
export function formatAcceptCommand({ epicId, toUsd }: RaisedBudget): string {
  return `orch cost budget ${toUsd ?? 'none'} -e ${epicId}`;
}
