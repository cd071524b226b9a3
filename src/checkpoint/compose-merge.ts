import { withTotals } from '../cost/ledger.ts';
import { spentIn } from '../cost/money.ts';
import { hash } from '../digest.ts';
import { idAlphabet, makeCheckpointId } from '../ids.ts';
import { join } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Trigger } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { type Composed, describeShards, finishCheckpoint } from './compose.ts';
import { pathOfRunFile, type RunFile } from './document/run-files.ts';
import type { Saved } from './read-base.ts';
import { noShardEdits, type ShardEdits } from './shards/edit-shards.ts';
import type { RunFolders } from './shards/read-shards.ts';

/*
 * Checkpoints that record nothing new. Everything in them follows from their parents, including time and id, so every
 * clone makes the same commit. Pure.
 */

/** How many documents stay in the folder. Not a setting: all machines must make the same commit. */
const keptBeside = 5;

/**
 * The checkpoint that joins two. `beside` are the names in the newer one's folder, `olderFiles` the files that runs need
 * from the older one, `shards` the records of runs that both know, `rows` the ledger rows that replace the joined ones.
 */
export function composeMerge(
  epic: EpicId,
  newer: Saved,
  older: Saved,
  beside: readonly string[],
  olderFiles: readonly RunFile[],
  shards: ShardEdits,
  rows: State['ledger'] = {},
): Composed {
  const joined = join(sealMoney(newer.document.state), sealMoney(older.document.state));
  const state = sealMoney({ ...joined, ledger: { ...joined.ledger, ...rows } });
  const seq = Math.max(newer.document.seq, older.document.seq) + 1;
  return compose(epic, newer, beside, olderFiles, shards, {
    state,
    seq,
    random: idFrom([newer.commit.oid, older.commit.oid, ...Object.keys(rows).sort()]),
    trigger: 'merge',
    summary: `Merged ckpt ${newer.document.seq} and ckpt ${older.document.seq} of another clone`,
    figures: `${newer.document.id} · ${older.document.id}`,
  });
}

/** The first checkpoint of an epic under its new name, with everything known under the old one. */
export function composeRenamed(
  epic: EpicId,
  old: Saved,
  files: readonly RunFile[],
  folders: RunFolders,
): Composed {
  const { state, seq, id, epicId } = old.document;
  const shards = { ...noShardEdits, folders };
  return compose(epic, old, [], files, shards, {
    state: sealMoney(state),
    seq: seq + 1,
    random: idFrom([old.commit.oid, epic]),
    trigger: 'manual',
    summary: `Renamed from ${epicId}`,
    figures: id,
  });
}

type Derived = {
  readonly state: State;
  readonly seq: number;
  readonly random: string;
  readonly trigger: Trigger;
  readonly summary: string;
  readonly figures: string;
};

function compose(
  epic: EpicId,
  newest: Saved,
  beside: readonly string[],
  files: readonly RunFile[],
  shards: ShardEdits,
  { state, seq, random, trigger, summary, figures }: Derived,
): Composed {
  const at = newest.commit.committedAt;
  const { sessionId, sessionNumber, writer, gitCommit, branch, snapshot } = newest.document;
  const { leftOut, leftOutTotal, snapshotFailed } = newest.document;
  const content = {
    ...describeShards(state, shards),
    id: makeCheckpointId(seq, random),
    seq,
    epicId: epic,
    sessionId,
    sessionNumber,
    writer,
    timestamp: formatInstant(at),
    trigger,
    reason: null,
    summary,
    gitCommit,
    branch,
    snapshot,
    ...(leftOut && { leftOut }),
    ...(leftOutTotal !== undefined && { leftOutTotal }),
    ...(snapshotFailed !== undefined && { snapshotFailed }),
    costUsd: toUsd(spentIn(state.ledger)),
    events: [],
    state,
  };
  return finishCheckpoint(content, {
    gates: 'unknown',
    present: beside,
    keep: keptBeside,
    // If both have a file, the newer one counts.
    runFiles: files.filter((file) => !beside.includes(pathOfRunFile(file))),
    shards,
    figures,
    agent: null,
    authoredAt: at,
    committedAt: at,
  });
}

function sealMoney(state: State): State {
  return { ...state, ledger: withTotals(state.ledger) };
}

function idFrom(parents: readonly string[]): string {
  const digest = Buffer.from(hash('sha256', [...parents].sort().join('\n')), 'hex');
  return [...digest.subarray(0, 8)].map((byte) => idAlphabet[byte % idAlphabet.length]).join('');
}
