import type { Orch } from '../../orch.ts';
import { inheritedEnvironment } from '../../system/process/spawn.ts';
import { cleanLine, cutColumns } from '../../text.ts';
import { describeAction, formatCommand } from '../action-text.ts';
import type { GivenPrompt } from '../convoy-shape.ts';
import {
  listOpenEffects,
  noEarlierEffects,
  type PlannedEffect,
  planRunEffects,
} from '../effects/plan-effects.ts';
import { chooseEffects } from '../effects/replan.ts';
import type { Plan, Task } from '../plan.ts';
import { previewRollback } from '../rollback/run-rollback.ts';
import { mayOverlap } from '../schedule/claims.ts';
import { listBatches, orderTasks } from '../schedule/graph.ts';
import { choosePlanEpic, type EpicQuestion, type PlanEpic } from './choose-epic.ts';
import type { StartIntent } from './choose-run.ts';
import { findNamesake } from './known-runs.ts';
import { locatePlan } from './run-plan.ts';
import { previewRun } from './start-run.ts';

/** What a run would do: the tasks that are left, and the effects that are not acknowledged. */
export type RunPreview = {
  /** As scripts read it. */
  readonly plan: {
    readonly name: string;
    readonly digest: string;
    /** The run it would continue, and its epic. */
    readonly resumes?: string;
    readonly epicId?: string;
    readonly tasks: readonly (Pick<
      Task,
      'id' | 'number' | 'name' | 'needs' | 'files' | 'artifacts' | 'parent'
    > & {
      readonly when: string;
      readonly waits: readonly Wait[];
      /** What it is done for: how many items, or the name of the value that will have them. */
      readonly foreach?: number | string;
      /** How often it runs at most, and until when. */
      readonly repeat?: { readonly until: string; readonly attempts: number };
    })[];
    readonly batches: readonly (readonly string[])[];
    readonly effects: readonly {
      readonly id: string;
      readonly task: string;
      readonly what: string;
      readonly hasCheck: boolean;
      readonly blocked?: string;
    }[];
  };
  /** What each of these tasks runs; null if only its effects are left. */
  readonly commands: readonly (string | null)[];
  /** Tasks that declare no needs: each waits for the one before it. */
  readonly inOrder: readonly string[];
  /** What has changed since it was planned, in sentences for people. */
  readonly changes: readonly string[];
};

/** Previews what a new run of a plan would do. */
export function previewNewRun(plan: Plan, jobs: number): RunPreview {
  const { planned } = planRunEffects(plan.tasks, 'run-dry', noEarlierEffects, inheritedEnvironment());
  return describePreview(plan, jobs, { ...nothingLeft, tasks: plan.tasks, effects: planned });
}

type ResumePreviewRequest = Omit<EpicQuestion, 'intent'> & {
  readonly intent: StartIntent;
  readonly effects: Parameters<typeof chooseEffects>[0];
  readonly takeOver: boolean;
  readonly jobs: number;
};

/** Previews what is left of the run that would be resumed. */
export async function previewResumedRun(
  orch: Orch,
  request: ResumePreviewRequest,
): Promise<
  | Extract<PlanEpic, { kind: 'refused' }>
  | (Exclude<PlanEpic, { kind: 'refused' }> & { readonly preview: RunPreview })
> {
  const { plan, path, intent, jobs, takeOver } = request;
  const chosen = await choosePlanEpic(orch, request);
  if (chosen.kind === 'refused') return chosen;
  const { epic } = chosen;
  const prepared = await previewRun(orch, {
    plan,
    ...locatePlan(orch, path),
    intent,
    choices: chooseEffects(request.effects),
    session: { epic, takeOver },
  });
  if (prepared === null) return { ...chosen, preview: describePreview(plan, jobs, nothingLeft) };
  const { run, changes } = prepared;
  const effects = listOpenEffects(run.effects);
  const isOpen = new Set(effects.map(({ record }) => record.task));
  const tasks = plan.tasks.filter(({ id }) => !run.done.has(id) || isOpen.has(id));
  const resumed = { resumes: run.from ?? run.id, epicId: epic };
  const done = new Set(run.done.keys());
  return { ...chosen, preview: describePreview(plan, jobs, { resumed, tasks, effects, done, changes }) };
}

/** What undoing the newest run of a plan would do. */
export async function previewUndo(
  orch: Orch,
  request: Omit<EpicQuestion, 'intent'> & { readonly takeOver: boolean },
) {
  const { plan, path, takeOver } = request;
  const chosen = await choosePlanEpic(orch, { ...request, intent: { kind: 'rollback' } });
  if (chosen.kind === 'refused') return chosen;
  const location = locatePlan(orch, path);
  const undo = await previewRollback(orch, {
    plan,
    session: { epic: chosen.epic, takeOver },
    findNamesake: (run) => findNamesake(location, run),
  });
  return { ...chosen, undo };
}

/** What is left of a plan. */
type Remaining = {
  readonly resumed: { readonly resumes: string; readonly epicId: string } | null;
  readonly tasks: readonly Task[];
  readonly effects: readonly PlannedEffect[];
  /** Tasks whose command has succeeded, so that only effects are left. */
  readonly done: ReadonlySet<string>;
  readonly changes: readonly string[];
};

