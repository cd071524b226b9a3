import { basename } from 'node:path';
import {
  epic,
  listOf,
  number,
  optional,
  orNull,
  readChecked,
  text,
  withFields,
  yesOrNo,
} from '../../checks.ts';
import { hasCode, OrchError } from '../../errors.ts';
import { isOid } from '../../ids.ts';
import { statIfThere } from '../../system/disk.ts';
import type { EpicId, Millis, Oid } from '../../types.ts';
import { damaged, type GitEngine, type RefUpdate } from '../engine.ts';
import { formatCommit } from '../objects/commit-object.ts';
import { hashObject } from '../objects/loose-objects.ts';
import { readCommit } from '../objects/read-objects.ts';
import { type RefWaitPorts, retryOnConflict } from '../refs/retry-on-conflict.ts';
import type { Repository } from '../repository.ts';

/** The state before a restore, and everything needed to bring back exactly that. */
export type Undo = {
  readonly epic: EpicId;
  /** The previous working tree, with the ignored files that the restore replaced. */
  readonly tree: Oid;
  /** The restores that changed it; several if an older orch combined them. */
  readonly restored: readonly { readonly from: Oid; readonly to: Oid }[];
  /** A tree with the exact bytes of the changed files; null if there were none. */
  readonly bytes: Oid | null;
  /** What changed it, in words: `restoring ckpt 51`. */
  readonly over: string;
  /** The restored paths, in bytes; null: all. */
  readonly scope: readonly string[] | null;
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** Whether the restore completed. */
  readonly isFinished: boolean;
  /** Whether it was interrupted and rolled back, or is itself a rollback. Then there is nothing to undo. */
  readonly rolledBack?: boolean;
  /** The snapshot of the checkpoint that was saved before, and that checkpoint's number. */
  readonly saved: Oid;
  readonly savedSeq?: number;
  /** If this restore was an undo: the one it undid, so that it can be continued after an interruption. */
  readonly undoes: Oid | null;
  /** Identifies the linked working tree: see `identifyWorktree`. */
  readonly place?: string | null;
};

export type FoundUndo = { readonly undo: Undo; readonly commit: Oid; readonly at: Millis };

/** An undo with its ref. */
export type KeptUndo = FoundUndo & { readonly ref: string };

type Ports = RefWaitPorts & { readonly git: GitEngine; readonly repository: Repository };

/** Keeps what restores replaced. */
export const undoPrefix = 'refs/orchestration-local/undo/';

/** The refs of one working tree: each restore has its own, with an increasing number. */
function prefixOf({ gitDir, commonDir }: Repository): string {
  return gitDir === commonDir ? `${undoPrefix}main/` : `${undoPrefix}linked/${basename(gitDir)}/`;
}

/** Where older versions kept the only undo of a working tree. */
function oldRefOf({ gitDir, commonDir }: Repository): string {
  return gitDir === commonDir ? `${undoPrefix}main-worktree` : `${undoPrefix}worktrees/${basename(gitDir)}`;
}

/** Parses an undo ref; `worktree` is null for the main one, and an old ref has number 0. */
export function parseUndoRef(
  ref: string,
): { readonly worktree: string | null; readonly number: number } | null {
  const [, main, linked, number, old] =
    /^refs\/orchestration-local\/undo\/(?:(main|linked\/([^/]+))\/(\d{8,15})|main-worktree|worktrees\/([^/]+))$/.exec(
      ref,
    ) ?? [];
  if (main === undefined && old === undefined && ref !== `${undoPrefix}main-worktree`) return null;
  return { worktree: linked ?? old ?? null, number: Number(number ?? 0) };
}

/** Tells a linked working tree from a later one with the same name. Null for the main one. */
function identifyWorktree({ gitDir, commonDir }: Repository): string | null {
  const stat = gitDir === commonDir ? null : statIfThere(gitDir);
  return stat && `${stat.ino} ${stat.birthtimeMs}`;
}

/** Lists the undos of this worktree, oldest first. Skips unreadable ones. */
export async function listUndos({ git, repository }: Ports): Promise<KeptUndo[]> {
  const undos: KeptUndo[] = [];
  const place = identifyWorktree(repository);
  for (const [ref, oid] of await listUndoRefs(git, repository)) {
    try {
      const found = await readUndoCommit(git, oid);
      if (!found.undo.place || found.undo.place === place) undos.push({ ...found, ref });
    } catch (error) {
      if (!hasCode(error, 'INTEGRITY')) throw error;
    }
  }
  return undos;
}

