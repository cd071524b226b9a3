import { emptyRow, exceeds, usedBy, withTotals } from '../cost/ledger.ts';
import { spentIn } from '../cost/money.ts';
import { hash } from '../digest.ts';
import { hasCode, OrchError } from '../errors.ts';
import { append } from '../git/append.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { idAlphabet, makeCheckpointId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import { join } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Oid } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { listBeside, readRunFiles } from './beside.ts';
import { generateResumeBrief } from './brief/brief.ts';
import { type Composed, keepNewest } from './compose.ts';
import { formatDocument, maxJoinedBytes } from './document.ts';
import { fitDocument } from './fit.ts';
import { formatMessage } from './message.ts';
import { describeNotSaved } from './not-saved.ts';
import { readEnd, type Saved } from './read.ts';
import { editRunFiles, pathOfRunFile, type RunFile } from './run-files.ts';
import { noRows, type OwnRows, reconcileOwn } from './set-back.ts';
import { briefName, documentName, epicFolder, epicRef } from './tree.ts';

/** Documents that stay beside a merge. Not a setting: two machines must make the same commit. */
const keptBesideMerge = 5;

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
  const beside = await listBeside(git, newer.commit.tree, epic);
  const olderFiles = await readRunFiles(git, older.commit.tree, epic);
  const { document, commit } = composeMerge(epic, newer, older, beside, olderFiles, rows);
  // Every clone would refuse to read it, this one included.
  if (formatDocument(document).length > maxJoinedBytes)
    throw new OrchError('INTEGRITY', `${epic} with what the remote has of it is too large to store`, {
      hint: 'Yours is as it was. See what the remote has with: git show --stat',
      data: { epicId: epic, commit: theirs },
    });
  const parents = [ours, theirs].sort();
  const [tip] = await append(git, { ref, expected: ours, parents, base: newer.commit.tree }, [commit]);
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

/**
 * The checkpoint that joins two: everything in it follows from its parents, time and id included. `beside` is what is
 * in the newer one's folder, `olderFiles` what runs need of the older one's, `rows` what is to stand in the ledger
 * instead of what the join of both makes of them.
 */
export function composeMerge(
  epic: EpicId,
  newer: Saved,
  older: Saved,
  beside: readonly string[],
  olderFiles: readonly RunFile[],
  rows: State['ledger'] = {},
): Composed {
  const at = newer.commit.committedAt;
  const joined = join(sealMoney(newer.document.state), sealMoney(older.document.state));
  const state = sealMoney({ ...joined, ledger: { ...joined.ledger, ...rows } });
  const seq = Math.max(newer.document.seq, older.document.seq) + 1;
  const id = makeCheckpointId(
    seq,
    idFromParents([newer.commit.oid, older.commit.oid, ...Object.keys(rows).sort()]),
  );
  const { sessionId, sessionNumber, writer, gitCommit, branch, snapshot } = newer.document;
  const { leftOut, leftOutTotal, snapshotFailed } = newer.document;
  const cost = spentIn(state.ledger);
  const { document, bytes } = fitDocument({
    format: 1,
    id,
    seq,
    epicId: epic,
    sessionId,
    sessionNumber,
    writer,
    timestamp: formatInstant(at),
    trigger: 'merge',
    reason: null,
    summary: `Merged ckpt ${newer.document.seq} and ckpt ${older.document.seq} of another clone`,
    gitCommit,
    branch,
    snapshot,
    ...(leftOut && { leftOut }),
    ...(leftOutTotal !== undefined && { leftOutTotal }),
    ...(snapshotFailed !== undefined && { snapshotFailed }),
    costUsd: toUsd(cost),
    events: [],
    state,
  });
  const name = documentName(id);
  const kept = keepNewest([...beside, name], keptBesideMerge);
  const edits = new Map<string, Buffer | null>(
    beside.filter((other) => !kept.has(other)).map((other) => [other, null]),
  );
  edits.set(name, bytes);
  const brief = generateResumeBrief({
    epicId: epic,
    state: document.state,
    checkpoint: { ...document, gates: 'unknown' },
  });
  edits.set(briefName, Buffer.from(brief.markdown));
  // Of a file that both have, the newer one counts.
  const missing = olderFiles.filter((file) => !beside.includes(pathOfRunFile(file)));
  for (const [path, bytes] of editRunFiles(document.state, beside, missing)) edits.set(path, bytes);
  const message = formatMessage(
    {
      ...document,
      cost,
      budget: budgetOf(state),
      gates: 'unknown',
      head: gitCommit,
      notSaved: describeNotSaved(document),
      agent: null,
    },
    `${newer.document.id} · ${older.document.id}`,
  );
  return { document, commit: { folder: epicFolder(epic), edits, message, authoredAt: at, committedAt: at } };
}

function sealMoney(state: State): State {
  return { ...state, ledger: withTotals(state.ledger) };
}

function idFromParents(parents: readonly string[]): string {
  const digest = Buffer.from(hash('sha256', [...parents].sort().join('\n')), 'hex');
  return [...digest.subarray(0, 8)].map((byte) => idAlphabet[byte % idAlphabet.length]).join('');
}
