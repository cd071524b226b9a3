import { spentIn } from '../../cost/money.ts';
import { lookUp } from '../../keyed.ts';
import { budgetOf } from '../../state/current.ts';
import type { Session, State } from '../../state/lists.ts';
import { hasEnded } from '../../state/transition.ts';
import { cleanLine } from '../../text.ts';
import type { EpicId, Status, WriterId } from '../../types.ts';
import { formatUsd } from '../../units.ts';
import type { Checkpoint } from '../list.ts';
import { type Brief, fitBrief } from './fit.ts';
import type { BriefCheckpoint, BriefSubject } from './items.ts';
import { findOrigins, type Origins } from './origin.ts';
import { type BriefSection, gatherSections } from './sections.ts';
import { findBriefSource, type KnownSession, listSessions } from './source.ts';
import { formatMoment, plainText } from './text.ts';

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

/**
 * What the next agent or person needs to know, most important first, within `maxTokens`.
 * The same state gives the same brief: it knows no clock, and times are shown beside the newest event's.
 */
export function generateResumeBrief(input: BriefInput, options: { readonly maxTokens?: number } = {}): Brief {
  const { epicId, state, checkpoint, disk = null, reader = null } = input;
  const origins = findOrigins(state, reader);
  const subject: BriefSubject = { epicId, state, checkpoint, disk };
  const sessions = listSessions(state);
  const source = findBriefSource(state) ?? sessions[0] ?? null;
  const session = source?.value ?? null;
  return fitBrief(
    {
      title: `# Brief: ${epicId}${nameSessions(session, sessions[0]?.value ?? null, sessions)}`,
      ended: describeEnd(source, subject, origins),
      sections: gatherSections(subject, origins),
    },
    options.maxTokens,
  );
}

/** `, session 7 → 8`: whose work it is, and who goes on with it: a session that just came, or one that will. */
function nameSessions(
  session: Session | null,
  newest: Session | null,
  all: readonly { readonly value: Session }[],
): string {
  if (session === null || newest === null) return '';
  const isReading = newest !== session && newest.worked === 0 && !hasEnded(newest.status);
  const next = isReading ? newest.number : Math.max(...all.map(({ value }) => value.number)) + 1;
  return `, session ${session.number} → ${next}`;
}

const endings: { readonly [S in Status]: string } = {
  initializing: 'last heard of',
  running: 'last heard of',
  paused: 'paused',
  completed: 'completed',
  failed: 'failed',
  budget_exceeded: 'budget used up,',
};

/** How the session ended and where the epic stands. A person's words come last, so that they cannot pass for ours. */
function describeEnd(
  source: KnownSession | null,
  { state, checkpoint }: BriefSubject,
  origins: Origins,
): BriefSection {
  const session = source?.value ?? null;
  const by = source && (lookUp(state.sessions, source.session)?.stamp[1] ?? null);
  const agent = origins.quote(by, plainText(session?.agent ?? '', 60));
  const reason = origins.quote(by, plainText(session?.reason ?? '', 240));
  const said = [
    session === null
      ? 'no session yet'
      : `${endings[session.status]} ${formatMoment(session.endedAt ?? session.seenAt, state.clock)} UTC`,
    describeMoney(state),
    checkpoint === null || checkpoint.gates === 'unknown' ? null : `Gates ${checkpoint.gates}`,
    checkpoint === null ? 'Nothing saved yet' : `Checkpoint ${checkpoint.seq}`,
    agent && `Agent: ${agent}`,
  ].filter((part) => part);
  const label = session === null ? 'Not begun' : hasEnded(session.status) ? 'Ended' : 'Not ended';
  const text = `${said.join('. ')}.${reason && ` Reason: ${reason}`}`;
  return { name: 'ended', label, lead: null, items: [{ key: null, text, from: origins.of(by) }], leftOut: 0 };
}

function describeMoney(state: State): string | null {
  const spent = spentIn(state.ledger);
  const budget = budgetOf(state);
  if (budget === null) return spent > 0 ? `${formatUsd(spent)} spent` : null;
  const over = spent > budget ? ` (${formatUsd(spent - budget)} over)` : '';
  return `${formatUsd(spent)} of ${formatUsd(budget)}${over}`;
}

/** A checkpoint in one line, for people. */
export function formatCheckpointSummary(checkpoint: Checkpoint): string {
  const { seq, epicId, sessionNumber, timestamp, trigger, costUsd, gates, summary } = checkpoint;
  const when = `${timestamp.slice(0, 16).replace('T', ' ')} UTC`;
  const facts = [`session ${sessionNumber}`, when, trigger, `$${costUsd.toFixed(2)}`];
  if (gates !== 'unknown') facts.push(`gates ${gates}`);
  return `ckpt ${seq} of ${epicId}: ${cleanLine(summary, 200)} (${facts.join(', ')})`;
}
