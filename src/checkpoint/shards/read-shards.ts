import { hasCode, messageOf, nullFor } from '../../errors.ts';
import type { GitEngine } from '../../git/engine.ts';
import { listPath, readTree } from '../../git/objects/read-objects.ts';
import { folderMode } from '../../git/objects/tree-object.ts';
import { isRunId } from '../../ids.ts';
import type { List } from '../../state/lists.ts';
import { noRecords, type RunRecords } from '../../state/run-records.ts';
import type { EpicId, Millis, Oid } from '../../types.ts';
import { epicFolder } from '../document/names-in-git.ts';
import { headName, listOfPath, parseHead, parseShard, runsFolder, type ShardHead } from './shard-format.ts';

/** Each run with shards, and the tree of its folder. */
export type RunFolders = ReadonlyMap<string, Oid>;

/** Lists the runs whose records are in a checkpoint's tree. */
export async function listRunFolders(git: GitEngine, tree: Oid, epic: EpicId): Promise<RunFolders> {
  const entries = (await listPath(git, tree, [...epicFolder(epic), runsFolder])) ?? [];
  return new Map(
    entries.flatMap(({ name, mode, oid }) => (mode === folderMode && isRunId(name) ? [[name, oid]] : [])),
  );
}

/** Far more than a shard holds: 16 records on average, with payloads of up to 16 KB. */
const maxShardBytes = 16 * 1024 * 1024;

/** Reads the head of a run's shards; null if it has none. */
export async function readShardHead(git: GitEngine, folder: Oid, run: string): Promise<ShardHead | null> {
  const entry = (await readTree(git, folder)).find(({ name }) => name === headName);
  if (entry === undefined) return null;
  const { bytes } = await git.readObject(entry.oid, maxShardBytes);
  return parseHead(bytes, `${runsFolder}/${run}/${headName}`);
}

/** Reads one shard; empty if it does not exist yet. */
export async function readShard(
  git: GitEngine,
  folder: Oid,
  path: string,
  clock: Millis,
): Promise<List<unknown>> {
  const names = path.split('/');
  const entries = await listPath(git, folder, names.slice(0, -1));
  const entry = entries?.find(({ name, mode }) => name === names.at(-1) && mode !== folderMode);
  if (entry === undefined) return {};
  return parseShard((await git.readObject(entry.oid, maxShardBytes)).bytes, path, clock);
}

export type ReadRecords = {
  readonly records: RunRecords;
  /** What could not be read: the records there are unknown. */
  readonly damaged: readonly string[];
};

/** Reads all records of a run. A damaged shard hides only its own. */
export async function readRunRecords(
  git: GitEngine,
  folder: Oid,
  run: string,
  clock: Millis,
): Promise<ReadRecords> {
  // A newer format is refused here. A head that is lost or damaged hides no record.
  await readShardHead(git, folder, run).catch(nullFor('INTEGRITY'));
  const damaged: string[] = [];
  const records = { tasks: new Map<string, unknown>(), effects: new Map<string, unknown>() };
  const noteDamage = (path: string) => (error: unknown) => {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    damaged.push(`${runsFolder}/${run}/${path}: ${messageOf(error)}`);
    return [];
  };
  for (const { path, oid } of await listFiles(git, folder, noteDamage)) {
    const list = listOfPath(path);
    if (list === null) continue;
    try {
      const { bytes } = await git.readObject(oid, maxShardBytes);
      for (const [key, entry] of Object.entries(parseShard(bytes, path, clock)))
        records[list].set(key, entry);
    } catch (error) {
      noteDamage(path)(error);
    }
  }
  // `parseShard` checked what the lists rely on; the shape of each value is checked where it is used.
  const all = {
    tasks: Object.fromEntries(records.tasks),
    effects: Object.fromEntries(records.effects),
  } as RunRecords;
  return { records: { ...noRecords, ...all }, damaged };
}

type ListedFile = { readonly path: string; readonly oid: Oid };

async function listFiles(
  git: GitEngine,
  folder: Oid,
  noteDamage: (path: string) => (error: unknown) => never[],
): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  const folders = [{ oid: folder, under: '', depth: 0 }];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const { oid, under, depth } = next;
    for (const entry of await readTree(git, oid).catch(noteDamage(under))) {
      const path = under === '' ? entry.name : `${under}/${entry.name}`;
      if (entry.mode !== folderMode) files.push({ path, oid: entry.oid });
      else if (depth < 3) folders.push({ oid: entry.oid, under: path, depth: depth + 1 });
    }
  }
  return files;
}

/** The shards in which two trees of one run differ, and nothing else is read. */
export async function listDifferingShards(git: GitEngine, a: Oid, b: Oid): Promise<string[]> {
  const differing: string[] = [];
  const pairs: { readonly a: Oid | null; readonly b: Oid | null; readonly under: string }[] = [
    { a, b, under: '' },
  ];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [mine, theirs] = await Promise.all([listNames(git, pair.a), listNames(git, pair.b)]);
    for (const name of new Set([...mine.keys(), ...theirs.keys()])) {
      const [x, y] = [mine.get(name), theirs.get(name)];
      if (x?.oid === y?.oid) continue;
      const path = pair.under === '' ? name : `${pair.under}/${name}`;
      const isFolder = (x ?? y)?.mode === folderMode;
      if (!isFolder) differing.push(path);
      else if (path.split('/').length <= 3) pairs.push({ a: x?.oid ?? null, b: y?.oid ?? null, under: path });
    }
  }
  return differing.filter((path) => listOfPath(path) !== null).sort();
}

async function listNames(git: GitEngine, tree: Oid | null) {
  const entries = tree === null ? [] : await readTree(git, tree);
  return new Map(entries.map((entry) => [entry.name, entry]));
}

/** Reads one shard for a caller that can do without it; null if it is damaged. */
export function readShardIfIntact(...args: Parameters<typeof readShard>): Promise<List<unknown> | null> {
  return readShard(...args).catch(nullFor('INTEGRITY'));
}
