import { OrchError } from '../../errors.ts';
import { damaged, type GitEngine } from '../../git/engine.ts';
import { listPath, readTree } from '../../git/objects/read-objects.ts';
import { folderMode, type TreeEntry } from '../../git/objects/tree-object.ts';
import { isRunId } from '../../ids.ts';
import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import type { State } from '../../state/lists.ts';
import { listEffects, noRecords, type RunRecords } from '../../state/run-records.ts';
import {
  type EffectRecord,
  isWholePayload,
  newestRuns,
  type RunHead,
  type RunPart,
  readRuns,
} from '../../state/runs.ts';
import type { EpicId, Oid } from '../../types.ts';
import { formatInstant } from '../../units.ts';
import { artifactsFolder, epicFolder } from './names-in-git.ts';

/** A file that a run needs as long as it is unfinished. */
export type RunFile = {
  readonly run: string;
  /** Its path below the top of the working tree. */
  readonly path: string;
  readonly bytes: Buffer;
};

const plannedName = 'planned-writeback.json';
const finalName = 'writeback.json';
/** The folder of the files a run needs. */
export const filesFolder = 'files';

type Run = RunPart & { readonly head: RunHead };

/**
 * The changes to the files of runs, by path in the epic's folder; `changed` are the records of runs with other effects. What a run planned and did is made from the state, so
 * it can always be made again; a run's files are removed when it succeeds, and everything of it when the next run of
 * its plan starts or a cleanup removes it. Files that orch did not write stay.
 */
export function editRunFiles(
  state: State,
  present: readonly string[],
  added: readonly RunFile[],
  changed: ReadonlyMap<string, RunRecords>,
): Map<string, Buffer | null> {
  const newest = keptRuns(state);
  const edits = new Map<string, Buffer | null>();
  for (const path of present) if (isLeftOver(path, newest)) edits.set(path, null);
  for (const [id, known] of newest) {
    const run = known.head.shards === undefined ? known : withRecords(known, changed.get(id));
    if (Object.keys(run.effects).length === 0) continue;
    edits.set(pathOf(id, plannedName), formatPlanned(id, run));
    if (isWrittenBack(run)) edits.set(pathOf(id, finalName), formatFinal(id, run));
    else if (present.includes(pathOf(id, finalName))) edits.set(pathOf(id, finalName), null);
  }
  for (const file of added) {
    const run = newest.get(file.run);
    if (run && !hasSucceeded(run)) edits.set(pathOfRunFile(file), file.bytes);
  }
  return edits;
}

/** A run with its records, if they have changed in a way that shows in its files. */
function withRecords(run: Run, records: RunRecords = noRecords): Run {
  const tasks = Object.entries(records.tasks).map(([id, { value }]) => [id, value]);
  return { ...run, tasks: Object.fromEntries(tasks), effects: Object.fromEntries(listEffects(records)) };
}

/** The runs that have files in the tree: the newest of each plan, unless it was cleaned up since. */
export function keptRuns(state: State): Map<string, Run> {
  const cleared = readCurrent(state, 'clearedRuns') ?? {};
  const isKept = (id: string, { head }: Run) => (lookUp(cleared, id) ?? -1) < head.at;
  return new Map([...newestRuns(state.runs)].filter(([id, run]) => isRunId(id) && isKept(id, run)));
}

/** The runs whose records a cleanup took out of the tree; the history has them. Only a run that succeeded is done with. */
export function archivedRuns(state: State): ReadonlySet<string> {
  const cleared = readCurrent(state, 'clearedRuns') ?? {};
  const isArchived = ([id, { head }]: [string, RunPart]) =>
    head?.status === 'succeeded' && (lookUp(cleared, id) ?? -1) >= head.at;
  return new Set(
    Object.keys(cleared).length === 0 ? [] : [...readRuns(state.runs)].filter(isArchived).map(([id]) => id),
  );
}

/** The run that a path below the epic's folder belongs to; null if none. */
export function runOfPath(path: string): string | null {
  const [folder, id = ''] = path.split('/');
  return folder === artifactsFolder && isRunId(id) ? id : null;
}

/** The path of a run's file below the epic's folder. */
export function pathOfRunFile({ run, path }: Pick<RunFile, 'run' | 'path'>): string {
  return pathOf(run, filesFolder, path);
}

function pathOf(...parts: readonly string[]): string {
  return [artifactsFolder, ...parts].join('/');
}

function isLeftOver(path: string, newest: ReadonlyMap<string, Run>): boolean {
  const id = runOfPath(path);
  if (id === null) return false;
  const run = newest.get(id);
  return run === undefined || (path.split('/')[2] === filesFolder && hasSucceeded(run));
}

function hasSucceeded(run: Run): boolean {
  return run.head.status === 'succeeded';
}

