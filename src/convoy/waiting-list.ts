import { lookUp } from '../keyed.ts';
import type { Task } from '../plan/plan.ts';
import type { Overview } from '../status/overview.ts';
import { fewTasks } from './count-states.ts';
import type { KnownConvoy } from './find-convoy.ts';
import { type ConvoyTask, loadIfThere } from './show-convoy.ts';
import type { TaskState } from './work/task-transition.ts';

/* Everything in this clone that waits for a person, in one list. */

export type WaitingItem = {
  readonly epicId: string;
  /** The task of a convoy; null for an epic of its own. */
  readonly task: string | null;
  /** The number of the session whose agent waits; null if that does not matter. */
  readonly session: number | null;
  readonly kind: 'question' | 'permission' | 'plan' | 'held' | 'failed';
  /** What it asks, wants to do, or why it cannot go on. */
  readonly text: string;
  /** Since when, if that is known. */
  readonly since: string | null;
  /** The tasks that cannot begin before. */
  readonly unblocks: readonly string[];
  /** What to type. */
  readonly command: string;
};

type KnownTasks = { readonly convoy: KnownConvoy; readonly tasks: readonly ConvoyTask[] };

/** Lists what waits for a person, oldest first. `convoys`: with those of their tasks that need one. */
export function listWaiting(
  { epics }: Pick<Overview, 'epics'>,
  convoys: readonly KnownTasks[],
): WaitingItem[] {
  const own = epics.flatMap(({ status }) => [...listQuestions(status), ...listAgents(status)]);
  const ofConvoys = convoys.flatMap(({ convoy, tasks }) => {
    // Reading a plan of thousands takes longer than all the rest: of those, what depends on a task is not named.
    const isShort = tasks.length > 0 && (convoy.run.head.tasks ?? 0) <= fewTasks;
    const planned = isShort ? (loadIfThere(convoy.path)?.tasks ?? []) : [];
    return tasks.flatMap((task) => describeTask(convoy, task, planned) ?? []);
  });
  return [...own, ...ofConvoys].sort((a, b) => compare(a.since, b.since));
}

/** What is not dated may be old. */
function compare(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}

type Status = Overview['epics'][number]['status'];

function listQuestions({ epicId, questions }: Status): WaitingItem[] {
  return questions.map(({ id, text, askedAt }) => ({
    ...{ epicId, task: null, session: null, kind: 'question', text, since: askedAt, unblocks: [] },
    command: `orch record question ${id} --answer "…" -e ${epicId}`,
  }));
}

function listAgents({ epicId, agents }: Status): WaitingItem[] {
  return agents.flatMap(({ number, waiting }): WaitingItem[] => {
    if (waiting === null || waiting.for === 'input' || waiting.for === 'limit') return [];
    const text = waiting.detail ?? (waiting.for === 'permission' ? 'it needs a permission' : 'it asks you');
    const where = `orch session show s${number} -e ${epicId}`;
    return [
      {
        epicId,
        task: null,
        session: number,
        kind: waiting.for,
        text,
        since: waiting.since,
        unblocks: [],
        command: where,
      },
    ];
  });
}

const kinds: { readonly [S in TaskState]?: WaitingItem['kind'] } = {
  needs_input: 'question',
  held: 'held',
  failed: 'failed',
};

function describeTask(
  { epic, isActive }: KnownConvoy,
  task: ConvoyTask,
  planned: readonly Task[],
): WaitingItem | null {
  const kind = lookUp<WaitingItem['kind'] | undefined>(kinds, task.status);
  if (kind === undefined) return null;
  const name = `${epic}/${task.id}`;
  const commands = {
    question: `orch convoy say ${name} "…"`,
    failed: isActive ? `orch convoy retry ${name}` : `orch convoy resume ${epic}`,
  };
  return {
    ...{
      epicId: epic,
      task: task.id,
      session: null,
      kind,
      text: task.reason ?? task.status,
      since: task.changedAt,
    },
    unblocks: listDependents(task.id, planned),
    command: kind === 'question' || kind === 'failed' ? commands[kind] : `orch convoy why ${name}`,
  };
}

/** All tasks that need one, directly or through others. */
function listDependents(id: string, planned: readonly Task[]): string[] {
  const found = new Set([id]);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const task of planned) if (task.needs.some((need) => found.has(need))) found.add(task.id);
  }
  found.delete(id);
  return [...found];
}