async function listUndoRefs(git: GitEngine, repository: Repository): Promise<[ref: string, oid: Oid][]> {
  const old = await git.readRef(oldRefOf(repository));
  const own = await git.listRefs(prefixOf(repository));
  return [...(old === null ? [] : [[oldRefOf(repository), old] as [string, Oid]]), ...own];
}

const isUndo = withFields<Omit<Undo, 'tree'>>({
  epic,
  restored: listOf(withFields<Undo['restored'][number]>({ from: isOid, to: isOid })),
  bytes: orNull(isOid),
  over: text,
  scope: orNull(listOf(text)),
  leftOut: listOf(withFields<Undo['leftOut'][number]>({ path: text, reason: text })),
  isFinished: yesOrNo,
  rolledBack: optional(yesOrNo),
  saved: isOid,
  savedSeq: optional(number),
  undoes: orNull(isOid),
  place: optional(orNull(text)),
});

export async function readUndoCommit(git: GitEngine, oid: Oid): Promise<FoundUndo> {
  const { tree, message, authoredAt } = await readCommit(git, oid);
  const json = /\nOrch-Undo: (\{.*\})\n$/.exec(message)?.[1];
  if (json === undefined) throw damaged(oid, 'not an undo of orch');
  const undo = readChecked(json, isUndo);
  if (undo === null) throw damaged(oid, 'an unreadable undo');
  return { undo: { ...undo, tree }, commit: oid, at: authoredAt };
}

/** Adds an undo under a new ref, and syncs it. */
export async function addUndo(ports: Ports, undo: Undo): Promise<KeptUndo> {
  const { git, repository } = ports;
  const numbers = (await listUndoRefs(git, repository)).map(([ref]) => parseUndoRef(ref)?.number ?? 0);
  const number = Math.max(0, ...numbers) + 1;
  const ref = `${prefixOf(repository)}${String(number).padStart(8, '0')}`;
  const found = await writeUndo(ports, undo);
  await moveUndo(ports, { ref, from: null, to: found.commit });
  return { ...found, ref };
}

/** Records the outcome of the restore under the same ref. */
export async function updateUndo(
  ports: Ports,
  { ref, commit, undo }: KeptUndo,
  outcome: Pick<Undo, 'isFinished' | 'rolledBack'>,
): Promise<KeptUndo> {
  const found = await writeUndo(ports, { ...undo, ...outcome });
  await moveUndo(ports, { ref, from: commit, to: found.commit });
  return { ...found, ref };
}

/** Removes the undo of a restore that changed nothing. */
export function dropUndo(ports: Ports, { ref, commit }: KeptUndo): Promise<void> {
  return moveUndo(ports, { ref, from: commit, to: null });
}

/** Writes the undo commit. Its parents lead to everything it refers to, so that git prunes none of it. */
async function writeUndo({ git, clock, repository }: Ports, { tree, ...known }: Undo): Promise<FoundUndo> {
  const undo = { ...known, place: identifyWorktree(repository) };
  const at = clock.now();
  const times = { authoredAt: at, committedAt: at };
  // A tree needs a commit that keeps it.
  const keepers = [...undo.restored.flatMap(({ from, to }) => [from, to]), undo.bytes]
    .filter((each) => each !== null)
    .map((each) =>
      formatCommit({ tree: each, parents: [], message: 'kept for orch restore --undo\n', ...times }),
    );
  const ids = keepers.map((each) => hashObject(each, git.format));
  const parents = [...new Set([undo.saved, undo.undoes, ...ids].filter((each) => each !== null))];
  const message = `before ${undo.over}\n\nOrch-Undo: ${JSON.stringify(undo)}\n`;
  const commit = formatCommit({ tree, parents, message, ...times });
  await git.writeObjects([...keepers, commit]);
  return { undo: { ...undo, tree }, commit: hashObject(commit, git.format), at };
}

/** Waits for locks, including stale ones. A ref that another process moved stays a conflict. */
function moveUndo(ports: Ports, update: RefUpdate): Promise<void> {
  return retryOnConflict(ports, () => ports.git.moveRefs([update]), 5);
}

export function nothingToUndo(): OrchError {
  const message = 'there is nothing to undo: nothing was restored in this worktree';
  return new OrchError('CHECKPOINT_NOT_FOUND', message, {
    hint: 'Restore an older state with: orch restore NAME. List checkpoints with: orch checkpoint list',
  });
}
