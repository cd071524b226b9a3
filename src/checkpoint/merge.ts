import { emptyRow, exceeds, usedBy } from '../cost/ledger.ts';
import { hasCode, OrchError } from '../errors.ts';
import { append } from '../git/append.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { lookUp } from '../keyed.ts';
import type { EpicId, Oid } from '../types.ts';
import { listBeside, readRunFiles } from './beside.ts';
import { composeMerge } from './derived.ts';
import { formatDocument, maxJoinedBytes } from './document.ts';
import { readEnd, type Saved } from './read.ts';
import { noRows, type OwnRows, reconcileOwn } from './set-back.ts';
import { epicRef } from './tree.ts';

export type Merged = {
  readonly tip: Oid;
  /** Nothing to do, theirs was taken as it is, or both were joined. */
  readonly how: 'contained' | 'fast-forward' | 'merged';
  /** The writers of this clone of which the other side had more than this clone ever wrote. */
  readonly setBack: readonly string[];
};

/**
 * Brings another line of an epic's history into ours. Every clone that does it, in any order, makes the same commit,
 * unless the other line holds rows of the ledger that are this clone's `own` and that it never wrote.
 */
export async function mergeHistory(
  git: GitEngine,
  epic: EpicId,
  theirs: Oid,
  own: OwnRows = noRows,
): Promise<Merged> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await mergeOnce(git, epic, theirs, own);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || attempt >= 20) throw error;
    }
  }
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
  if (isNewer && (mine === null || (setBack.length === 0 && !falls(mine, other)))) {
    await git.moveRefs([{ ref, from: ours, to: theirs }]);
    return { tip: theirs, how: 'fast-forward', setBack: [] };
  }
  if (ours === null || mine === null) throw new Error('a merge of fewer than two');
  const [newer, older] = compareCommits(mine.commit, other.commit) > 0 ? [mine, other] : [other, mine];
  // A side that was saved under a former name has another folder, which is not continued.
  const base = newer.document.epicId === epic ? newer.commit.tree : null;
  const beside = base === null ? [] : await listBeside(git, base, epic);
  const olderFiles = [
    ...(base === null ? await readRunFiles(git, newer.commit.tree, newer.document.epicId) : []),
    ...(await readRunFiles(git, older.commit.tree, older.document.epicId)),
  ];
  const { document, commit } = composeMerge(epic, newer, older, beside, olderFiles, rows);
  // Every clone would refuse to read it, this one included.
  if (formatDocument(document).length > maxJoinedBytes)
    throw new OrchError('INTEGRITY', `${epic} with what the remote has of it is too large to store`, {
      hint: 'Yours is as it was. See what the remote has with: git show --stat',
      data: { epicId: epic, commit: theirs },
    });
  const parents = [ours, theirs].sort();
  const [tip] = await append(git, { ref, expected: ours, parents, base }, [commit]);
  return { tip: tip ?? ours, how: 'merged', setBack };
}

/** Ours may be damaged: a newer line that is whole then replaces it. */
async function readOurSide(git: GitEngine, epic: EpicId, oid: Oid, isNewer: boolean): Promise<Saved | null> {
  try {
    return await readEnd(git, epic, oid);
  } catch (error) {
    if (isNewer && hasCode(error, 'INTEGRITY')) return null;
    throw error;
  }
}

/** Has a writer used less than we know? No honest clone that went on from our checkpoint says so. */
function falls(ours: Saved, theirs: Saved): boolean {
  return Object.entries(ours.document.state.ledger).some(([writer, { value }]) => {
    const after = lookUp(theirs.document.state.ledger, writer)?.value ?? emptyRow;
    return exceeds(usedBy(value), usedBy(after));
  });
}

function compareCommits(a: Commit, b: Commit): number {
  return a.committedAt - b.committedAt || (a.oid < b.oid ? -1 : 1);
}
