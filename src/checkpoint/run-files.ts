import { OrchError } from '../errors.ts';
import { isRunId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { readCurrent } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { type EffectRecord, isWholePayload, newestRuns, type RunHead, type RunPart } from '../state/run.ts';
import { formatInstant } from '../units.ts';
import { artifactsFolder } from './tree.ts';

/** A file that a run needs kept as long as it is unfinished. */
export type RunFile = {
  readonly run: string;
  /** Where it stood, below the top of the working tree. */
  readonly path: string;
  readonly bytes: Buffer;
};

const plannedName = 'planned-writeback.json';
const finalName = 'writeback.json';
/** Below it are the files a run needs. */
export const filesFolder = 'files';

type Run = RunPart & { readonly head: RunHead };

/**
 * What changes among the files of runs, by their paths in the epic's folder. What a run planned and what it did is
 * made from the state, so it can always be made again; a run's files leave when it has succeeded, and everything of it
 * when its plan's next run begins, or a cleanup takes it. What others put there stays.
 */
export function editRunFiles(
  state: State,
  present: readonly string[],
  added: readonly RunFile[],
): Map<string, Buffer | null> {
  const newest = keptRuns(state);
  const edits = new Map<string, Buffer | null>();
  for (const path of present) if (isLeftOver(path, newest)) edits.set(path, null);
  for (const [id, run] of newest) {
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

/** The runs that have files in the tree: of each plan the newest, unless it was cleaned up since. */
export function keptRuns(state: State): Map<string, Run> {
  const cleared = readCurrent(state, 'clearedRuns') ?? {};
  const isKept = (id: string, { head }: Run) => (lookUp(cleared, id) ?? -1) < head.at;
  return new Map([...newestRuns(state.runs)].filter(([id, run]) => isRunId(id) && isKept(id, run)));
}

/** Which run a path below the epic's folder belongs to, if any. */
export function runOfPath(path: string): string | null {
  const [folder, id = ''] = path.split('/');
  return folder === artifactsFolder && isRunId(id) ? id : null;
}

/** Where a run's file is, below the epic's folder. */
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

/** Is there nothing left to do? What belongs to a task that was skipped is not to be done. */
function isWrittenBack({ effects, tasks }: Run): boolean {
  return Object.values(effects).every(
    ({ status, task }) => status === 'acknowledged' || lookUp(tasks, task)?.status === 'skipped',
  );
}

/** It says nothing that changes while the run goes on. */
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

/** What an effect sends: as values where they can be read, as they can unless a secret was taken out in an odd place. */
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
    `${JSON.stringify(wrong.path)} cannot be kept: it is no path below the repository`,
    {
      hint: 'Name it as it stands in the working tree, such as dist/app.js',
      data: { path: wrong.path },
    },
  );
}
