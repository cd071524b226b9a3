import { nullFor } from '../../errors.ts';
import type { GitEngine, GitObject } from '../../git/engine.ts';
import { hashObject } from '../../git/objects/loose-objects.ts';
import { editTree, fileMode, type TreeEdit } from '../../git/objects/tree-object.ts';
import { groupBy } from '../../keyed.ts';
import type { Event } from '../../state/facts.ts';
import {
  type Counts,
  countAgain,
  foldRecord,
  isRecordEvent,
  joinRecords,
  noCounts,
  noRecords,
  type RecordCounts,
  type RecordEvent,
  type RunRecords,
  recordLists,
  taskOf,
} from '../../state/run-records.ts';
import type { EffectRecord } from '../../state/runs.ts';
import type { Millis, Oid } from '../../types.ts';
import {
  listDifferingShards,
  type RunFolders,
  readRunRecords,
  readShard,
  readShardHead,
  readShardIfIntact,
} from './read-shards.ts';
import { formatHead, formatShard, headName, listOfPath, type ShardHead, shardPath } from './shard-format.ts';

/** The runs' folders after an edit, and the objects to write for it. */
export type ShardEdits = {
  readonly folders: RunFolders;
  readonly objects: readonly GitObject[];
  /** All records of the runs whose effects were planned or finished: files for people are made from them. */
  readonly changed: ReadonlyMap<string, RunRecords>;
  /** Shards that could not be read and were begun anew. */
  readonly damaged: readonly string[];
};

export const noShardEdits: ShardEdits = { folders: new Map(), objects: [], changed: new Map(), damaged: [] };

/**
 * Folds events into the shards of their runs. Reads and writes only the shards of the tasks that the events are about:
 * the cost depends on the events, not on the length of the plan.
 */
export async function foldShards(
  git: GitEngine,
  folders: RunFolders,
  events: readonly Event[],
  clock: Millis,
): Promise<ShardEdits> {
  const edited = new Map(folders);
  const writer = openWriter(git);
  const changed = new Map<string, RunRecords>();
  const damaged: string[] = [];
  for (const [run, own] of groupBy(events.filter(isRecordEvent), ({ fact }) => fact.run)) {
    const folded = await foldRun(writer.git, folders.get(run) ?? null, run, own, clock);
    const folder = await writer.edit(folders.get(run) ?? null, folded.edits);
    edited.set(run, folder);
    damaged.push(...folded.damaged);
    if (folded.hasNewEffects || isDone(folded.counts.effects))
      changed.set(run, (await readRunRecords(writer.git, folder, run, latest(clock, own))).records);
  }
  return { folders: edited, objects: writer.objects(), changed, damaged };
}

/** The shards of one run after its events. */
async function foldRun(
  git: GitEngine,
  folder: Oid | null,
  run: string,
  events: readonly [RecordEvent, ...RecordEvent[]],
  clock: Millis,
) {
  const { depth, ...head } = await readHeadOrNew(git, folder, run, events[0].fact.shards, clock);
  const edits = new Map<string, Buffer>();
  const damaged: string[] = [];
  let [counts, hasNewEffects] = [head.counts, false];
  for (const group of groupBy(events, (event) => shardPath('tasks', taskOf(event), depth)).values()) {
    const task = taskOf(group[0]);
    const branch = await readBranch(git, folder, task, depth, clock);
    damaged.push(...branch.damaged.map((path) => `${run}/${path}`));
    const before = branch.records;
    const after = group.reduce(foldRecord, before);
    counts = countAgain(counts, before, after);
    hasNewEffects ||= hasOtherEffects(before, after);
    for (const list of recordLists)
      if (after[list] !== before[list]) edits.set(shardPath(list, task, depth), formatShard(after[list]));
  }
  edits.set(headName, formatHead({ depth, counts }));
  return { edits, counts, hasNewEffects, damaged };
}

/** How many records of a run have which status, after events that are in no checkpoint yet. */
export async function countRecords(
  git: GitEngine,
  folder: Oid | null,
  run: string,
  events: readonly RecordEvent[],
  clock: Millis,
): Promise<RecordCounts> {
  const [first, ...more] = events;
  if (first !== undefined) return (await foldRun(git, folder, run, [first, ...more], clock)).counts;
  return (await readHeadOrNew(git, folder, run, 0, clock)).counts;
}

function latest(clock: Millis, events: readonly Event[]): Millis {
  return events.reduce((most, { at }) => Math.max(most, at), clock);
}

