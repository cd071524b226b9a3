import type { infer as Infer } from 'zod/mini';
import { hash } from '../digest.ts';
import { isSessionId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import type { SessionId } from '../types.ts';
import type { Fact } from './facts.ts';
import { compareStamps } from './join.ts';
import type { List } from './lists.ts';
import type { effectRecord, runHead, runPart, taskRecord, workerRecord } from './state-shape.ts';

export type TaskRecord = Infer<typeof taskRecord>;
/** How far a task is that an agent does. */
export type WorkerRecord = Infer<typeof workerRecord>;
export type EffectRecord = Infer<typeof effectRecord>;
export type RunHead = Infer<typeof runHead>;
/** What one session finished, planned or acknowledged in a run. A session that resumes a run restates what was done. */
export type RunPart = Infer<typeof runPart>;

/** The longest effect payload that is kept. */
export const maxPayloadBytes = 16 * 1024;

/** Is the kept content exactly what the effect sends? Not if something was redacted. */
export function isWholePayload({ content, digest }: Pick<EffectRecord, 'content' | 'digest'>): boolean {
  return content !== undefined && hash('sha256', content).slice(0, 16) === digest;
}

/** `<run>@<session>` → the run. */
export function runOf(key: string): string {
  const at = key.lastIndexOf('@');
  return at < 0 ? key : key.slice(0, at);
}

/**
 * Everything known about each run, over all its sessions: the later record wins, but an effect that one session
 * acknowledged stays acknowledged, whatever another recorded without knowing.
 */
export function readRuns(runs: List<RunPart>): Map<string, RunPart> {
  const parts = Object.entries(runs).sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
  const known = new Map<string, RunPart>();
  for (const [key, { value }] of parts) {
    const before = known.get(runOf(key));
    known.set(runOf(key), before === undefined ? value : joinParts(before, value));
  }
  return known;
}

/** The sessions that worked on a run. */
export function sessionsOf(runs: List<RunPart>, run: string): ReadonlySet<SessionId> {
  const parts = Object.entries(runs).filter(([key]) => runOf(key) === run);
  const named = parts.map(([key]) => key.slice(run.length + 1));
  return new Set(
    [...named, ...parts.flatMap(([, { value }]) => value.head?.session ?? [])].filter(isSessionId),
  );
}

/** Is a task of a run done? Its command must have succeeded, and all its effects must be acknowledged. */
function isTaskDone(runs: List<RunPart>, run: string, task: string): boolean {
  const own = Object.entries(runs).filter(([key]) => runOf(key) === run);
  const known = readRuns(Object.fromEntries(own)).get(run);
  const effects = Object.values(known?.effects ?? {}).filter((effect) => effect.task === task);
  const isRun = lookUp(known?.tasks ?? {}, task)?.status === 'succeeded';
  return isRun && effects.every(({ status }) => status === 'acknowledged');
}

/** The task that a fact completes; null if it completes none. */
export function findDoneTask(runs: List<RunPart>, fact: Fact): string | null {
  const isLast =
    (fact.kind === 'task' && fact.status === 'succeeded') ||
    (fact.kind === 'effect' && fact.status === 'acknowledged');
  if (!isLast) return null;
  const task = fact.kind === 'task' ? fact.id : fact.task;
  if (fact.shards !== undefined) return fact.completes ? task : null;
  return isTaskDone(runs, fact.run, task) ? task : null;
}

function joinParts(before: RunPart, after: RunPart): RunPart {
  // A session that resumes a run starts by restating what still counts.
  const isWhole = after.head !== null;
  const tasks = isWhole ? after.tasks : { ...before.tasks, ...after.tasks };
  const effects = isWhole ? { ...after.effects } : { ...before.effects, ...after.effects };
  for (const [id, effect] of Object.entries(before.effects)) {
    // Restated, it would have a later time than when it was done.
    if (effect.status === 'acknowledged') effects[id] = effect;
  }
  return { head: after.head ?? before.head, tasks, effects };
}

/** The newest run of each plan, by id: the only one that can be resumed. */
export function newestRuns(runs: List<RunPart>): Map<string, RunPart & { readonly head: RunHead }> {
  const newest = new Map<string, { id: string; run: RunPart & { readonly head: RunHead } }>();
  for (const [id, { head, ...rest }] of readRuns(runs)) {
    if (head === null) continue;
    const other = newest.get(head.plan);
    const isNewer = other === undefined || compareStarts([id, head], [other.id, other.run.head]) > 0;
    if (isNewer) newest.set(head.plan, { id, run: { ...rest, head } });
  }
  return new Map([...newest.values()].map(({ id, run }) => [id, run]));
}

type Started = readonly [id: string, head: RunHead];

function compareStarts([a, one]: Started, [b, other]: Started): number {
  return one.startedAt - other.startedAt || (a < b ? -1 : 1);
}
