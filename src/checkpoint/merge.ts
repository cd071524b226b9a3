import { totalUsage } from '../cost/ledger.ts';
import { hash } from '../digest.ts';
import { hasCode } from '../errors.ts';
import { append } from '../git/append.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { idAlphabet, makeCheckpointId } from '../ids.ts';
import { budgetOf } from '../state/current.ts';
import { join } from '../state/join.ts';
import type { EpicId, Oid } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { listBeside, readRunFiles } from './beside.ts';
import { generateResumeBrief } from './brief.ts';
import { type Composed, keepNewest } from './compose.ts';
import { fitDocument } from './fit.ts';
import { formatMessage } from './message.ts';
import { readBase, readCommitAndDocument, type Saved } from './read.ts';
import { editRunFiles, pathOfRunFile, type RunFile } from './run-files.ts';
import { briefName, documentName, epicFolder, epicRef } from './tree.ts';

/** Documents that stay beside a merge. Not a setting: two machines must make the same commit. */
const keptBesideMerge = 5;

export type Merged = {
  readonly tip: Oid;
  /** Nothing to do, theirs was taken as it is, or both were joined. */
  readonly how: 'contained' | 'fast-forward' | 'merged';
};

/** Brings another line of an epic's history into ours. Whoever does it, and in whichever order, makes the same commit. */
export async function mergeHistory(git: GitEngine, epic: EpicId, theirs: Oid): Promise<Merged> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await mergeOnce(git, epic, theirs);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || attempt >= 20) throw error;
    }
  }
}

async function mergeOnce(git: GitEngine, epic: EpicId, theirs: Oid): Promise<Merged> {
  const ref = epicRef(epic);
  const ours = await git.readRef(ref);
  if (ours !== null && (await git.isAncestor(theirs, ours))) return { tip: ours, how: 'contained' };
  if (ours === null || (await git.isAncestor(ours, theirs))) {
    await git.moveRefs([{ ref, from: ours, to: theirs }]);
    return { tip: theirs, how: 'fast-forward' };
  }
  const both = [await readSide(git, epic, ours), await readSide(git, epic, theirs)];
  const [newer, older] = both.sort((a, b) => compareCommits(b.commit, a.commit));
  if (newer === undefined || older === undefined) throw new Error('a merge of fewer than two');
  const beside = await listBeside(git, newer.commit.tree, epic);
  const { commit } = composeMerge(
    epic,
    newer,
    older,
    beside,
    await readRunFiles(git, older.commit.tree, epic),
  );
  const parents = [ours, theirs].sort();
  const [tip] = await append(git, { ref, expected: ours, parents, base: newer.commit.tree }, [commit]);
  return { tip: tip ?? ours, how: 'merged' };
}

/** What one line of the history says at its end. Somebody else's commit there stays, with what its parents say. */
async function readSide(git: GitEngine, epic: EpicId, oid: Oid): Promise<Saved> {
  const { parents, saved, state, seq, damage } = await readBase(git, epic, oid);
  const [commit] = parents;
  // What cannot be read must not be joined as if it were not there: reading it again says what is wrong.
  if (commit === undefined || saved === null || damage.length > 0)
    return readCommitAndDocument(git, epic, oid);
  return { commit, document: { ...saved.document, state, seq } };
}

function compareCommits(a: Commit, b: Commit): number {
  return a.committedAt - b.committedAt || (a.oid < b.oid ? -1 : 1);
}

/**
 * The checkpoint that joins two: everything in it follows from its parents, time and id included. `beside` is what is
 * in the newer one's folder, `olderFiles` what runs need of the older one's.
 */
export function composeMerge(
  epic: EpicId,
  newer: Saved,
  older: Saved,
  beside: readonly string[],
  olderFiles: readonly RunFile[],
): Composed {
  const at = newer.commit.committedAt;
  const state = join(newer.document.state, older.document.state);
  const seq = Math.max(newer.document.seq, older.document.seq) + 1;
  const id = makeCheckpointId(seq, idFromParents([newer.commit.oid, older.commit.oid]));
  const { sessionId, sessionNumber, writer, gitCommit, branch, snapshot, leftOut } = newer.document;
  const cost = totalUsage(state.ledger).micros;
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
    { ...document, cost, budget: budgetOf(state), gates: 'unknown', head: gitCommit, agent: null },
    `${newer.document.id} · ${older.document.id}`,
  );
  return { document, commit: { folder: epicFolder(epic), edits, message, authoredAt: at, committedAt: at } };
}

function idFromParents(parents: readonly Oid[]): string {
  const digest = Buffer.from(hash('sha256', [...parents].sort().join('\n')), 'hex');
  return [...digest.subarray(0, 8)].map((byte) => idAlphabet[byte % idAlphabet.length]).join('');
}
