import { hasCode } from '../../errors.ts';
import type { GitEngine } from '../../git/engine.ts';
import { hashObject } from '../../git/objects/loose-objects.ts';
import { listPath } from '../../git/objects/read-objects.ts';
import { withoutAbandoned } from '../../state/left-behind.ts';
import type { State } from '../../state/lists.ts';
import { cleanLine } from '../../text.ts';
import type { EpicId, Oid, WriterId } from '../../types.ts';
import { parseMessage } from '../document/message.ts';
import { briefName, epicFolder } from '../document/names-in-git.ts';
import type { Checkpoint } from '../list.ts';
import type { Saved } from '../read-base.ts';
import type { BriefCheckpoint, BriefSubject } from './brief-items.ts';
import { findBriefSource, sortSessions } from './brief-source.ts';
import { type Brief, fitBrief } from './fit-brief.ts';
import { findOrigins } from './line-origins.ts';
import { gatherGoal } from './request-items.ts';
import { gatherSections } from './sections.ts';

export type BriefInput = {
  readonly epicId: EpicId;
  readonly state: State;
  /** Null if nothing was saved yet. */
  readonly checkpoint: BriefCheckpoint | null;
  /** What only the caller knows: how many files on disk differ from the snapshot. */
  readonly disk?: { readonly differing: number } | null;
  /** The clone it is for: lines of other clones name them. Without a reader, every line does once several recorded. */
  readonly reader?: WriterId | null;
};

/** Sections that are no news on their own. */
const machinery = ['ended', 'disk', 'code'];

/**
 * What the next agent or person needs to know, within `maxTokens`. The same state gives the same brief: it uses no
 * clock, and times are relative to the newest event.
 */
export function generateResumeBrief(input: BriefInput, options: { readonly maxTokens?: number } = {}): Brief {
  const { epicId, checkpoint, disk = null, reader = null } = input;
  const state = withoutAbandoned(input.state);
  const origins = findOrigins(state, reader);
  const subject: BriefSubject = { epicId, state, checkpoint, disk };
  const session = (findBriefSource(state) ?? sortSessions(state)[0])?.value ?? null;
  const sections = gatherSections(subject, origins);
  const isMissing = checkpoint !== null && (checkpoint.leftOut ?? checkpoint.snapshotFailed) !== undefined;
  const isEmpty = !isMissing && sections.every(({ name }) => machinery.includes(name));
  const title = `# Brief: ${epicId}${session === null ? '' : `, after session ${session.number}`}`;
  return fitBrief(
    {
      title: isEmpty ? `${title}: nothing to report` : title,
      sections: isEmpty ? [] : sections,
      goal: (maxBytes) => gatherGoal(subject, maxBytes).items.map(origins.mark),
    },
    options.maxTokens,
  );
}

/** A checkpoint in one line, for people. */
export function formatCheckpointSummary(checkpoint: Checkpoint): string {
  const { seq, epicId, sessionNumber, timestamp, trigger, costUsd, gates, summary } = checkpoint;
  const when = `${timestamp.slice(0, 16).replace('T', ' ')} UTC`;
  const facts = [`session ${sessionNumber}`, when, trigger, `$${costUsd.toFixed(2)}`];
  if (gates !== 'unknown') facts.push(`gates ${gates}`);
  return `ckpt ${seq} of ${epicId}: ${cleanLine(summary, 200)} (${facts.join(', ')})`;
}

/** What is wrong with the brief beside a document. */
export type BriefFault =
  /** `remade` is the same object, made again from the document; null if it would be a different one. */
  | { readonly kind: 'damaged'; readonly oid: Oid; readonly problem: string; readonly remade: Buffer | null }
  /** It is readable but differs from the state: another orch wrote it, or someone changed it. */
  | { readonly kind: 'different'; readonly oid: Oid };

/**
 * Checks that the brief for git readers exists and, with `content`, that it matches the document's state, which takes
 * longer than reading it.
 */
export async function findBriefFault(
  git: GitEngine,
  { commit, document }: Saved,
  content = false,
): Promise<BriefFault | null> {
  const { epicId } = document;
  const entries = (await listPath(git, commit.tree, epicFolder(epicId))) ?? [];
  const oid = entries.find(({ name }) => name === briefName)?.oid;
  if (oid === undefined) return null;
  const gates = parseMessage(commit.message)?.gates ?? 'unknown';
  const input = { epicId, state: document.state, checkpoint: { ...document, gates } };
  const isSame = (bytes: Buffer) => hashObject({ kind: 'blob', bytes }, git.format) === oid;
  try {
    await git.readObject(oid);
    if (!content || isSame(Buffer.from(generateResumeBrief(input).markdown))) return null;
    return { kind: 'different', oid };
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    const bytes = Buffer.from(generateResumeBrief(input).markdown);
    return { kind: 'damaged', oid, problem: error.message, remade: isSame(bytes) ? bytes : null };
  }
}
