import { describeStatus, type PlanStep, readSession, type ShownSession } from '../../../../index.ts';
import { epicOption } from '../../../choose.ts';
import type { Output } from '../../../output.ts';
import { answer, defineCommand, inRepository } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { printDamaged, showList } from '../../../views/checkpoint-view.ts';
import { viewEpic } from '../../../views/session-view.ts';
import { showSession } from './session-status.ts';

export const command = defineCommand({
  description: 'Show a session and its checkpoints.',
  argument: { name: 'session', description: 's7, or its id; the running or newest one by default' },
  options: [epicOption()],
  examples: ['orch session show', 'orch session show s7 --epic feat-login'],
  run: inRepository(async (context, orch, call) => {
    const { out } = context;
    const view = await viewEpic(context, orch, readText(call, 'epic'));
    const shown = await readSession(orch, view, call.argument);
    const { session, checkpoints, pendingEvents, plan } = shown;
    printDamaged(out, shown.damaged);
    answer(context, { session, checkpoints, ...(plan && { plan }) }, () => {
      const now = orch.clock.now();
      const { status } = describeStatus(orch, view);
      const own = { ...status, checkpoint: checkpoints[0] ?? null, pendingEvents };
      const list = { epicId: view.epic, checkpoints, total: checkpoints.length };
      return [
        showSession(out, own, shown, now),
        ...(checkpoints.length > 0 ? ['', showList(out, list, now)] : []),
        ...(plan ? [showPlan(out, plan)] : []),
      ].join('\n');
    });
  }),
});

type UserPlan = NonNullable<ShownSession['plan']>;

const titles: { readonly [K in keyof UserPlan]: string } = {
  pipelines: 'Pipelines',
  barriers: 'Barriers',
  queue: 'Queue',
};

/** Shows the user's own plan from ORCHESTRATION.yaml: one line per step, its parts indented below it. */
function showPlan({ paint }: Output, plan: UserPlan): string {
  const keys = ['pipelines', 'barriers', 'queue'] as const;
  return keys
    .filter((key) => plan[key].length > 0)
    .map((key) =>
      ['', paint('bold', titles[key]), ...plan[key].flatMap((step) => showStep(step, 1))].join('\n'),
    )
    .join('\n');
}

function showStep({ name, status, waitsFor, parts }: PlanStep, depth: number): string[] {
  const waits = waitsFor.length > 0 ? `, waits for ${waitsFor.join(', ')}` : '';
  const line = `${'  '.repeat(depth)}${name}${status === null ? '' : ` ${status}`}${waits}`;
  return [line, ...parts.flatMap((part) => showStep(part, depth + 1))];
}
