import type { Keyed } from '../keyed.ts';
import { compareStamps } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import { type EffectRecord, type RunHead, readRuns, runOf, type TaskRecord } from '../state/run.ts';
import type { WriterId } from '../types.ts';

/** A run, as far as an epic knows it. */
export type KnownRun = {
  readonly id: string;
  readonly head: RunHead;
  readonly tasks: Keyed<TaskRecord>;
  readonly effects: Keyed<EffectRecord>;
  /** Whose it is: the clone's that worked on it last. */
  readonly writer: WriterId;
};

type Runs = Pick<State, 'runs'>;

/** An epic's runs, the one that was begun last first. */
export function listRuns(state: Runs): KnownRun[] {
  const writers = readWriters(state);
  const known = [...readRuns(state.runs)].flatMap(([id, { head, tasks, effects }]): KnownRun[] => {
    const writer = writers.get(id);
    return head === null || writer === undefined ? [] : [{ id, head, tasks, effects, writer }];
  });
  return known.sort((a, b) => b.head.startedAt - a.head.startedAt || (a.id < b.id ? 1 : -1));
}

function readWriters({ runs }: Runs): Map<string, WriterId> {
  const inOrder = Object.entries(runs).sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
  return new Map(inOrder.map(([key, { stamp }]) => [runOf(key), stamp[1]]));
}

/** The newest run of each plan, the one that was begun last first. */
export function listNewestRuns(state: Runs): KnownRun[] {
  const plans = new Set<string>();
  return listRuns(state).filter(({ head }) => {
    const isNewest = !plans.has(head.plan);
    plans.add(head.plan);
    return isNewest;
  });
}

/** The newest run of a plan: the only one that anybody goes on with. */
export function findRun(state: Runs, plan: string): KnownRun | null {
  return listRuns(state).find(({ head }) => head.plan === plan) ?? null;
}

/** Was it begun, and did it not come to its end? One that failed has. */
export function isUnfinished({ head }: Pick<KnownRun, 'head'>): boolean {
  return head.status === 'running' || head.status === 'resume_needed';
}
