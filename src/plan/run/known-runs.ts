import { join } from 'node:path';
import { readInnerPath } from '../../ids.ts';
import { checkLive, readLive } from '../../journal/live.ts';
import type { Keyed } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { readView } from '../../record/view.ts';
import { compareStamps } from '../../state/join.ts';
import type { State } from '../../state/lists.ts';
import { type EffectRecord, type RunHead, readRuns, runOf, type TaskRecord } from '../../state/runs.ts';
import { statIfThere } from '../../system/disk.ts';
import type { EpicId, WriterId } from '../../types.ts';
import { formatInstant } from '../../units.ts';
import type { RunSummary } from './progress.ts';

/** A run as an epic has recorded it. */
export type KnownRun = {
  readonly id: string;
  readonly head: RunHead;
  readonly tasks: Keyed<TaskRecord>;
  readonly effects: Keyed<EffectRecord>;
  /** The clone that worked on it last. */
  readonly writer: WriterId;
};

type Runs = Pick<State, 'runs'>;

/** Lists an epic's runs, newest first. */
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

/** Lists the newest run of each plan, newest first. */
export function listNewestRuns(state: Runs): KnownRun[] {
  const plans = new Set<string>();
  return listRuns(state).filter(({ head }) => {
    const isNewest = !plans.has(head.plan);
    plans.add(head.plan);
    return isNewest;
  });
}

/** Finds the newest run of a plan, the only one that can be resumed. */
export function findRun(state: Runs, plan: string): KnownRun | null {
  return listRuns(state).find(({ head }) => head.plan === plan) ?? null;
}

/** Whether a run was started and has not ended. A failed run has ended. */
export function isUnfinished({ head }: Pick<KnownRun, 'head'>): boolean {
  return head.status === 'running' || head.status === 'resume_needed';
}

/** Lists the ids of a run's acknowledged effects. */
export function listDoneEffects({ effects }: KnownRun): string[] {
  return Object.entries(effects).flatMap(([id, { status }]) => (status === 'acknowledged' ? [id] : []));
}

/** Whether a process in this clone is working on a run, as far as that can be known. */
export function isActive({ home }: { readonly home: string }, run: KnownRun | null): boolean {
  const live = run && readLive(home, run.head.session);
  return live !== null && checkLive(live) !== 'dead';
}

/** Returns the file of a run's plan if it still exists and is not the file asked for: another plan of the same name. */
export function findNamesake(
  { file, worktree }: { readonly file: string | null; readonly worktree: string },
  run: KnownRun | null,
): string | null {
  const other = readInnerPath(run?.head.file);
  if (file === null || other === null || other === file) return null;
  return statIfThere(join(worktree, other)) === null ? null : other;
}

/** Lists the runs of an epic, or of one plan on it, newest first, each with how many of its tasks succeeded. */
export async function listPlanRuns(
  orch: Orch,
  epic: EpicId,
  plan: string | null = null,
): Promise<{ readonly run: RunSummary; readonly succeeded: number }[]> {
  const { state } = await readView(orch, epic);
  const newest = new Set(listNewestRuns(state).map(({ id }) => id));
  return listRuns(state)
    .filter(({ head }) => plan === null || head.plan === plan)
    .map((run) => {
      const { id, head } = run;
      const isStopped = isUnfinished(run) && !isActive(orch, run);
      // Only the newest run of a plan can be resumed; an older unfinished one was abandoned.
      const stoppedStatus = newest.has(id) ? 'resume_needed' : 'failed';
      return {
        run: {
          id,
          name: head.plan,
          status: isStopped ? stoppedStatus : head.status,
          epicId: epic,
          from: head.from,
          startedAt: formatInstant(head.startedAt),
        },
        succeeded: Object.values(run.tasks).filter(({ status }) => status === 'succeeded').length,
      };
    });
}
