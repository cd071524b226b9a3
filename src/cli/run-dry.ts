import type { Orch } from '../orch.ts';
import { previewRun } from '../plan/begin.ts';
import { describeDeed, formatCommand } from '../plan/deed.ts';
import { missingEffects, nothingCarried, type PlannedEffect, planRunEffects } from '../plan/effects.ts';
import { listBatches, orderTasks } from '../plan/graph.ts';
import { refuseTooLarge } from '../plan/size.ts';
import type { Plan, Task } from '../plan/types.ts';
import { findWaits, type Wait } from '../plan/waits.ts';
import { inheritedEnvironment } from '../system/spawn.ts';
import { count } from '../units.ts';
import type { Output } from './output.ts';
import type { Context } from './run.ts';
import { showPlace, showTitle } from './run-view.ts';

/** What a run would do: the tasks that are left, and the effects that are not acknowledged. */
type Preview = {
  readonly plan: Plan;
  /** The run it would continue, and where that is; null for a new one. */
  readonly continues: { readonly run: string; readonly epic: string } | null;
  readonly left: readonly Task[];
  readonly effects: readonly PlannedEffect[];
  /** Tasks whose command has succeeded: only effects are left of them. */
  readonly done: ReadonlySet<string>;
  /** What is different from what was planned before, in sentences for people. */
  readonly changes: readonly string[];
};

const nothing = { continues: null, left: [], effects: [], done: new Set<string>(), changes: [] };

/** Shows what a new run of a plan would do. */
export function previewNew(context: Context, plan: Plan, jobs: number): number {
  refuseTooLarge(plan);
  const { planned } = planRunEffects(plan.tasks, 'run-dry', nothingCarried, inheritedEnvironment());
  return show(context, { ...nothing, plan, left: plan.tasks, effects: planned }, jobs);
}

/** Shows what is left of a run that would be resumed. */
export async function previewResumed(
  context: Context,
  orch: Orch,
  request: Parameters<typeof previewRun>[1],
  jobs: number,
): Promise<number> {
  const { plan } = request;
  const { epic } = request.session;
  const preview = await previewRun(orch, request);
  if (preview === null) return show(context, { ...nothing, plan }, jobs);
  const { run, changes } = preview;
  const effects = missingEffects(run.effects);
  const isOpen = new Set(effects.map(({ record }) => record.task));
  const left = plan.tasks.filter(({ id }) => !run.done.has(id) || isOpen.has(id));
  const continues = { run: run.from ?? run.id, epic };
  const done = new Set(run.done.keys());
  return show(context, { plan, continues, left, effects, done, changes }, jobs);
}

function show({ out, json }: Context, preview: Preview, jobs: number): number {
  if (json) out.print(JSON.stringify(describe(preview, jobs)));
  else for (const line of showPreview(out, preview, jobs)) out.print(line);
  return 0;
}

const together = { isAlone: () => false };

function describe({ plan, continues, left, effects }: Preview, jobs: number) {
  const waits = findWaits(left);
  return {
    plan: {
      name: plan.name,
      digest: plan.digest,
      ...(continues && { resumes: continues.run, epicId: continues.epic }),
      tasks: orderTasks(left).map(({ id, number, name, needs, when, files, artifacts }) => {
        return { id, number, name, needs, when, files, artifacts, waits: waits.get(id) ?? [] };
      }),
      batches: listBatches(left, { most: jobs, ...together }).map((batch) => batch.map(({ id }) => id)),
      effects: effects.map(({ effect, record, hold }) => ({
        id: effect.id,
        task: record.task,
        what: describeDeed(effect.deed),
        hasCheck: effect.check !== null,
        ...(hold !== null && { blocked: hold }),
      })),
    },
  };
}

/** What would be done: its order, what runs side by side, why the rest waits, and what it does to the world. */
function showPreview(out: Output, preview: Preview, jobs: number): string[] {
  const { plan, continues, left, effects, done, changes } = preview;
  const order = orderTasks(left);
  const waits = findWaits(left);
  const isSideBySide = jobs > 1;
  const batches = listBatches(left, { most: jobs, ...together }).filter((batch) => batch.length > 1);
  const inOrder = isSideBySide ? order.filter(({ isInOrder }) => isInOrder).map(({ id }) => id) : [];
  const amount = `${count(order.length, 'task')}, ${count(effects.length, 'effect')}`;
  const head =
    continues === null
      ? left.length === 0
        ? 'its last run has succeeded; nothing is left to do'
        : `${amount}; nothing was run`
      : `${amount} left of ${continues.run} on ${continues.epic}; nothing was run`;
  return [
    `${out.paint('bold', plan.name)}: ${head}`,
    ...order.map((task) => {
      const isOnlyEffects = task.run === null || done.has(task.id);
      const run = isOnlyEffects ? 'its effects only' : formatCommand(task.run).replace(/\s+/g, ' ');
      const wait = describeWaits(task, waits.get(task.id) ?? [], isSideBySide);
      return `  ${showPlace(plan, task, ' ')}${showTitle(task)}  ${run}${out.paint('dim', wait)}`;
    }),
    ...batches.map((batch) => `  side by side: ${batch.map(({ id }) => id).join(', ')}`),
    ...(inOrder.length > 0
      ? [
          `  ${inOrder.join(', ')}: without needs, each waits for the task before it; needs: [] starts at once`,
        ]
      : []),
    ...effects.map(({ effect, record, hold }) => {
      const check = hold ?? (effect.check === null ? 'no check' : 'checked before a replay');
      return `  effect ${effect.id} of ${record.task}: ${describeDeed(effect.deed)} ${out.paint('dim', `(${check})`)}`;
    }),
    ...changes.map((change) => `  ${change}`),
  ];
}

function describeWaits({ when, artifacts }: Task, waits: readonly Wait[], isSideBySide: boolean): string {
  const needs = waits.filter(({ because }) => because !== 'files').map(({ task }) => task);
  const shared = isSideBySide ? waits.filter(({ because }) => because === 'files') : [];
  const parts = [
    needs.length === 0 ? '' : `after ${needs.join(', ')}`,
    ...shared.map(({ task, files }) => `not beside ${task}: both work on ${files.join(', ')}`),
    when === 'success' ? '' : `when: ${when}`,
    artifacts.length === 0 ? '' : `makes ${artifacts.join(', ')}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : `  (${parts.join('; ')})`;
}
