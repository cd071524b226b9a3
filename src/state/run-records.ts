import { lookUp, mergeKeyed } from '../keyed.ts';
import type { Event, Fact } from './facts.ts';
import { stampOf } from './facts.ts';
import { compareStamps, newest } from './join.ts';
import type { Entry, List } from './lists.ts';
import type { EffectRecord, TaskRecord } from './runs.ts';

/**
 * What is known about the tasks and effects of one run. There may be many thousands, so they are not in the document but
 * beside it, in shards (`checkpoint/shards/`). The same rules hold as for every list: an event is a very small one, and
 * joining is commutative, associative and idempotent. They are never cut, so folding an event twice changes nothing, and
 * they need no marks in the ledger.
 */
export type RunRecords = {
  /** By task id. */
  readonly tasks: List<TaskRecord>;
  /** By `<task>/<effect>`. */
  readonly effects: List<EffectRecord>;
};

export const recordLists = ['tasks', 'effects'] as const satisfies (keyof RunRecords)[];

export const noRecords: RunRecords = { tasks: {}, effects: {} };

/** How deep the tree of a run's shards is: each level has 16 branches. Fixed when the run starts. */
export const maxShardDepth = 3;

/** Chooses the depth for at most about 16 records per shard. */
export function chooseShardDepth(records: number): number {
  if (records <= 16) return 0;
  if (records <= 256) return 1;
  return records <= 4_096 ? 2 : maxShardDepth;
}

type RecordFact = Extract<Fact, { readonly kind: 'task' | 'effect' }> & { readonly shards: number };
export type RecordEvent = Event & { readonly fact: RecordFact };

/** Is the event about a record in a shard? The facts of an older orch are in the document's runs. */
export function isRecordEvent(event: Event): event is RecordEvent {
  const { fact } = event;
  return (fact.kind === 'task' || fact.kind === 'effect') && fact.shards !== undefined;
}

/** The task an event is about; its effects are kept in the same branch of the tree. */
export function taskOf({ fact }: RecordEvent): string {
  return fact.kind === 'task' ? fact.id : fact.task;
}

export function effectKey(task: string, effect: string): string {
  return `${task}/${effect}`;
}

/** The effects by their own ids, which are unique in a plan, in the order they were planned or done. */
export function listEffects({ effects }: RunRecords): [id: string, record: EffectRecord][] {
  return Object.entries(effects)
    .sort(([a, x], [b, y]) => compareStamps(x.stamp, y.stamp) || (a < b ? -1 : 1))
    .map(([key, { value }]) => [key.slice(value.task.length + 1), value]);
}

/** Folds an event of a run into its records. */
export function foldRecord(records: RunRecords, event: RecordEvent): RunRecords {
  return joinRecords(records, atomOf(records, event));
}

function atomOf(records: RunRecords, event: RecordEvent): RunRecords {
  const { fact, at } = event;
  const stamp = stampOf(event);
  if (fact.kind === 'task') {
    const { kind: _, run: __, id, shards: ___, completes: ____, ...record } = fact;
    return { ...noRecords, tasks: { [id]: { value: { ...record, at }, stamp } } };
  }
  const { kind: _, run: __, id, shards: ___, completes: ____, ...record } = fact;
  const key = effectKey(fact.task, id);
  // The content is recorded once, when the effect is planned.
  const content = record.content ?? lookUp(records.effects, key)?.value.content;
  const value = { ...record, ...(content !== undefined && { content }), at };
  return { ...noRecords, effects: { [key]: { value, stamp } } };
}

/** Joins what two clones know about a run. */
export function joinRecords(a: RunRecords, b: RunRecords): RunRecords {
  return {
    tasks: mergeKeyed(a.tasks, b.tasks, newest),
    effects: mergeKeyed(a.effects, b.effects, chooseEffect),
  };
}

/**
 * The later record counts, but an effect that one clone acknowledged stays acknowledged, whatever another recorded
 * without knowing; of two acknowledgements the first counts. Undoing an effect comes after its acknowledgement, and doing
 * it again is another turn. This is a maximum in one total order.
 */
function chooseEffect(a: Entry<EffectRecord>, b: Entry<EffectRecord>): Entry<EffectRecord> {
  const [x, y] = [rankEffect(a.value), rankEffect(b.value)];
  if (x !== y) return x > y ? a : b;
  const later = newest(a, b);
  return a.value.status === 'acknowledged' ? (later === a ? b : a) : later;
}

const effectSteps: { readonly [S in EffectRecord['status']]: number } = {
  planned: 0,
  blocked: 0,
  acknowledged: 1,
  undoing: 2,
  undone: 3,
};

function rankEffect({ status, turn = 0 }: EffectRecord): number {
  return turn * 4 + effectSteps[status];
}

export type Counts = { readonly [status: string]: number };

/** How many records have which status. */
export type RecordCounts = { readonly [L in keyof RunRecords]: Counts };

export const noCounts: RecordCounts = { tasks: {}, effects: {} };

/** The counts after some of the records have changed. */
export function countAgain(counts: RecordCounts, before: RunRecords, after: RunRecords): RecordCounts {
  const recount = (list: keyof RunRecords): Counts => {
    const now = new Map(Object.entries(counts[list]));
    const add = (entries: List<{ readonly status: string }>, by: number) => {
      for (const { value } of Object.values(entries))
        now.set(value.status, (now.get(value.status) ?? 0) + by);
    };
    add(before[list], -1);
    add(after[list], 1);
    return Object.fromEntries(
      [...now].filter(([, number]) => number > 0).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  };
  return { tasks: recount('tasks'), effects: recount('effects') };
}
