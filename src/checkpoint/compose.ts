import { spentIn } from '../cost/money.ts';
import type { CommitDraft } from '../git/objects/append-commits.ts';
import { makeCheckpointId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf, type CodeChanges, readCurrent } from '../state/current.ts';
import type { Event } from '../state/facts.ts';
import { foldAll } from '../state/fold.ts';
import type { State } from '../state/lists.ts';
import { runOf } from '../state/runs.ts';
import { cleanText } from '../text.ts';
import type { EpicId, GateColour, Millis, Oid, SessionId, Trigger, WriterId } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { generateResumeBrief } from './brief/write-brief.ts';
import {
  type CheckpointDocument,
  type DocumentContent,
  describeNotSaved,
  mostInDocument,
} from './document/document.ts';
import { fitDocument, partEvents } from './document/fit-document.ts';
import { colourOf, countCheckpoint, formatMessage } from './document/message.ts';
import { briefName, documentName, epicFolder, parseDocumentName } from './document/names-in-git.ts';
import { archivedRuns, editRunFiles, type RunFile } from './document/run-files.ts';
import { describeFigures, summarize } from './document/summary.ts';
import type { Base } from './read-base.ts';
import type { ShardEdits } from './shards/edit-shards.ts';
import { runsFolder } from './shards/shard-format.ts';

/** What git says about the code of a checkpoint. */
export type CodeUpdate = {
  /** The commit where the epic began. */
  readonly base: Oid | null;
  readonly changes: CodeChanges;
  readonly commits: readonly { readonly oid: Oid; readonly subject: string }[];
};

/** The content of the next checkpoint. Composed again on a new base whenever another process was faster. */
export type Draft = {
  readonly sessionId: SessionId;
  readonly writer: WriterId;
  readonly trigger: Trigger;
  readonly reason: string | null;
  /** Does the reason only say how a session began or ended? */
  readonly isRoutine?: true | undefined;
  readonly events: readonly Event[];
  readonly at: Millis;
  /** How many documents stay in the tree. */
  readonly keep: number;
  readonly head: { readonly commit: Oid | null; readonly branch: string | null };
  /** The saved working tree. */
  readonly snapshot: {
    readonly commit: Oid;
    readonly tree: Oid;
    readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  } | null;
  /** How the code has changed; null or missing if it is the same as at the last checkpoint. */
  readonly code?: CodeUpdate | null;
  /** Why there is no snapshot although there should be one. */
  readonly snapshotFailed?: string | null;
  /** Resolves once the events themselves are on disk; the ref moves only after that. */
  readonly durable: Promise<void>;
  /** The journals this writer still has; the marks of all others can be compacted. */
  readonly journals: readonly SessionId[];
  /** Files that an unfinished run needs, to be added to the tree. */
  readonly runFiles: readonly RunFile[];
};

export type Composed = { readonly document: CheckpointDocument; readonly commit: CommitDraft };

/**
 * Composes the checkpoints of a draft, one on top of the other. Pure, so that both engines write the same. `names` are
 * the files beside them in the tree, of which the newest `keep` documents stay.
 */
export function composeCheckpoints(
  epic: EpicId,
  base: Base,
  draft: Draft,
  names: readonly string[],
  shards: ShardEdits,
  random: () => string,
): Composed[] {
  const reason = draft.reason === null ? null : normalizeReason(draft.reason) || null;
  const leftOut = draft.snapshot?.leftOut ?? [];
  let { state, seq } = base;
  const committedAt = Math.max(draft.at, ...base.parents.map((parent) => parent.committedAt));
  let present = [...names];
  const parts = partEvents(draft.events);
  return parts.map((events, index) => {
    const before = state;
    seq += 1;
    const id = makeCheckpointId(seq, random());
    const folded = countCheckpoint(foldAll(state, events), draft, { id, seq });
    const gates = colourOf(folded, draft.snapshot?.tree ?? null);
    const session = lookUp(folded.sessions, draft.sessionId)?.value;
    const rebuiltOver = index === 0 ? base.damage.map(({ commit, problem }) => ({ commit, problem })) : [];
    const content = {
      ...describeShards(folded, shards),
      id,
      seq,
      epicId: epic,
      sessionId: draft.sessionId,
      sessionNumber: session?.number ?? 0,
      writer: draft.writer,
      timestamp: formatInstant(draft.at),
      trigger: draft.trigger,
      reason,
      summary: summarize({ ...draft, reason }, events, before, folded),
      gitCommit: draft.head.commit,
      branch: draft.head.branch,
      snapshot: draft.snapshot?.commit ?? null,
      costUsd: toUsd(spentIn(folded.ledger)),
      events,
      ...(leftOut.length > 0 && { leftOut: leftOut.slice(0, mostInDocument) }),
      ...(leftOut.length > mostInDocument && { leftOutTotal: leftOut.length }),
      ...(draft.snapshotFailed != null && { snapshotFailed: draft.snapshotFailed }),
      state: folded,
      ...(rebuiltOver.length > 0 && { rebuiltOver }),
    };
    const composed = finishCheckpoint(content, {
      gates,
      present,
      keep: draft.keep,
      runFiles: index === parts.length - 1 ? draft.runFiles : [],
      // From the first one on: the marks of no checkpoint may be ahead of its records.
      shards,
      figures: describeFigures(content.sessionNumber, events, before, folded, rebuiltOver.length),
      agent: nameAgent(folded, session?.agent ?? null),
      authoredAt: draft.at,
      committedAt,
    });
    state = composed.document.state;
    present = listAfter(present, composed.commit.edits);
    return composed;
  });
}