/** Is nothing left to do? Effects of a skipped task need not be done. */
function isWrittenBack({ effects, tasks }: Run): boolean {
  return Object.values(effects).every(
    ({ status, task }) => status === 'acknowledged' || lookUp(tasks, task)?.status === 'skipped',
  );
}

/** Contains nothing that changes while the run continues. */
function formatPlanned(id: string, { head, effects }: Run): Buffer {
  const planned = Object.entries(effects).map(([effect, record]) => {
    const { task, key, digest, what } = record;
    return {
      id: effect,
      task,
      key,
      digest,
      what,
      content: readContent(record),
      whole: isWholePayload(record),
    };
  });
  return formatFile({ run: id, plan: head.plan, planDigest: head.digest, effects: planned });
}

/** What an effect sends, as a value; as text if redaction broke the JSON. */
function readContent({ content }: EffectRecord): unknown {
  if (content === undefined) return null;
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}

function formatFinal(id: string, { head, effects }: Run): Buffer {
  const done = Object.entries(effects).map(([effect, { task, key, digest, status, at }]) => ({
    id: effect,
    task,
    key,
    digest,
    status: status === 'acknowledged' ? status : 'skipped',
    ...(status === 'acknowledged' && { acknowledgedAt: formatInstant(at) }),
  }));
  return formatFile({ run: id, plan: head.plan, planDigest: head.digest, effects: done });
}

function formatFile(content: object): Buffer {
  return Buffer.from(`${JSON.stringify({ format: 1, ...content }, null, 1)}\n`);
}

/** Refuses what cannot be a path in a tree. */
export function checkRunFiles(files: readonly RunFile[]): void {
  const wrong = files.find(({ path }) =>
    path.split('/').some((part) => ['', '.', '..'].includes(part) || /^\.git$|[\0\\]/i.test(part)),
  );
  if (wrong === undefined) return;
  throw new OrchError(
    'USAGE',
    `cannot keep ${JSON.stringify(wrong.path)}: it is not a path inside the repository`,
    {
      hint: 'Give its path in the working tree, such as dist/app.js.',
      data: { path: wrong.path },
    },
  );
}

/** The names in an epic's folder, and for runs the whole paths. */
export async function listBeside(git: GitEngine, tree: Oid, epic: EpicId): Promise<string[]> {
  const entries = (await listPath(git, tree, epicFolder(epic))) ?? [];
  const others = entries.filter((entry) => !isArtifacts(entry)).map(({ name }) => name);
  return [...others, ...(await listRunPaths(git, entries))];
}

/** The paths of runs' files, from the entries of an epic's folder. */
export async function listRunPaths(git: GitEngine, entries: readonly TreeEntry[]): Promise<string[]> {
  const runs = entries.find(isArtifacts);
  const listed = runs === undefined ? [] : await listFiles(git, runs.oid, artifactsFolder);
  return listed.map(({ path }) => path);
}

function isArtifacts({ name, mode }: TreeEntry): boolean {
  return name === artifactsFolder && mode === folderMode;
}

/** Reads the files that runs keep in a tree. */
export async function readRunFiles(git: GitEngine, tree: Oid, epic: EpicId): Promise<RunFile[]> {
  const runs = (await listPath(git, tree, [...epicFolder(epic), artifactsFolder])) ?? [];
  const kept: RunFile[] = [];
  let total = 0;
  for (const { name: run, mode, oid } of runs) {
    const inside = mode === folderMode ? await readTree(git, oid) : [];
    const files = inside.find((entry) => entry.name === filesFolder && entry.mode === folderMode);
    for (const { path, entry } of files ? await listFiles(git, files.oid, '') : []) {
      const { bytes } = await git.readObject(entry.oid, mostBytes);
      total += bytes.length;
      if (total > mostBytes) throw damaged(tree, `more than ${mostBytes} bytes of files of runs`);
      kept.push({ run, path, bytes });
    }
  }
  return kept;
}

type Listed = { readonly path: string; readonly entry: TreeEntry };

/** Runs keep a sixth of this. */
const mostBytes = 64 * 1024 * 1024;
/** Far more than runs keep. A few trees that reference each other could stand for billions of files. */
const mostFiles = 20_000;

async function listFiles(git: GitEngine, tree: Oid, under: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  const folders = [{ tree, under }];
  let seen = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of await readTree(git, next.tree)) {
      if (++seen > mostFiles) throw damaged(tree, `a folder of more than ${mostFiles} files`);
      const path = next.under === '' ? entry.name : `${next.under}/${entry.name}`;
      if (entry.mode === folderMode) folders.push({ tree: entry.oid, under: path });
      else listed.push({ path, entry });
    }
  }
  return listed;
}
