import type { Keyed } from '../keyed.ts';
import { compareStamps } from '../state/join.ts';
import type { Entry, List, State } from '../state/lists.ts';
import type { EffectRecord, RunHead, RunPart, TaskRecord } from '../state/run.ts';
import type { WriterId } from '../types.ts';

/** A run, as far as an epic knows it: what its newest session said, which had said again what was done before. */
export type KnownRun = {
  readonly id: string;
  readonly head: RunHead;
  readonly tasks: Keyed<TaskRecord>;
  /** What any of its sessions acknowledged stays acknowledged. */
  readonly effects: Keyed<EffectRecord>;
  /** Whose it is. */
  readonly writer: WriterId;
};

/** An epic's runs, the one that was begun last first. */
export function listRuns({ runs }: Pick<State, 'runs'>): KnownRun[] {
  const byRun = new Map<string, Entry<RunPart>[]>();
  for (const [key, part] of Object.entries(runs)) {
    const parts = byRun.get(runOf(key)) ?? [];
    byRun.set(runOf(key), [...parts, part]);
  }
  const known = [...byRun].flatMap(([id, parts]) => readRun(id, parts) ?? []);
  return known.sort((a, b) => b.head.startedAt - a.head.startedAt || (a.id < b.id ? 1 : -1));
}

function readRun(id: string, parts: readonly Entry<RunPart>[]): KnownRun | null {
  const [newest, ...older] = parts
    .filter(({ value }) => value.head !== null)
    .sort((a, b) => compareStamps(b.stamp, a.stamp));
  const head = newest?.value.head;
  if (!newest || !head) return null;
  const effects = { ...newest.value.effects };
  for (const { value } of older)
    for (const [effect, record] of Object.entries(value.effects))
      if (record.status === 'acknowledged') effects[effect] = record;
  return { id, head, tasks: newest.value.tasks, effects, writer: newest.stamp[1] };
}

/** `<run>@<session>` → the run. */
function runOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('@')));
}

/** The newest run of a plan: the only one that anybody goes on with. */
export function findRun(state: { readonly runs: List<RunPart> }, plan: string): KnownRun | null {
  return listRuns(state).find(({ head }) => head.plan === plan) ?? null;
}

/** Was it begun, and did it not come to its end? One that failed has. */
export function isUnfinished({ head }: Pick<KnownRun, 'head'>): boolean {
  return head.status === 'running' || head.status === 'resume_needed';
}