const nothingLeft: Remaining = { resumed: null, tasks: [], effects: [], done: new Set(), changes: [] };

function describePreview(
  { name, digest }: Plan,
  jobs: number,
  { resumed, tasks, effects, done, changes }: Remaining,
): RunPreview {
  const waits = findWaits(tasks);
  const all = orderTasks(tasks);
  const items = countItems(all);
  // The items of a list are shown once, with the task they are part of.
  const order = all.filter(({ parent }) => parent === null || !items.has(parent));
  const batches = listBatches(tasks, { most: jobs, isExclusive: () => false });
  return {
    plan: {
      name,
      digest,
      ...resumed,
      tasks: order.map(
        ({ id, number, name: title, parts, needs, when, files, artifacts, parent, repeat }) => {
          const each = parts?.each;
          const shown = each?.template ?? { files, artifacts, repeat };
          return {
            ...{ id, number, name: title, needs: parts?.entry ?? needs, when: writeCondition(when) },
            ...{ files: shown.files, artifacts: shown.artifacts, parent, waits: waits.get(id) ?? [] },
            ...(each && { foreach: each.value === null ? (items.get(id) ?? 0) : `values.${each.value}` }),
            ...(shown.repeat && {
              repeat: { until: writeCondition(shown.repeat.until), attempts: shown.repeat.attempts },
            }),
          };
        },
      ),
      batches: batches.map((batch) => batch.map(({ id }) => id)),
      effects: effects.map(({ effect, record, blocked }) => ({
        id: effect.id,
        task: record.task,
        what: describeAction(effect.action),
        hasCheck: effect.check !== null,
        ...(blocked !== null && { blocked }),
      })),
    },
    commands: order.map((task) => {
      const { run, convoy } = task.parts?.each?.template ?? task;
      if (done.has(task.id)) return null;
      if (convoy.prompt !== null) return describePrompt(convoy.prompt);
      return run === null ? null : formatCommand(run);
    }),
    inOrder: order.filter(({ isInOrder }) => isInOrder).map(({ id }) => id),
    changes,
  };
}

/** Of a prompt, the beginning. */
const shownPrompt = 60;

function describePrompt(prompt: GivenPrompt): string {
  return typeof prompt === 'string'
    ? `“${cutColumns(cleanLine(prompt), shownPrompt)}”`
    : `the prompt in ${prompt.file}`;
}

function writeCondition(when: Task['when']): string {
  return typeof when === 'string' ? when : when.text;
}

/** How many items are left of each list. */
function countItems(tasks: readonly Task[]): Map<string, number> {
  const lists = new Map<string, number>(
    tasks.flatMap(({ id, parts }) => (parts?.each ? [[id, 0] as const] : [])),
  );
  for (const { parent } of tasks)
    if (parent !== null && lists.has(parent)) lists.set(parent, (lists.get(parent) ?? 0) + 1);
  return lists;
}

/** Why a task does not start at once: a task it needs, the task before it, or one that works on the same files. */
type Wait = {
  readonly task: string;
  readonly because: 'needs' | 'order' | 'files';
  /** The files both work on. */
  readonly files: readonly string[];
};

/** Comparing the files of more tasks, each with each, would take longer than anyone reads. */
const mostCompared = 1_000;

/** Explains, by task id, what each task waits for when several may run at once. */
function findWaits(tasks: readonly Task[]): Map<string, Wait[]> {
  const order = orderTasks(tasks);
  const byId = new Map(order.map((task) => [task.id, task]));
  const withFiles = order.filter(({ files }) => files.length > 0);
  const waits = new Map<string, Wait[]>();
  for (const task of order) {
    const needs = (task.parts?.entry ?? task.needs).filter((need) => byId.has(need));
    const because = task.isInOrder ? 'order' : 'needs';
    const shared = withFiles.length > mostCompared ? [] : findShared(task, withFiles, byId);
    waits.set(task.id, [...needs.map((need): Wait => ({ task: need, because, files: [] })), ...shared]);
  }
  return waits;
}

/** The tasks before this one that work on the same files, apart from those it needs anyway. */
function findShared(task: Task, withFiles: readonly Task[], byId: ReadonlyMap<string, Task>): Wait[] {
  if (task.files.length === 0) return [];
  const earlier = withFiles.slice(0, withFiles.indexOf(task));
  const shared = earlier.flatMap((other): Wait[] => {
    const files = task.files.filter((mine) => other.files.some((theirs) => mayOverlap(mine, theirs)));
    return files.length === 0 ? [] : [{ task: other.id, because: 'files', files }];
  });
  const needed = shared.length === 0 ? new Set() : listNeeded(task, byId);
  return shared.filter((wait) => !needed.has(wait.task));
}

function listNeeded(task: Task, byId: ReadonlyMap<string, Task>): Set<string> {
  const needed = new Set<string>();
  const open = [...task.needs];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (needed.has(id)) continue;
    needed.add(id);
    open.push(...(byId.get(id)?.needs ?? []));
  }
  return needed;
}
