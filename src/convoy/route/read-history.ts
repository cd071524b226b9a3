import type { Orch } from '../../orch.ts';
import { complexities } from '../../plan/convoy-shape.ts';
import { readRun } from '../../plan/run/known-runs.ts';
import type { TaskRecord } from '../../state/runs.ts';
import { listConvoys } from '../find-convoy.ts';
import type { ModelHistory } from './route.ts';

/** Older convoys say little about today's models. */
const mostConvoys = 20;

/** Reads how the tasks of this repository's newest convoys went, by complexity and the model they began with. */
export async function readHistory(orch: Orch): Promise<ModelHistory[]> {
  const convoys = (await listConvoys(orch)).slice(0, mostConvoys);
  const records: TaskRecord[] = [];
  for (const { view, run } of convoys)
    records.push(...Object.values((await readRun(orch.git, view, run)).tasks));
  return summarizeHistory(records);
}

/** Sums up records of tasks: those that are over, and whose model is known. */
export function summarizeHistory(records: readonly TaskRecord[]): ModelHistory[] {
  const known = new Map<string, ModelHistory>();
  for (const { status, worker } of records) {
    const [first] = worker?.tries ?? [];
    if (worker === undefined || !first || first.model === null || first.attempt !== 1) continue;
    if (status !== 'succeeded' && status !== 'failed') continue;
    const complexity = complexities.find((each) => each === worker.complexity) ?? null;
    const key = JSON.stringify([complexity, first.model]);
    const before = known.get(key) ?? { complexity, model: first.model, begun: 0, done: 0, costs: [] };
    const isDone = status === 'succeeded';
    known.set(key, {
      ...before,
      begun: before.begun + 1,
      done: before.done + (isDone && first.refused === undefined ? 1 : 0),
      costs: isDone ? [...before.costs, worker.costMicros] : before.costs,
    });
  }
  return [...known.values()];
}
