import { join } from 'node:path';
import { hasCode, OrchError, systemCode, writeFailed } from '../errors.ts';
import { statIfThere } from '../system/files.ts';
import type { EpicId, Millis, Oid, SessionId } from '../types.ts';
import { formatCommit } from './commit.ts';
import type { Commit, GitEngine } from './engine.ts';
import { hashObject } from './objects.ts';
import { readCommit } from './read.ts';
import { waitForRefLock } from './ref-wait.ts';
import type { Repository } from './repository.ts';
import { formatSnapshotMessage, headOf, leaveOutTheSame } from './snapshot-message.ts';
import { snapshotRef } from './snapshot-ref.ts';
import { findMissing } from './storage.ts';
import { formatTree } from './tree.ts';
import { type WorkTree, type WorkTreePorts, writeWorkTree } from './work-tree.ts';
import type { LeftOut } from './work-tree-changes.ts';
import { isGitFailure } from './work-tree-git.ts';

export type { LeftOut, WorkTree };
export { snapshotRef };

export type SnapshotPorts = WorkTreePorts & {
  /** Told of what went on behind the scenes: a stale lock removed, a damaged snapshot passed over. */
  readonly report: (what: string) => void;
  /** Takes out what must not be kept. */
  readonly redact: (text: string) => Promise<string>;
};

export type SnapshotRequest = {
  readonly epic: EpicId;
  readonly session: SessionId;
  /** Whose it is, in the subject: `session 7`. */
  readonly label: string;
  readonly at: Millis;
  /** A file that is larger is left out, and listed. */
  readonly maxFileBytes: number;
};

export type Snapshot = {
  readonly commit: Oid;
  readonly tree: Oid;
  readonly leftOut: readonly LeftOut[];
  /** Is it another than the session's last one? */
  readonly isNew: boolean;
  /** The tree of the session's last one, where the user's HEAD was the same. */
  readonly before: Oid | null;
};

export const defaultMaxFileBytes = 10_000_000;

const maxConflicts = 10;
const maxReadings = 5;

/** Why no snapshot can be taken here, in the user's words; null where one can. */
export function whyNoSnapshot({
  repository,
  git,
}: {
  readonly repository: Repository;
  readonly git: GitEngine;
}): string | null {
  if (repository.worktree === null) return 'a bare repository has no working tree';
  if (git.name !== 'native') return 'snapshots need the git program, and it is not in use here';
  return null;
}

/**
 * Saves the working tree, untracked files and deletions included, as a commit on the session's snapshot ref: its
 * first parent is the user's HEAD, its last the session's snapshot before. Nothing of the user's is touched. Where
 * nothing changed since that one, it is returned.
 */
export async function takeSnapshot(ports: SnapshotPorts, request: SnapshotRequest): Promise<Snapshot> {
  const { git } = ports;
  const ref = snapshotRef(request.epic, request.session);
  let last = await readLast(ports, ref);
  const { commit: head } = await git.readHead();
  const {
    tree,
    leftOut: omitted,
    written,
  } = await readWorkTree(ports, request.maxFileBytes, last.commit?.tree ?? null);
  const leftOut = await Promise.all(
    omitted.map(async (one) => ({ ...one, path: await ports.redact(one.path) })),
  );
  for (let conflicts = 0; ; conflicts++) {
    const before = last.commit;
    const sameHead = before && headOf(before.message) === head ? before : null;
    const message = formatSnapshotMessage({ ...request, head, leftOut });
    if (sameHead?.tree === tree && leaveOutTheSame(sameHead.message, message))
      return { commit: sameHead.oid, tree, leftOut, isNew: false, before: tree };
    const object = formatCommit({
      tree,
      parents: [head, before?.oid].filter((parent) => parent != null),
      authoredAt: request.at,
      committedAt: Math.max(request.at, before?.committedAt ?? 0),
      message,
    });
    const commit = hashObject(object, git.format);
    // git knows the empty tree without having it; others who read this commit do not.
    const empty = formatTree([]);
    await git.writeObjects(tree === hashObject(empty, git.format) ? [empty, object] : [object]);
    try {
      await git.moveRefs([{ ref, from: last.oid, to: commit }]);
      await git.keepObjects([object]);
      if (!(await isStillWhole(ports, request, { tree, written }))) {
        await git.moveRefs([{ ref, from: commit, to: last.oid }]);
        return await takeSnapshot(ports, request);
      }
      return { commit, tree, leftOut, isNew: true, before: sameHead?.tree ?? null };
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || conflicts >= maxConflicts) throw error;
      const { lock } = error.data;
      if (typeof lock === 'string' && !(await waitForRefLock(ports, lock))) throw error;
      last = await readLast(ports, ref);
    }
  }
}

/**
 * Is all of a snapshot there, now that a ref leads to it? A `git gc --prune=now` that looked at the refs before may have
 * removed what was stored for it; then the files are stored again. False where they are others by now.
 */
async function isStillWhole(
  ports: SnapshotPorts,
  { maxFileBytes }: SnapshotRequest,
  { tree, written }: Pick<WorkTree, 'tree' | 'written'>,
): Promise<boolean> {
  const folder = join(ports.repository.commonDir, 'objects');
  const gone = written.flatMap(({ file, oids }) => (statIfThere(join(folder, file)) === null ? oids : []));
  if (gone.length === 0 || (await findMissing(ports.repository, gone)).length === 0) return true;
  await ports.git.bringBackObjects();
  if ((await findMissing(ports.repository, gone)).length === 0) return true;
  ports.report(
    'a garbage collection removed objects of a snapshot while it was taken; they are stored again',
  );
  const again = await readWorkTree(ports, maxFileBytes, null, true);
  return again.tree === tree && (await findMissing(ports.repository, gone)).length === 0;
}

/**
 * The working tree as a tree object, and what is not in it; no commit is made, and no ref refers to it.
 * `reachable` is a tree a ref is known to lead to.
 */
export async function readWorkTree(
  ports: WorkTreePorts,
  maxFileBytes: number,
  reachable: Oid | null = null,
  isAfresh = false,
): Promise<WorkTree> {
  const { worktree } = ports.repository;
  const problem = whyNoSnapshot(ports);
  if (worktree === null || problem !== null) {
    throw new OrchError('REPOSITORY_UNSUPPORTED', `no snapshot: ${problem}`, {
      hint: 'Checkpoints work without; they then hold no copy of the code',
    });
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const wanted = { worktree, maxFileBytes, reachable, isAfresh: isAfresh || attempt > 1 };
      return await writeWorkTree(ports, wanted);
    } catch (error) {
      // A prune may remove an object that was there before us, between git's look at it and the tree.
      if (isGitFailure(error) && /invalid object/.test(String(error)) && attempt < maxReadings) continue;
      throw systemCode(error) ? writeFailed('the files could not be read into git', error) : error;
    }
  }
}

/** A damaged one is left out of the new history: as a parent it would make `git gc` fail. */
async function readLast(
  { git, report }: SnapshotPorts,
  ref: string,
): Promise<{ oid: Oid | null; commit: Commit | null }> {
  const oid = await git.readRef(ref);
  if (oid === null) return { oid, commit: null };
  try {
    return { oid, commit: await readCommit(git, oid) };
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    report(`${ref}: the last snapshot cannot be read (${error.message}); the next begins anew`);
    return { oid, commit: null };
  }
}
