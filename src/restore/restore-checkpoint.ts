import type { Checkpoint } from '../checkpoint/list.ts';
import { formatPath } from '../git/objects/tree-object.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import type { Millis, SessionId } from '../types.ts';
import { using, type Where } from '../where.ts';
import { findCheckpointCode, findUndo, type RestoreTarget } from './find-target.ts';
import { type InterruptedRestore, readInterrupted } from './interrupted.ts';
import { changesNothing, isWithin, type RestorePlan } from './plan-restore.ts';
import {
  type Proposal,
  proposeRestore,
  type RestoreSetting,
  readSetting,
  resolvePaths,
  showPaths,
} from './propose-restore.ts';
import { type Restored, restoreFiles, undoOutdated } from './restore-files.ts';
import { restoreToFolder } from './restore-to-folder.ts';

export type RestoreInput = {
  readonly epicId: string;
  /** `58`, `latest~2`, `green`, `s7`, `2h ago`, an id or its first characters. */
  readonly name: string;
  /** Only these files and folders; everything by default. */
  readonly paths?: readonly string[];
  /** The folder that paths are relative to; the top of the working tree by default. */
  readonly cwd?: string;
  /** Returns what would change, and changes nothing. */
  readonly dryRun?: boolean;
};

export type UndoOptions = Pick<RestoreInput, 'dryRun'> & {
  /** The undo that `previewRestore` returned. If another restore has run here since, that is an error. */
  readonly commit?: string;
};

type NamedFile = { readonly path: string; readonly reason: string };

export type RestoreResult = {
  /** The checkpoint whose code was restored; null for an undo. */
  readonly restored: Checkpoint | null;
  /** The files that were written, new ones included. */
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
  /** Files that differ from the checkpoint but were left alone, and why. */
  readonly kept: readonly NamedFile[];
  /** The checkpoint that holds the previous files; null if nothing changed. */
  readonly saved: Checkpoint | null;
  /** The commit that an undo goes back to; null if nothing changed. */
  readonly undo: string | null;
  /** The interrupted restores that were completed or rolled back first, newest first. */
  readonly settled: readonly InterruptedRestore[];
};

/** What a restore would do, and what the user should know before agreeing to it. */
export type RestorePreview = {
  readonly result: RestoreResult;
  readonly isNothing: boolean;
  /** `ckpt 58`, or `your files before restoring ckpt 51`. */
  readonly label: string;
  readonly at: Millis;
  /** The commit of the undo; null when a checkpoint is restored. */
  readonly undoes: string | null;
  /** The changed files that do not exist now. */
  readonly comesBack: readonly string[];
  /** Ignored files that are overwritten: an undo brings them back, in this clone only. */
  readonly savedForUndo: readonly string[];
  /** Files that cannot be saved first, so they are not touched. */
  readonly notTouched: readonly NamedFile[];
  /** Files that are not in the snapshot, so they are not restored. */
  readonly notInSnapshot: readonly NamedFile[];
  readonly setting: RestoreSetting;
  /** A restore, or an undo, that was interrupted here. */
  readonly interrupted: { readonly over: string; readonly isUndo: boolean } | null;
};

/** Restores the code of a checkpoint into the working tree. The current files are saved first; `undoRestore` brings them back. */
export async function restoreCheckpoint(input: RestoreInput, where: Where = {}): Promise<RestoreResult> {
  return using(where, async (orch) => restoreTarget(orch, await findTarget(orch, input), input.dryRun));
}

/** Brings back the files from before the last restore in this worktree. An undo can be undone as well. */
export async function undoRestore(options: UndoOptions = {}, where: Where = {}): Promise<RestoreResult> {
  return using(where, async (orch) => {
    const target = await findUndo(orch);
    if (options.commit !== undefined && commitOfUndo(target) !== options.commit) throw undoOutdated();
    return restoreTarget(orch, target, options.dryRun);
  });
}

