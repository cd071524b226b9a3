import { emptyRow, exceeds, usedBy } from '../cost/ledger.ts';
import { hasCode, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { append } from '../git/objects/append-commits.ts';
import { type RefWaitPorts, retryOnConflict } from '../git/refs/retry-on-conflict.ts';
import { lookUp } from '../keyed.ts';
import type { EpicId, Oid } from '../types.ts';
import { composeMerge } from './compose-merge.ts';
import { formatDocument, maxJoinedBytes } from './document/document.ts';
import { epicRef } from './document/names-in-git.ts';
import { listBeside, readRunFiles } from './document/run-files.ts';
import { readEnd, type Saved } from './read-base.ts';
import { noRows, type OwnRows, reconcileOwn } from './restored-clone.ts';
import { mergeShards } from './shards/edit-shards.ts';
import { listRunFolders, type RunFolders } from './shards/read-shards.ts';

export type Merged = {
  readonly tip: Oid;
  /** Nothing to do, fast-forwarded to theirs, or both joined. */
  readonly how: 'contained' | 'fast-forward' | 'merged';
  /** The writers of this clone for which the other side has more than this clone ever wrote. */
  readonly setBack: readonly string[];
};

/**
 * Merges another line of an epic's history into ours. Every clone that does so, in any order, makes the same commit,
 * unless the other line holds ledger rows that are this clone's `own` and that it never wrote.
 */
export function mergeHistory(
  ports: RefWaitPorts & { readonly git: GitEngine },
  epic: EpicId,
  theirs: Oid,
  own: OwnRows = noRows,
): Promise<Merged> {
  return retryOnConflict(ports, () => mergeOnce(ports.git, epic, theirs, own));
}

async function mergeOnce(git: GitEngine, epic: EpicId, theirs: Oid, own: OwnRows): Promise<Merged> {
  const ref = epicRef(epic);
  const ours = await git.readRef(ref);
  if (ours !== null && (await git.isAncestor(theirs, ours)))
    return { tip: ours, how: 'contained', setBack: [] };
  const isNewer = ours === null || (await git.isAncestor(ours, theirs));
  const mine = ours === null ? null : await readOurSide(git, epic, ours, isNewer);
  const other = await readEnd(git, epic, theirs);
  const rows = mine === null ? {} : await reconcileOwn(git, epic, { mine, other, own });
  const setBack = Object.keys(rows);
  if (isNewer && (mine === null || (setBack.length === 0 && !hasLowerUsage(mine, other)))) {
    await git.moveRefs([{ ref, from: ours, to: theirs }]);
    return { tip: theirs, how: 'fast-forward', setBack: [] };
  }
  if (ours === null || mine === null) throw new Error('a merge needs two sides');
  const [newer, older] = compareCommits(mine.commit, other.commit) > 0 ? [mine, other] : [other, mine];
  // A side saved under a former name has another folder, which is not continued.
  const base = newer.document.epicId === epic ? newer.commit.tree : null;
  const beside = base === null ? [] : await listBeside(git, base, epic);
  const olderFiles = [
    ...(base === null ? await readRunFiles(git, newer.commit.tree, newer.document.epicId) : []),
    ...(await readRunFiles(git, older.commit.tree, older.document.epicId)),
  ];
  const clock = Math.max(newer.document.state.clock, older.document.state.clock);
  const shards = await mergeShards(git, await listFolders(git, newer), await listFolders(git, older), clock);
  const { document, commit } = composeMerge(epic, newer, older, beside, olderFiles, shards, rows);
  // No clone could read it, not even this one.
  if (formatDocument(document).length > maxJoinedBytes)
    throw new OrchError('INTEGRITY', `${epic} is too large to store together with the remote's version`, {
      hint: `Your version is unchanged. Inspect the remote one with: git show --stat ${theirs}`,
      data: { epicId: epic, commit: theirs },
    });
  const parents = [ours, theirs].sort();
  const [tip] = await append(git, { ref, expected: ours, parents, base }, [commit]);
  return { tip: tip ?? ours, how: 'merged', setBack };
}

function listFolders(git: GitEngine, { commit, document }: Saved): Promise<RunFolders> {
  return listRunFolders(git, commit.tree, document.epicId);
}

/** Ours may be damaged: then a newer line that is complete replaces it. */
async function readOurSide(git: GitEngine, epic: EpicId, oid: Oid, isNewer: boolean): Promise<Saved | null> {
  try {
    return await readEnd(git, epic, oid);
  } catch (error) {
    if (isNewer && hasCode(error, 'INTEGRITY')) return null;
    throw error;
  }
}

/** Has a writer used less than we know? No honest clone that continued from our checkpoint says so. */
function hasLowerUsage(ours: Saved, theirs: Saved): boolean {
  return Object.entries(ours.document.state.ledger).some(([writer, { value }]) => {
    const after = lookUp(theirs.document.state.ledger, writer)?.value ?? emptyRow;
    return exceeds(usedBy(value), usedBy(after));
  });
}

function compareCommits(a: Commit, b: Commit): number {
  return a.committedAt - b.committedAt || (a.oid < b.oid ? -1 : 1);
}
