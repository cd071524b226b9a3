import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { using, type Where } from '../where.ts';
import { readConvoy } from './find-convoy.ts';
import { type ConvoyTask, showConvoy } from './show-convoy.ts';

/** What a task of a convoy has cost, all its attempts and sessions together. */
export type TaskCost = Pick<ConvoyTask, 'id' | 'status' | 'attempts' | 'costUsd' | 'rejectedUsd'>;

/** Reads what the tasks of a convoy have cost, the most expensive first; null if the epic is no convoy's. */
export async function readTaskCosts(epicId: string, where: Where = {}): Promise<readonly TaskCost[] | null> {
  return using(where, async (orch: Orch) => {
    const known = await readConvoy(orch, parseEpicId(epicId));
    if (known === null || !known.isConvoy) return null;
    const { tasks } = await showConvoy(orch, known, true);
    const spent = tasks.filter(({ costUsd, attempts }) => costUsd > 0 || attempts > 0);
    return spent
      .map(({ id, status, attempts, costUsd, rejectedUsd }) => ({
        id,
        status,
        attempts,
        costUsd,
        rejectedUsd,
      }))
      .sort((a, b) => b.costUsd - a.costUsd || (a.id < b.id ? -1 : 1));
  });
}
