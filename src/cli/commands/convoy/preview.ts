import {
  checkConvoyPlan,
  defaultWorkers,
  type KnownConvoy,
  type Orch,
  type Plan,
  previewNewRun,
  previewResumedRun,
} from '../../../index.ts';
import { printUnreadable } from '../../choose.ts';
import type { Context } from '../../run-command.ts';
import type { Call } from '../../spec.ts';
import { showPreview } from '../plans/run-preview.ts';

/** Shows what starting a convoy would do: what is left of the one that is open, else all of the plan. */
export async function previewConvoy(
  context: Context,
  orch: Orch,
  call: Call,
  { plan, path, open }: { readonly plan: Plan; readonly path: string; readonly open: KnownConvoy | null },
): Promise<number> {
  checkConvoyPlan(plan);
  const jobs = plan.convoy.workers ?? defaultWorkers;
  if (open === null) return showPreview(context, plan, previewNewRun(plan, jobs), 2);
  const found = await previewResumedRun(orch, {
    ...{ plan, path, intent: { kind: 'resume' }, jobs, given: open.epic, environment: undefined },
    effects: { replan: [], as_planned: [], done: [] },
    takeOver: call.options['take-over'] === true,
    onUnreadable: (epics) => printUnreadable(context, epics),
  });
  if (found.kind === 'refused') throw found.error;
  return showPreview(context, plan, found.preview, 2);
}