/** Returns what a restore, or an undo, would do. `session` is the session that asks. */
export async function previewRestore(
  input: RestoreInput | 'undo',
  where: Where = {},
  session: SessionId | null = null,
): Promise<RestorePreview> {
  return using(where, async (orch) => {
    const target = input === 'undo' ? await findUndo(orch) : await findTarget(orch, input);
    const proposal = await proposeRestore(orch, target);
    const interrupted = await readInterrupted(orch);
    const { source, label } = target;
    return {
      result: describeResult(target, proposal.plan, null),
      isNothing: changesNothing(proposal.plan),
      label,
      at: source.kind === 'undo' ? source.at : Date.parse(source.checkpoint.timestamp),
      undoes: commitOfUndo(target),
      comesBack: showPaths(proposal.plan.comesBack),
      savedForUndo: showPaths(proposal.plan.save),
      ...listLeftOut(proposal),
      setting: await readSetting(orch, target, session),
      interrupted: interrupted && { over: interrupted.undo.over, isUndo: interrupted.undo.undoes !== null },
    };
  });
}

export type WrittenOut = RestoreResult & {
  readonly folder: string;
  readonly label: string;
  readonly notInSnapshot: readonly NamedFile[];
};

/** Writes the code of a checkpoint to a new or empty folder. The working tree is not touched. */
export async function writeCheckpointTo(
  folder: string,
  input: Omit<RestoreInput, 'dryRun'>,
  where: Where = {},
): Promise<WrittenOut> {
  return using(where, async (orch) => {
    const target = await findTarget(orch, input);
    const changed = showPaths(await restoreToFolder(orch, target, folder));
    const restored = target.source.kind === 'checkpoint' ? target.source.checkpoint : null;
    const rest = { deleted: [], kept: [], saved: null, undo: null, settled: [] };
    const notInSnapshot = target.leftOut.filter(({ path }) => isInScope(target, path));
    return { restored, changed, ...rest, folder, label: target.label, notInSnapshot };
  });
}

async function findTarget(orch: Orch, { epicId, name, paths, cwd }: RestoreInput): Promise<RestoreTarget> {
  const target = await findCheckpointCode(orch, parseEpicId(epicId), name);
  return paths ? { ...target, scope: resolvePaths(orch.repository, cwd, paths) } : target;
}

async function restoreTarget(orch: Orch, target: RestoreTarget, dryRun = false): Promise<RestoreResult> {
  const { plan } = await proposeRestore(orch, target);
  if (dryRun || (changesNothing(plan) && (await readInterrupted(orch)) === null))
    return describeResult(target, plan, null);
  const done = await restoreFiles(orch, target);
  return describeResult(target, done.plan, done);
}

function describeResult({ source }: RestoreTarget, plan: RestorePlan, done: Restored | null): RestoreResult {
  return {
    restored: source.kind === 'checkpoint' ? source.checkpoint : null,
    changed: showPaths(plan.write.keys()),
    deleted: showPaths(plan.remove),
    kept: plan.kept.map(({ path, reason }) => ({ path: formatPath(path), reason })),
    saved: done?.saved ?? null,
    undo: done?.undo ?? null,
    settled: done?.settled ?? [],
  };
}

function commitOfUndo({ source }: RestoreTarget): string | null {
  return source.kind === 'undo' ? source.commit : null;
}

/** Files that are in neither tree, so comparing the trees does not show them: left out of a snapshot now, or back then. */
function listLeftOut({ target, plan, present }: Proposal) {
  const listed = new Set(plan.kept.map(({ path }) => formatPath(path)));
  const isMissing = ({ path }: NamedFile) => !listed.has(path) && isInScope(target, path);
  const notTouched = present.leftOut.filter(isMissing).map(({ path, reason }) => ({ path, reason }));
  for (const { path } of notTouched) listed.add(path);
  return { notTouched, notInSnapshot: target.leftOut.filter(isMissing) };
}

function isInScope({ scope }: RestoreTarget, path: string): boolean {
  return isWithin(path, scope?.map(formatPath) ?? null);
}
