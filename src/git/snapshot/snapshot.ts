import { join } from 'node:path';
import { hasCode, OrchError, systemCode, writeFailed } from '../../errors.ts';
import { statIfThere } from '../../system/disk.ts';
import type { EpicId, Millis, Oid, SessionId } from '../../types.ts';
import type { Commit } from '../engine.ts';
import { formatCommit } from '../objects/commit-object.ts';
import { hashObject } from '../objects/loose-objects.ts';
import { findMissing } from '../objects/reachable.ts';
import { readCommit } from '../objects/read-objects.ts';
import { formatTree } from '../objects/tree-object.ts';
import { retryOnConflict } from '../refs/retry-on-conflict.ts';
import type { WorkTree } from './apply-changes.ts';
import { isGitFailure } from './index-commands.ts';
import type { WorkTreePorts } from './secret-files.ts';
import {
  formatSnapshotMessage,
  haveSameOmissions,
  readSnapshotHead,
  snapshotRef,
} from './snapshot-message.ts';
import type { LeftOut } from './work-tree-changes.ts';
import { writeWorkTree } from './write-work-tree.ts';

export type { LeftOut, WorkTree };
export { snapshotRef };

export type SnapshotPorts = WorkTreePorts & {
  /** Reports what the user should know: a stale lock was removed, a damaged snapshot was skipped. */
  readonly report: (what: string) => void;
  readonly redact: (text: string) => Promise<string>;
};

type SnapshotRequest = {
  readonly epic: EpicId;
  readonly session: SessionId;
  /** For the subject: `session 7`. */
  readonly label: string;
  readonly at: Millis;
  /** Larger files are left out, and listed. */
  readonly maxFileBytes: number;
};

export type Snapshot = {
  readonly commit: Oid;
  readonly tree: Oid;
  readonly leftOut: readonly LeftOut[];
  /** Whether it differs from the session's last one. */
  readonly isNew: boolean;
  /** The tree of the session's last one, if the user's HEAD is still the same. */
  readonly before: Oid | null;
};

const maxReadings = 5;

/** Explains why no snapshot can be taken; null if one can. */
export function explainNoSnapshot(ports: Pick<WorkTreePorts, 'repository' | 'git'>): string | null {
  if (ports.repository.worktree === null) return 'a bare repository has no working tree';
  if (ports.git.name !== 'native') return 'snapshots need the git program, which is not in use here';
  return null;
}

/**
 * Saves the working tree, including untracked files and deletions, as a commit on the session's snapshot ref. Its first
 * parent is the user's HEAD, its last the session's previous snapshot, which is returned if nothing has changed.
 * Touches none of the user's files and refs.
 */
export async function takeSnapshot(ports: SnapshotPorts, request: SnapshotRequest): Promise<Snapshot> {
  const { git } = ports;
  const ref = snapshotRef(request.epic, request.session);
  const last = await readLast(ports, ref);
  const { commit: head } = await git.readHead();
  const {
    tree,
    leftOut: omitted,
    written,
  } = await readWorkTree(ports, request.maxFileBytes, last.commit?.tree ?? null);
  const leftOut = await Promise.all(
    omitted.map(async (one) => ({ ...one, path: await ports.redact(one.path) })),
  );
  let known: typeof last | null = last;
  return retryOnConflict(ports, async () => {
    const { oid: from, commit: before } = known ?? (await readLast(ports, ref));
    known = null;
    const sameHead = before && readSnapshotHead(before.message) === head ? before : null;
    const message = formatSnapshotMessage({ ...request, head, leftOut });
    if (sameHead?.tree === tree && haveSameOmissions(sameHead.message, message))
      return { commit: sameHead.oid, tree, leftOut, isNew: false, before: tree };
    const object = formatCommit({
      tree,
      parents: [head, before?.oid].filter((parent) => parent != null),
      authoredAt: request.at,
      committedAt: Math.max(request.at, before?.committedAt ?? 0),
      message,
    });
    const commit = hashObject(object, git.format);
    // Git knows the empty tree without storing it; other readers of this commit do not.
    const empty = formatTree([]);
    await git.writeObjects(tree === hashObject(empty, git.format) ? [empty, object] : [object]);
    await git.moveRefs([{ ref, from, to: commit }]);
    await git.ensureObjects([object]);
    if (await isStillWhole(ports, request, { tree, written }))
      return { commit, tree, leftOut, isNew: true, before: sameHead?.tree ?? null };
    await git.moveRefs([{ ref, from: commit, to: from }]);
    return takeSnapshot(ports, request);
  });
}

/**
 * Checks that all of a snapshot still exists, now that a ref leads to it: a `git gc --prune=now` that read the refs
 * earlier may have removed some. Stores the files again if so; false if they have changed by then.
 */
async function isStillWhole(
  ports: SnapshotPorts,
  { maxFileBytes }: SnapshotRequest,
  { tree, written }: Pick<WorkTree, 'tree' | 'written'>,
): Promise<boolean> {
  const folder = join(ports.repository.commonDir, 'objects');
  const gone = written.flatMap(({ file, oids }) => (statIfThere(join(folder, file)) === null ? oids : []));
  if (gone.length === 0 || (await findMissing(ports.repository, gone)).length === 0) return true;
  await ports.git.restorePrunedObjects();
  if ((await findMissing(ports.repository, gone)).length === 0) return true;
  ports.report('git gc removed objects of a snapshot while it was taken; storing them again');
  const again = await readWorkTree(ports, maxFileBytes, null, true);
  return again.tree === tree && (await findMissing(ports.repository, gone)).length === 0;
}

/**
 * Writes the working tree as a tree object, without a commit or ref, and lists what it left out. `reachable` is a tree
 * that a ref is known to lead to.
 */
export async function readWorkTree(
  ports: WorkTreePorts,
  maxFileBytes: number,
  reachable: Oid | null = null,
  ignoresKept = false,
): Promise<WorkTree> {
  const { worktree } = ports.repository;
  const problem = explainNoSnapshot(ports);
  if (worktree === null || problem !== null) {
    throw new OrchError('REPOSITORY_UNSUPPORTED', `no snapshot: ${problem}`, {
      hint: 'Checkpoints still work, but without a copy of the code',
    });
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const request = { worktree, maxFileBytes, reachable, ignoresKept: ignoresKept || attempt > 1 };
      return await writeWorkTree(ports, request);
    } catch (error) {
      // A prune may remove an existing object just before git writes the tree.
      if (isGitFailure(error) && /invalid object/.test(String(error)) && attempt < maxReadings) continue;
      throw systemCode(error) ? writeFailed('the files could not be read into git', error) : error;
    }
  }
}

/** A damaged snapshot is dropped from the history, because as a parent it would make `git gc` fail. */
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
    report(`${ref}: the last snapshot cannot be read (${error.message}); starting a new history`);
    return { oid, commit: null };
  }
}
