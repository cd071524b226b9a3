import { basename } from 'node:path';
import { listOf, number, optional, orNull, readChecked, text, withFields, yesOrNo } from '../checks.ts';
import { hasCode, OrchError } from '../errors.ts';
import { isEpicId, isOid } from '../ids.ts';
import type { Clock } from '../system/clock.ts';
import { type Disk, statIfThere } from '../system/files.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
import { formatCommit } from './commit.ts';
import { damaged, type GitEngine, type RefUpdate } from './engine.ts';
import { hashObject } from './objects.ts';
import { readCommit } from './read.ts';
import { waitForRefLock } from './ref-wait.ts';
import type { Repository } from './repository.ts';

/** What was there before a restore changed it, and what is needed to bring exactly that back. */
export type Undo = {
  readonly epic: EpicId;
  /** The working tree as it was, with the ignored files the restore replaced. */
  readonly tree: Oid;
  /** What was done over it: more than once where an older orch took two restores for one. */
  readonly restored: readonly { readonly from: Oid; readonly to: Oid }[];
  /** The files that were changed, to the byte: a tree; null where there were none. */
  readonly bytes: Oid | null;
  /** What was done over it, in words: `restoring ckpt 51`. */
  readonly over: string;
  /** The paths it was about, in bytes; null: all. */
  readonly scope: readonly string[] | null;
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** Did the restore reach its end? */
  readonly isFinished: boolean;
  /** Was it interrupted and rolled back, or is it the rollback of one? Then there is nothing to undo. */
  readonly rolledBack?: boolean;
  /** The snapshot of the checkpoint that was saved before, and that checkpoint's number. */
  readonly saved: Oid;
  readonly savedSeq?: number;
  /** The undo that this restore carried out, where it was one: if it was interrupted, the next one continues it. */
  readonly undoes: Oid | null;
  /** The linked working tree it is of. */
  readonly place?: string | null;
};

/** An undo as it was found. */
export type FoundUndo = { readonly undo: Undo; readonly commit: Oid; readonly at: Millis };

/** One that a ref keeps. */
export type KeptUndo = FoundUndo & { readonly ref: string };

type Ports = {
  readonly git: GitEngine;
  readonly repository: Repository;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly report: (what: string) => void;
};

/** What restores replaced, so that it can be brought back. */
export const undoPrefix = 'refs/orchestration-local/undo/';

/** The refs of one working tree: each restore has its own, with a number that only rises. */
function prefixOf({ gitDir, commonDir }: Repository): string {
  return gitDir === commonDir ? `${undoPrefix}main/` : `${undoPrefix}linked/${basename(gitDir)}/`;
}

/** Where an older orch kept the only undo of a working tree. */
function oldRefOf({ gitDir, commonDir }: Repository): string {
  return gitDir === commonDir ? `${undoPrefix}main-worktree` : `${undoPrefix}worktrees/${basename(gitDir)}`;
}

/** Which working tree a ref is of; null as `worktree` for the main one. The old one is before all numbers. */
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

/**
 * Which linked working tree it is: one that is made under the name of one that was removed is another. Null for the
 * main one, of which there is one only.
 */
function placeOf({ gitDir, commonDir }: Repository): string | null {
  const stat = gitDir === commonDir ? null : statIfThere(gitDir);
  return stat && `${stat.ino} ${stat.birthtimeMs}`;
}

/** What restores in this worktree replaced, oldest first. One that cannot be read any more is passed over. */
export async function listUndos({ git, repository }: Ports): Promise<KeptUndo[]> {
  const undos: KeptUndo[] = [];
  const place = placeOf(repository);
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
  epic: (value) => typeof value === 'string' && isEpicId(value),
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
  const said = /\nOrch-Undo: (\{.*\})\n$/.exec(message)?.[1];
  if (said === undefined) throw damaged(oid, 'not an undo of orch');
  const undo = readChecked(said, isUndo);
  if (undo === null) throw damaged(oid, 'an undo that cannot be read');
  return { undo: { ...undo, tree }, commit: oid, at: authoredAt };
}

/** Keeps a new one under a name of its own; on disk when it returns. */
export async function addUndo(ports: Ports, undo: Undo): Promise<KeptUndo> {
  const { git, repository } = ports;
  const numbers = (await listUndoRefs(git, repository)).map(([ref]) => parseUndoRef(ref)?.number ?? 0);
  const number = Math.max(0, ...numbers) + 1;
  const ref = `${prefixOf(repository)}${String(number).padStart(8, '0')}`;
  const found = await writeUndo(ports, undo);
  await moveUndo(ports, { ref, from: null, to: found.commit });
  return { ...found, ref };
}

/** Notes what became of it, under the same name. */
export async function updateUndo(
  ports: Ports,
  { ref, commit, undo }: KeptUndo,
  news: Pick<Undo, 'isFinished' | 'rolledBack'>,
): Promise<KeptUndo> {
  const found = await writeUndo(ports, { ...undo, ...news });
  await moveUndo(ports, { ref, from: commit, to: found.commit });
  return { ...found, ref };
}

/** Forgets one of a restore that changed nothing. */
export function dropUndo(ports: Ports, { ref, commit }: KeptUndo): Promise<void> {
  return moveUndo(ports, { ref, from: commit, to: null });
}

/** Writes it. All it refers to is held by its parents, so git prunes none of it once a ref leads here. */
async function writeUndo({ git, clock, repository }: Ports, { tree, ...known }: Undo): Promise<FoundUndo> {
  const undo = { ...known, place: placeOf(repository) };
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
  return { undo: { ...undo, tree }, commit: hashObject(commit, git.format), at };
}

const maxConflicts = 5;

/** A lock that a process left when it died is waited for; a ref that another one moved is a conflict. */
async function moveUndo(ports: Ports, update: RefUpdate): Promise<void> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await ports.git.moveRefs([update]);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || conflicts >= maxConflicts) throw error;
      const { lock } = error.data;
      if (typeof lock !== 'string' || !(await waitForRefLock(ports, lock))) throw error;
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
