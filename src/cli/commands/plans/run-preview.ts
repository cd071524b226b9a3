import { describeAction, type Plan, type previewUndo, type RunPreview } from '../../../index.ts';
import { count } from '../../../units.ts';
import { type Output, printJson } from '../../output.ts';
import type { Context } from '../../run-command.ts';
import { nameFew, showKept, showPlace, showTitle } from './run-progress.ts';

/** Shows what a run would do: the order of its tasks, which run in parallel, why others wait, and its effects. */
export function showPreview({ out, json }: Context, plan: Plan, preview: RunPreview, jobs: number): number {
  if (json) printJson(out, { plan: preview.plan });
  else for (const line of formatPreview(out, plan, preview, jobs > 1)) out.print(line);
  return 0;
}

type Undo = Extract<Awaited<ReturnType<typeof previewUndo>>, { readonly undo: unknown }>['undo'];

/** Shows what a rollback would undo, in its order, and what stays. */
export function showUndo({ out, json }: Context, plan: Plan, { run, steps, kept }: Undo): number {
  const names = steps.map(({ task, effect }) => ({ task: task.id, effect: effect?.id ?? null }));
  if (json) {
    printJson(out, { rollback: { run: run.id, steps: names, kept } });
    return 0;
  }
  out.print(
    `${out.paint('bold', plan.name)}: ${count(steps.length, 'step')} to undo of ${run.id}; nothing was run`,
  );
  for (const { task, effect, undo } of steps) {
    const what = effect === null ? '' : ` effect ${effect.id}:`;
    out.print(`  ${showPlace(plan, task, '↶')} ${what} ${describeAction(undo.action)}`);
  }
  for (const line of showKept(kept)) out.print(line);
  return 0;
}

type PlannedTask = RunPreview['plan']['tasks'][number];

function formatPreview(out: Output, plan: Plan, preview: RunPreview, isParallel: boolean): string[] {
  const { tasks, effects, batches, resumes, epicId } = preview.plan;
  const inOrder = isParallel ? preview.inOrder : [];
  const amount = `${count(tasks.length, 'task')}, ${count(effects.length, 'effect')}`;
  const head =
    resumes === undefined
      ? tasks.length === 0
        ? 'its last run succeeded; nothing left to do'
        : `${amount}; nothing was run`
      : `${amount} left of ${resumes} on ${epicId}; nothing was run`;
  return [
    `${out.paint('bold', plan.name)}: ${head}`,
    ...tasks.map((task, index) => {
      const isGroup = tasks.some(({ parent }) => parent === task.id);
      const run = isGroup
        ? 'its tasks'
        : (preview.commands[index]?.replace(/\s+/g, ' ') ?? 'its effects only');
      const wait = describeWaits(task, isParallel);
      return `  ${showPlace(plan, task, ' ')}${showTitle(task)}  ${run}${out.paint('dim', wait)}`;
    }),
    ...batches.filter((batch) => batch.length > 1).map((batch) => `  in parallel: ${nameFew(batch)}`),
    ...(inOrder.length > 0
      ? [
          `  ${inOrder.join(', ')}: without needs, each waits for the task before it (to start at once: needs: [])`,
        ]
      : []),
    ...effects.map(({ id, task, what, hasCheck, blocked }) => {
      const check = blocked ?? (hasCheck ? 'checked before a replay' : 'no check');
      return `  effect ${id} of ${task}: ${what} ${out.paint('dim', `(${check})`)}`;
    }),
    ...preview.changes.map((change) => `  ${change}`),
  ];
}

function describeWaits(
  { when, artifacts, waits, foreach, repeat }: PlannedTask,
  isParallel: boolean,
): string {
  const needs = waits.filter(({ because }) => because !== 'files').map(({ task }) => task);
  const shared = isParallel ? waits.filter(({ because }) => because === 'files') : [];
  const parts = [
    needs.length === 0 ? '' : `after ${needs.join(', ')}`,
    ...shared.map(({ task, files }) => `not in parallel with ${task}: both change ${files.join(', ')}`),
    when === 'success' ? '' : `when: ${when}`,
    foreach === undefined
      ? ''
      : `for each of ${typeof foreach === 'number' ? count(foreach, 'item') : foreach}`,
    repeat === undefined ? '' : `until ${repeat.until}, at most ${repeat.attempts} times`,
    artifacts.length === 0 ? '' : `makes ${artifacts.join(', ')}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : `  (${parts.join('; ')})`;
}
