import { compactRow, rowIsLong, totalUsage } from '../cost/ledger.ts';
import type { CommitDraft } from '../git/append.ts';
import { makeCheckpointId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import type { Event } from '../state/facts.ts';
import { foldAll } from '../state/fold.ts';
import { join } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import { cleanText } from '../text.ts';
import type {
  CheckpointId,
  EpicId,
  GateColour,
  Millis,
  Oid,
  SessionId,
  Trigger,
  WriterId,
} from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import type { CheckpointDocument } from './document.ts';
import { fitDocument, partEvents } from './fit.ts';
import { formatMessage } from './message.ts';
import type { Base } from './read.ts';
import { describeFigures, summarize } from './summary.ts';
import { documentName, epicFolder, parseDocumentName } from './tree.ts';

/** What the next checkpoint is to say. Made anew from the base whenever somebody else was faster. */
export type Draft = {
  readonly sessionId: SessionId;
  readonly writer: WriterId;
  readonly trigger: Trigger;
  readonly reason: string | null;
  readonly events: readonly Event[];
  readonly at: Millis;
  readonly head: { readonly commit: Oid | null; readonly branch: string | null };
  readonly snapshot: Oid | null;
  readonly gates: GateColour;
  /** Settles once the events are on disk themselves; the ref moves only then. */
  readonly durable: Promise<void>;
  /** The journals this writer still has; the others' marks can be summed up. */
  readonly journals: readonly SessionId[];
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
  options: { readonly keep: number; readonly random: () => string },
): Composed[] {
  const reason = draft.reason === null ? null : normalizeReason(draft.reason) || null;
  let { state, seq } = base;
  let committedAt = Math.max(draft.at, ...base.parents.map((parent) => parent.committedAt));
  let present = [...names];
  return partEvents(draft.events).map((events, index) => {
    const before = state;
    seq += 1;
    const id = makeCheckpointId(seq, options.random());
    const folded = countCheckpoint(foldAll(state, events), draft, id);
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
      summary: summarize(draft.trigger, reason, events),
      gitCommit: draft.head.commit,
      branch: draft.head.branch,
      snapshot: draft.snapshot,
      costUsd: toUsd(totalUsage(folded.ledger).micros),
      events,
      state: folded,
      ...(rebuiltOver.length > 0 && { rebuiltOver }),
    };
    const { document, bytes } = fitDocument(content);
    state = document.state;
    const kept = keepNewest([...present, documentName(id)], options.keep);
    const edits = new Map<string, Buffer | null>();
    for (const name of present) if (!kept.has(name)) edits.set(name, null);
    if (kept.has(documentName(id))) edits.set(documentName(id), bytes);
    present = [...kept];
    const figures = describeFigures(document.sessionNumber, events, before, state, rebuiltOver.length);
    const message = formatMessage(
      {
        ...document,
        cost: totalUsage(state.ledger).micros,
        budget: budgetOf(state),
        gates: draft.gates,
        head: draft.head.commit,
        agent: session?.agent ?? null,
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

/** Counts the checkpoint in its session, and sums up this writer's row of the ledger when it got long. */
function countCheckpoint(state: State, draft: Draft, id: CheckpointId): State {
  const stamp = [state.clock + 1, draft.writer, 0] as const;
  const session = lookUp(state.sessions, draft.sessionId)?.value;
  const row = lookUp(state.ledger, draft.writer)?.value;
  const isOver = (other: string) => !draft.journals.some((journal) => journal === other);
  return join(state, {
    clock: stamp[0],
    ...(session && {
      sessions: {
        [draft.sessionId]: {
          value: { ...session, checkpoints: session.checkpoints + 1, latestCheckpointId: id },
          stamp,
        },
      },
    }),
    ...(row && rowIsLong(row) && { ledger: { [draft.writer]: { value: compactRow(row, isOver), stamp } } }),
  });
}
