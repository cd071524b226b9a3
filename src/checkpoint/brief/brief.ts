import { withoutAbandoned } from '../../state/left-behind.ts';
import type { Session, State } from '../../state/lists.ts';
import { cleanLine } from '../../text.ts';
import type { EpicId, WriterId } from '../../types.ts';
import type { Checkpoint } from '../list.ts';
import { type Brief, fitBrief } from './fit.ts';
import type { BriefCheckpoint, BriefSubject } from './items.ts';
import { findOrigins } from './origin.ts';
import { gatherGoal } from './requests.ts';
import { gatherSections } from './sections.ts';
import { findBriefSource, listSessions } from './source.ts';

export type BriefInput = {
  readonly epicId: EpicId;
  readonly state: State;
  /** Null where nothing was saved yet. */
  readonly checkpoint: BriefCheckpoint | null;
  /** What only the caller can know when handing over: files on disk that differ from the snapshot. */
  readonly disk?: { readonly differing: number } | null;
  /** The clone it is for: what others recorded is shown as theirs. Without one, every line names its clone, once several recorded. */
  readonly reader?: WriterId | null;
};

/** Where nothing else is to be said, these are no news. */
const machinery = ['ended', 'disk', 'code'];

/**
 * What the next agent or person needs to know, within `maxTokens`.
 * The same state gives the same brief: it knows no clock, and times are shown beside the newest event's.
 */
export function generateResumeBrief(input: BriefInput, options: { readonly maxTokens?: number } = {}): Brief {
  const { epicId, checkpoint, disk = null, reader = null } = input;
  const state = withoutAbandoned(input.state);
  const origins = findOrigins(state, reader);
  const subject: BriefSubject = { epicId, state, checkpoint, disk };
  const session = (findBriefSource(state) ?? listSessions(state)[0])?.value ?? null;
  const sections = gatherSections(subject, origins);
  const isMissing = checkpoint !== null && (checkpoint.leftOut ?? checkpoint.snapshotFailed) !== undefined;
  const isEmpty = !isMissing && sections.every(({ name }) => machinery.includes(name));
  const title = `# Brief: ${epicId}${nameLast(session)}`;
  return fitBrief(
    {
      title: isEmpty ? `${title}: nothing to report` : title,
      sections: isEmpty ? [] : sections,
      goal: (maxBytes) => gatherGoal(subject, maxBytes).items.map(origins.mark),
    },
    options.maxTokens,
  );
}

/** Whose work it is about. */
function nameLast(session: Session | null): string {
  return session === null ? '' : `, after session ${session.number}`;
}

/** A checkpoint in one line, for people. */
export function formatCheckpointSummary(checkpoint: Checkpoint): string {
  const { seq, epicId, sessionNumber, timestamp, trigger, costUsd, gates, summary } = checkpoint;
  const when = `${timestamp.slice(0, 16).replace('T', ' ')} UTC`;
  const facts = [`session ${sessionNumber}`, when, trigger, `$${costUsd.toFixed(2)}`];
  if (gates !== 'unknown') facts.push(`gates ${gates}`);
  return `ckpt ${seq} of ${epicId}: ${cleanLine(summary, 200)} (${facts.join(', ')})`;
}
