import { withTotals } from '../cost/ledger.ts';
import { spentIn } from '../cost/money.ts';
import { hash } from '../digest.ts';
import { idAlphabet, makeCheckpointId } from '../ids.ts';
import { budgetOf } from '../state/current.ts';
import { join } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Trigger } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { generateResumeBrief } from './brief/brief.ts';
import { type Composed, keepNewest } from './compose.ts';
import { fitDocument } from './fit.ts';
import { formatMessage } from './message.ts';
import { describeNotSaved } from './not-saved.ts';
import type { Saved } from './read.ts';
import { editRunFiles, pathOfRunFile, type RunFile } from './run-files.ts';
import { briefName, documentName, epicFolder } from './tree.ts';

/*
 * Checkpoints that record nothing new: everything in them follows from their parents, time and id included, so every
 * clone makes the same commit. Pure.
 */

/** Documents that stay beside one. Not a setting: two machines must make the same commit. */
const keptBeside = 5;

/**
 * The checkpoint that joins two. `beside` is what is in the newer one's folder, `olderFiles` what runs need of the older
 * one's, `rows` what is to stand in the ledger instead of what the join of both makes of them.
 */
export function composeMerge(
  epic: EpicId,
  newer: Saved,
  older: Saved,
  beside: readonly string[],
  olderFiles: readonly RunFile[],
  rows: State['ledger'] = {},
): Composed {
  const joined = join(sealMoney(newer.document.state), sealMoney(older.document.state));
  const state = sealMoney({ ...joined, ledger: { ...joined.ledger, ...rows } });
  const seq = Math.max(newer.document.seq, older.document.seq) + 1;
  return compose(epic, newer, beside, olderFiles, {
    state,
    seq,
    random: idFrom([newer.commit.oid, older.commit.oid, ...Object.keys(rows).sort()]),
    trigger: 'merge',
    summary: `Merged ckpt ${newer.document.seq} and ckpt ${older.document.seq} of another clone`,
    figures: `${newer.document.id} · ${older.document.id}`,
  });
}

/** The first checkpoint of an epic under a new name: all that was known under the old one. */
export function composeRenamed(epic: EpicId, old: Saved, files: readonly RunFile[]): Composed {
  const { state, seq, id, epicId } = old.document;
  return compose(epic, old, [], files, {
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
  { state, seq, random, trigger, summary, figures }: Derived,
): Composed {
  const at = newest.commit.committedAt;
  const id = makeCheckpointId(seq, random);
  const { sessionId, sessionNumber, writer, gitCommit, branch, snapshot } = newest.document;
  const { leftOut, leftOutTotal, snapshotFailed } = newest.document;
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
    trigger,
    reason: null,
    summary,
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
  const kept = keepNewest([...beside, name], keptBeside);
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
  const missing = files.filter((file) => !beside.includes(pathOfRunFile(file)));
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
    figures,
  );
  return { document, commit: { folder: epicFolder(epic), edits, message, authoredAt: at, committedAt: at } };
}

function sealMoney(state: State): State {
  return { ...state, ledger: withTotals(state.ledger) };
}

function idFrom(parents: readonly string[]): string {
  const digest = Buffer.from(hash('sha256', [...parents].sort().join('\n')), 'hex');
  return [...digest.subarray(0, 8)].map((byte) => idAlphabet[byte % idAlphabet.length]).join('');
}
