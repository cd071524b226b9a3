import { basename } from 'node:path';
import { hasCode, OrchError } from '../errors.ts';
import { parseEpicId } from '../ids.ts';
import type { Clock } from '../system/clock.ts';
import { type Disk, statIfThere } from '../system/files.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
import { formatCommit } from './commit.ts';
import { damaged, type GitEngine } from './engine.ts';
import { hashObject } from './objects.ts';
import { readCommit } from './read.ts';
import { waitForRefLock } from './ref-wait.ts';
import type { Repository } from './repository.ts';

/** What was there before a restore changed it, and what is needed to bring exactly that back. */
export type Undo = {
  readonly epic: EpicId;
  /** The working tree as it was, with the ignored files the restore replaced. */
  readonly tree: Oid;
  /** What was done over it: more than once where a restore was cut short and another came after. */
  readonly restored: readonly { readonly from: Oid; readonly to: Oid }[];
  /** The files that were changed, to the byte: a tree; null where there were none. */
  readonly bytes: Oid | null;
  /** What was done over it, in words: `restoring ckpt 51`. */
  readonly over: string;
  /** The paths it was about, in bytes; null: all. */
  readonly scope: readonly string[] | null;
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** Did the restore come to its end? */
  readonly isFinished: boolean;
  /** The snapshot of the checkpoint that was saved before. */
  readonly saved: Oid;
  /** The undo that this restore carried out, where it was one: cut short, it is gone on with. */
  readonly undoes: Oid | null;
  /** The linked working tree it is of. */
  readonly place?: string | null;
};

/** An undo as it was found. */
export type FoundUndo = { readonly undo: Undo; readonly commit: Oid; readonly at: Millis };

type Ports = {
  readonly git: GitEngine;
  readonly repository: Repository;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly report: (what: string) => void;
};

/** What restores replaced, so that it can be brought back. */
const undoPrefix = 'refs/orchestration-local/undo/';
export const linkedUndoPrefix = `${undoPrefix}worktrees/`;

/** Each working tree has its own. */
export function undoRef({ gitDir, commonDir }: Repository): string {
  return gitDir === commonDir ? `${undoPrefix}main-worktree` : `${linkedUndoPrefix}${basename(gitDir)}`;
}

/**
 * Which linked working tree it is: one that is made under the name of one that was removed is another. Null for the
 * main one, of which there is one only.
 */
function placeOf({ gitDir, commonDir }: Repository): string | null {
  const stat = gitDir === commonDir ? null : statIfThere(gitDir);
  return stat && `${stat.ino} ${stat.birthtimeMs}`;
}

/** The newest; null where there is nothing to undo. */
export async function readUndo({ git, repository }: Ports): Promise<FoundUndo | null> {
  const oid = await git.readRef(undoRef(repository));
  const found = oid === null ? null : await readUndoCommit(git, oid);
  const isAnothers = found?.undo.place && found.undo.place !== placeOf(repository);
  return isAnothers ? null : found;
}

export async function readUndoCommit(git: GitEngine, oid: Oid): Promise<FoundUndo> {
  const { tree, message, authoredAt } = await readCommit(git, oid);
  const said = /\nOrch-Undo: (\{.*\})\n$/.exec(message)?.[1];
  if (said === undefined) throw damaged(oid, 'not an undo of orch');
  const { epic, ...rest } = JSON.parse(said) as Omit<Undo, 'tree'>; // written by `writeUndo`, in one step
  return { undo: { ...rest, epic: parseEpicId(epic), tree }, commit: oid, at: authoredAt };
}

const maxConflicts = 5;

/** Keeps it; on disk when it returns. All it refers to is held by its parents, so git prunes none of it. */
export async function writeUndo(ports: Ports, { tree, ...known }: Undo): Promise<Oid> {
  const { git, clock } = ports;
  const undo = { ...known, place: placeOf(ports.repository) };
  const at = clock.now();
  const held = [...undo.restored.flatMap(({ from, to }) => [from, to]), undo.bytes]
    .filter((each) => each !== null)
    .map((each) => holdTree(each, at));
  const holders = held.map((each) => hashObject(each, git.format));
  const parents = [undo.saved, undo.undoes, ...holders].filter((each) => each !== null);
  const message = `before ${undo.over}\n\nOrch-Undo: ${JSON.stringify(undo)}\n`;
  const commit = formatCommit({
    tree,
    parents: [...new Set(parents)],
    authoredAt: at,
    committedAt: at,
    message,
  });
  await git.writeObjects([...held, commit]);
  const to = hashObject(commit, git.format);
  await pointUndo(ports, to);
  return to;
}

/** Has the undo of this worktree be another, or none. */
export async function pointUndo(ports: Ports, to: Oid | null): Promise<void> {
  const { git, repository } = ports;
  const ref = undoRef(repository);
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await git.moveRefs([{ ref, from: await git.readRef(ref), to }]);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || conflicts >= maxConflicts) throw error;
      const { lock } = error.data;
      if (typeof lock === 'string' && !(await waitForRefLock(ports, lock))) throw error;
    }
  }
}

/** A ref holds commits, so a tree is held by one. */
function holdTree(tree: Oid, at: Millis) {
  return formatCommit({
    tree,
    parents: [],
    authoredAt: at,
    committedAt: at,
    message: 'kept for orch restore --undo\n',
  });
}

export function nothingToUndo(): OrchError {
  return new OrchError(
    'CHECKPOINT_NOT_FOUND',
    'there is nothing to undo: nothing was restored in this worktree',
    {
      hint: 'Bring back an older state with: orch restore NAME. See what there is: orch checkpoint list',
    },
  );
}
