import type { Repository } from '../../git/repository.ts';
import { parseOid } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import type { RunControls, RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import { noteFact } from '../../record/fact-builders.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import { sayTo } from '../../session/messages.ts';
import { readCurrent } from '../../state/current.ts';
import {
  type CollisionChanges,
  decideHolds,
  type KnownCollisions,
  noCollisions,
} from '../collisions/decide-collisions.ts';
import { type WorkingTask, watchCollisions } from '../collisions/watch-collisions.ts';
import { mergedName, taskEpic } from '../names.ts';
import { pauseWorker } from '../worker/worker.ts';
import type { Convoy } from './job.ts';

/* Collisions between workers, seen while they run: both hear of it, and the later one may have to wait. */

type Watched = {
  readonly orch: Orch;
  readonly convoy: Convoy;
  readonly ports: TaskPorts;
  readonly progress: RunProgress;
  readonly controls: RunControls;
  /** The worktree of the merged branch. */
  readonly worktree: Repository;
};

/** Watches for collisions until `over` is aborted. */
export async function watchWorkers(watched: Watched, over: AbortSignal): Promise<void> {
  const { orch, convoy, ports, progress, worktree } = watched;
  const { state } = await readView(orch, convoy.epic);
  await watchCollisions(orch, {
    convoy: convoy.epic,
    worktree,
    listWorking: () => listWorking(convoy),
    known: readCurrent(state, 'collisions') ?? noCollisions,
    onChange: async (changes) => {
      const value = shorten(changes.known);
      await record(ports, progress.target, [{ kind: 'current_set', key: 'collisions', value }]);
      for (const { one, other, files } of changes.began) {
        const task = convoy.tasks.get(one);
        if (task) ports.onEvent({ kind: 'said', task, text: describe(one, other, files) });
      }
      if (convoy.holdsCollisions) await holdLater(watched, changes);
    },
    tell: async (task, text) => {
      const facts = [noteFact(orch.random, text)];
      await sayTo(orch, taskEpic(convoy.epic, task), text, { facts, from: 'orch' });
    },
    signal: over,
  });
}

/** Every task with a worker that has begun; one that waits because of a collision still has its work. */
function listWorking({ epic, active, jobs, colliding }: Convoy): WorkingTask[] {
  const ids = new Set([...active.keys(), ...colliding.keys()]);
  return [...ids].flatMap((task) => {
    const base = jobs.get(task)?.record;
    return base === undefined || base.lease === 0
      ? []
      : [{ task, epic: taskEpic(epic, task), base: parseOid(base.base) }];
  });
}

/** Has the task that began later wait until the other is merged, or the collision is over. */
async function holdLater({ orch, convoy, controls }: Watched, { known }: CollisionChanges): Promise<void> {
  const { jobs, colliding, active, epic } = convoy;
  const began = new Map([...jobs].map(([task, { record: own }]) => [task, own.since ?? 0]));
  const holds = decideHolds(known.current, began);
  for (const [task, others] of holds) {
    if (colliding.has(task) || !active.has(task)) continue;
    colliding.set(task, others);
    await pauseWorker(
      orch,
      taskEpic(epic, task),
      `it collides with ${others.join(', ')}, and waits until ${others.length === 1 ? 'that is' : 'they are'} merged`,
    );
  }
  for (const task of [...colliding.keys()].filter((each) => !holds.has(each))) {
    colliding.delete(task);
    controls.reopen(task);
  }
}

/** The tasks that waited because of a collision with others, all of which are over by now. */
export function listFreed({ colliding, active }: Convoy, { tasks }: Pick<RunProgress, 'tasks'>): string[] {
  const isOver = (id: string) => {
    const status = tasks.get(id)?.status;
    return !active.has(id) && status !== undefined && status !== 'running' && status !== 'pending';
  };
  return [...colliding].flatMap(([task, others]) => (!isOver(task) && others.every(isOver) ? [task] : []));
}

/** Continues the tasks whose collision is over, unless they are still being paused. */
export function reopenFreed(convoy: Convoy, progress: RunProgress, controls: RunControls): void {
  for (const task of listFreed(convoy, progress)) if (controls.reopen(task)) convoy.colliding.delete(task);
}

const mostFiles = 20;
const mostPairs = 100;

/** What is recorded stays small. */
function shorten({ current, told }: KnownCollisions) {
  const pairs = Object.entries(told).slice(-mostPairs);
  return {
    current: current.slice(0, mostPairs).map(({ one, other, commits, files }) => {
      return { one, other, commits: [...commits], files: files.slice(0, mostFiles) };
    }),
    told: Object.fromEntries(pairs.map(([pair, files]) => [pair, files.slice(0, mostFiles)])),
  };
}

function describe(one: string, other: string, files: readonly string[]): string {
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  return `${one} collides with ${other === mergedName ? 'what is merged' : other} in ${files.slice(0, 3).join(', ')}${more}`;
}