/** The trees of the runs that are still listed. With any, the document has a format that an older orch refuses. */
export function describeShards(state: State, { folders }: Pick<ShardEdits, 'folders'>) {
  const listed = new Set(Object.keys(state.runs).map(runOf));
  const archived = archivedRuns(state);
  const kept = [...folders]
    .filter(([run]) => listed.has(run) && !archived.has(run))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return kept.length === 0
    ? { format: 1 as const }
    : { format: 2 as const, shards: Object.fromEntries(kept) };
}

type Surroundings = {
  readonly gates: GateColour;
  /** The names in the epic's folder, of which the newest `keep` documents stay. */
  readonly present: readonly string[];
  readonly keep: number;
  readonly runFiles: readonly RunFile[];
  readonly shards: ShardEdits;
  readonly figures: string;
  readonly agent: string | null;
  readonly authoredAt: Millis;
  readonly committedAt: Millis;
};

/** Fits a checkpoint's document and drafts its commit: the document, the brief, the files of runs and the message. */
export function finishCheckpoint(
  content: DocumentContent,
  { gates, present, keep, runFiles, shards, figures, agent, authoredAt, committedAt }: Surroundings,
): Composed {
  const { document, bytes } = fitDocument(content);
  const { state, epicId } = document;
  const name = documentName(document.id);
  const kept = keepNewest([...present, name], keep);
  const edits = new Map<string, Buffer | null>();
  for (const other of present) if (!kept.has(other)) edits.set(other, null);
  if (kept.has(name)) edits.set(name, bytes);
  const brief = generateResumeBrief({ epicId, state, checkpoint: { ...document, gates } });
  edits.set(briefName, Buffer.from(brief.markdown));
  for (const [path, file] of editRunFiles(state, present, runFiles, shards.changed)) edits.set(path, file);
  const folders = new Map(
    [...shards.folders.keys()].map((run) => [`${runsFolder}/${run}`, document.shards?.[run] ?? null]),
  );
  const money = { cost: spentIn(state.ledger), budget: budgetOf(state) };
  const said = { ...money, gates, head: document.gitCommit, notSaved: describeNotSaved(document), agent };
  const message = formatMessage({ ...document, ...said }, figures);
  const { objects } = shards;
  const commit = { folder: epicFolder(epicId), edits, folders, objects, message, authoredAt, committedAt };
  return { document, commit };
}

function listAfter(names: readonly string[], edits: ReadonlyMap<string, Buffer | null>): string[] {
  const written = [...edits].flatMap(([name, bytes]) => (bytes === null ? [] : [name]));
  return [...names.filter((name) => !edits.has(name)), ...written];
}

/** The agent, and the start of its own id for the conversation: `claude 3f0c3a1e`. */
function nameAgent(state: State, agent: string | null): string | null {
  const current = readCurrent(state, 'agent');
  return current === null || current.name !== agent ? agent : `${agent} ${current.session.slice(0, 8)}`;
}

/** Trims every line, so that message and document hold the same text. */
function normalizeReason(reason: string): string {
  const lines = cleanText(reason).split('\n');
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
}

/** The files that stay: the newest documents, and all other files. */
function keepNewest(names: readonly string[], keep: number): Set<string> {
  const documents = names.filter((name) => parseDocumentName(name) !== null).sort();
  const dropped = new Set(documents.slice(0, Math.max(0, documents.length - Math.max(1, keep))));
  return new Set(names.filter((name) => !dropped.has(name)));
}
