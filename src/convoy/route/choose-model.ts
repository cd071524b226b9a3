import type { Orch } from '../../orch.ts';
import type { Convoy, Job } from '../work/job.ts';
import { readHistory } from './read-history.ts';
import { route } from './route.ts';
import { describeForRoute } from './routed-task.ts';

/** Of many attempts, the newest are kept. */
const mostTries = 20;

/**
 * Chooses the model of a worker, and notes it with the reason. An attempt that continues keeps the model it began with,
 * unless a person asked for another.
 */
export async function chooseModel(
  orch: Orch,
  convoy: Convoy,
  job: Job,
  prompt: string,
): Promise<string | null> {
  const { task, worker, attempt, record } = job;
  const wanted = record.wanted?.model;
  const tries = record.tries ?? [];
  const last = tries.at(-1);
  const isContinued = last?.attempt === attempt && last.refused === undefined;
  if (isContinued && (wanted === undefined || wanted === last.model)) return last.model;
  const { routing } = await orch.readConfig();
  if (routing.learn) convoy.history ??= await readHistory(orch);
  const { complexity } = task.convoy;
  const routed = describeForRoute(task, worker, { prompt, attempt, wanted });
  const { model, why } = route(routed, convoy.history ?? [], routing);
  const begun = { attempt, model, why, before: record.costMicros };
  job.record = {
    ...record,
    tries: [...tries, begun].slice(-mostTries),
    ...(complexity !== null && { complexity }),
  };
  return model;
}
