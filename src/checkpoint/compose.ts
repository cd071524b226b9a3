import { spentIn } from '../cost/money.ts';
import type { CommitDraft } from '../git/append.ts';
import { makeCheckpointId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf, type CodeChanges, readCurrent } from '../state/current.ts';
import type { Event } from '../state/facts.ts';
import { foldAll } from '../state/fold.ts';
import type { State } from '../state/lists.ts';
import { cleanText } from '../text.ts';
import type { EpicId, Millis, Oid, SessionId, Trigger, WriterId } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { generateResumeBrief } from './brief/brief.ts';
import { colourOf, countCheckpoint } from './count.ts';
import type { CheckpointDocument } from './document.ts';
import { fitDocument, partEvents } from './fit.ts';
import { formatMessage } from './message.ts';
import { describeNotSaved, mostInDocument } from './not-saved.ts';
import type { Base } from './read.ts';
import { editRunFiles, type RunFile } from './run-files.ts';
import { describeFigures, summarize } from './summary.ts';
import { briefName, documentName, epicFolder, parseDocumentName } from './tree.ts';

/** What git says of the code that goes with a checkpoint. */
export type CodeUpdate = {
  /** Where the epic began. */
  readonly base: Oid | null;
  readonly changes: CodeChanges;
  readonly commits: readonly { readonly oid: Oid; readonly subject: string }[];
};

/** What the next checkpoint is to say. Made anew from the base whenever somebody else was faster. */
export type Draft = {
  readonly sessionId: SessionId;
  readonly writer: WriterId;
  readonly trigger: Trigger;
  readonly reason: string | null;
  /** Is the reason only how a session began or ended? */
  readonly isRoutine?: true | undefined;
  readonly events: readonly Event[];
  readonly at: Millis;
  /** How many documents stay in the tree. */
  readonly keep: number;
  readonly head: { readonly commit: Oid | null; readonly branch: string | null };
  /** The working tree that goes with it. */
  readonly snapshot: {
    readonly commit: Oid;
    readonly tree: Oid;
    readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  } | null;
  /** What changed of the code since the epic began; left out where it is as it was at the last checkpoint. */
  readonly code?: CodeUpdate | null;
  /** Why there is none, where there should be one. */
  readonly snapshotFailed?: string | null;
  /** Settles once the events are on disk themselves; the ref moves only then. */
  readonly durable: Promise<void>;
  /** The journals this writer still has; the others' marks can be summed up. */
  readonly journals: readonly SessionId[];
  /** Files that an unfinished run needs, from now on in the tree. */
  readonly runFiles: readonly RunFile[];
};

export type Composed = { readonly document: CheckpointDocument; readonly commit: CommitDraft };

/**
 * The checkpoints a draft becomes, one upon the other: pure, so that both engines write the same.
 * `names` are the files beside them in the tree, of which the newest `keep` documents stay.
 */
export function composeCheckpoints(
  epic: EpicId,
  base: Base,
  draft: Draft,
  names: readonly string[],
  random: () => string,
): Composed[] {
  const reason = draft.reason === null ? null : normalizeReason(draft.reason) || null;
  const leftOut = draft.snapshot?.leftOut ?? [];
  let { state, seq } = base;
  let committedAt = Math.max(draft.at, ...base.parents.map((parent) => parent.committedAt));
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
      format: 1 as const,
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
    const { document, bytes } = fitDocument(content);
    state = document.state;
    const kept = keepNewest([...present, documentName(id)], draft.keep);
    const edits = new Map<string, Buffer | null>();
    for (const name of present) if (!kept.has(name)) edits.set(name, null);
    if (kept.has(documentName(id))) edits.set(documentName(id), bytes);
    const brief = generateResumeBrief({
      epicId: epic,
      state,
      checkpoint: { ...document, gates },
    });
    edits.set(briefName, Buffer.from(brief.markdown));
    const added = index === parts.length - 1 ? draft.runFiles : [];
    for (const [path, bytes] of editRunFiles(state, present, added)) edits.set(path, bytes);
    present = listAfter(present, edits);
    const figures = describeFigures(document.sessionNumber, events, before, state, rebuiltOver.length);
    const message = formatMessage(
      {
        ...document,
        cost: spentIn(state.ledger),
        budget: budgetOf(state),
        gates,
        head: draft.head.commit,
        notSaved: describeNotSaved(document),
        agent: nameAgent(folded, session?.agent ?? null),
      },
      figures,
    );
    committedAt = Math.max(committedAt, draft.at);
    return {
      document,
      commit: { folder: epicFolder(epic), edits, message, authoredAt: draft.at, committedAt },
    };
  });
}

function listAfter(names: readonly string[], edits: ReadonlyMap<string, Buffer | null>): string[] {
  const written = [...edits].flatMap(([name, bytes]) => (bytes === null ? [] : [name]));
  return [...names.filter((name) => !edits.has(name)), ...written];
}

/** Who works, and the beginning of their own name for the conversation: `claude 3f0c3a1e`. */
function nameAgent(state: State, agent: string | null): string | null {
  const current = readCurrent(state, 'agent');
  return current === null || current.name !== agent ? agent : `${agent} ${current.session.slice(0, 8)}`;
}

/** Each line without what cannot be seen at its end, so that message and document say the same. */
function normalizeReason(reason: string): string {
  const lines = cleanText(reason).split('\n');
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
}

/** The files that stay: the newest documents, and whatever is not one. */
export function keepNewest(names: readonly string[], keep: number): Set<string> {
  const documents = names.filter((name) => parseDocumentName(name) !== null).sort();
  const dropped = new Set(documents.slice(0, Math.max(0, documents.length - Math.max(1, keep))));
  return new Set(names.filter((name) => !dropped.has(name)));
}