async function readHeadOrNew(
  git: GitEngine,
  folder: Oid | null,
  run: string,
  depth: number,
  clock: Millis,
): Promise<ShardHead> {
  if (folder === null) return { depth, counts: noCounts };
  const head = await readShardHead(git, folder, run).catch(nullFor('INTEGRITY'));
  if (head !== null) return head;
  // It only repeats what the records and every fact say.
  const { records } = await readRunRecords(git, folder, run, clock);
  return { depth, counts: countAgain(noCounts, noRecords, records) };
}

/** Reads a task's shards. What is damaged is begun anew: what was recorded now must not be lost with it. */
async function readBranch(
  git: GitEngine,
  folder: Oid | null,
  task: string,
  depth: number,
  clock: Millis,
): Promise<{ readonly records: RunRecords; readonly damaged: string[] }> {
  const damaged: string[] = [];
  const read = async (list: keyof RunRecords) => {
    const path = shardPath(list, task, depth);
    const found = folder === null ? {} : await readShardIfIntact(git, folder, path, clock);
    if (found === null) damaged.push(path);
    return found ?? {};
  };
  // `parseShard` checked what folding relies on.
  const records = { tasks: await read('tasks'), effects: await read('effects') } as RunRecords;
  return { records, damaged };
}

/** Was an effect planned, planned differently, or undone? */
function hasOtherEffects(before: RunRecords, after: RunRecords): boolean {
  if (before.effects === after.effects) return false;
  return Object.entries(after.effects).some(([key, { value }]) => {
    const known = before.effects[key]?.value;
    return (
      known === undefined ||
      known.key !== value.key ||
      known.digest !== value.digest ||
      wasUndone(known, value)
    );
  });
}

function wasUndone(before: EffectRecord, after: EffectRecord): boolean {
  return before.status === 'acknowledged' && after.status !== 'acknowledged';
}

/** Is every effect acknowledged? */
function isDone({ acknowledged = 0, ...open }: Counts): boolean {
  return acknowledged > 0 && Object.keys(open).length === 0;
}

/**
 * Joins what two checkpoints know about their runs. Reads only the shards that differ, and gives the same trees whichever
 * of the two comes first. Damage is an error: what cannot be read must not be joined as if it did not exist.
 */
export async function mergeShards(
  git: GitEngine,
  mine: RunFolders,
  theirs: RunFolders,
  clock: Millis,
): Promise<ShardEdits> {
  const edited = new Map(mine);
  const writer = openWriter(git);
  const changed = new Map<string, RunRecords>();
  for (const [run, other] of theirs) {
    const own = mine.get(run);
    if (own === undefined) edited.set(run, other);
    if (own === undefined || own === other) continue;
    const [head, otherHead] = [await readShardHead(git, own, run), await readShardHead(git, other, run)];
    if (head === null || otherHead === null || head.depth !== otherHead.depth) {
      // No honest clone changes the depth of a run; what is complete is kept.
      edited.set(run, head === null || (otherHead !== null && otherHead.depth > head.depth) ? other : own);
      continue;
    }
    let { counts } = head;
    const edits = new Map<string, Buffer>();
    for (const path of await listDifferingShards(git, own, other)) {
      const list = listOfPath(path);
      if (list === null) continue;
      const [a, b] = [await readShard(git, own, path, clock), await readShard(git, other, path, clock)];
      const asRecords = (entries: typeof a) => ({ ...noRecords, [list]: entries }) as RunRecords; // of this list
      const joined = joinRecords(asRecords(a), asRecords(b));
      counts = countAgain(counts, asRecords(a), joined);
      edits.set(path, formatShard(joined[list]));
    }
    edits.set(headName, formatHead({ depth: head.depth, counts }));
    const next = await writer.edit(own, edits);
    edited.set(run, next);
    if (Object.keys(counts.effects).length > 0)
      changed.set(run, (await readRunRecords(writer.git, next, run, clock)).records);
  }
  return { folders: edited, objects: writer.objects(), changed, damaged: [] };
}

/** Collects new objects, and reads them back before they are written. */
function openWriter(git: GitEngine) {
  const made = new Map<Oid, GitObject>();
  const add = (object: GitObject): Oid => {
    const oid = hashObject(object, git.format);
    made.set(oid, object);
    return oid;
  };
  const withMade: GitEngine = {
    ...git,
    readObject: async (oid, most) => made.get(oid) ?? git.readObject(oid, most),
  };
  return {
    git: withMade,
    objects: () => [...made.values()],
    async edit(folder: Oid | null, files: ReadonlyMap<string, Buffer>): Promise<Oid> {
      const edits = new Map<string, TreeEdit>(
        [...files].map(([path, bytes]) => [path, { mode: fileMode, oid: add({ kind: 'blob', bytes }) }]),
      );
      const { tree, objects } = await editTree(withMade, folder, edits);
      for (const object of objects) add(object);
      return tree;
    },
  };
}
