import { compactRow, isLongRow, withTotals } from '../../cost/ledger.ts';
import { readTrailers } from '../../git/objects/commit-object.ts';
import { parseCheckpointId, parseEpicId, parseOid, parseSessionId, seqOf } from '../../ids.ts';
import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import { join } from '../../state/join.ts';
import type { Commit, List, Stamp, State } from '../../state/lists.ts';
import { cleanLine, cleanText, cutColumns } from '../../text.ts';
import {
  type CheckpointId,
  type EpicId,
  type GateColour,
  type Json,
  type Micros,
  type Oid,
  type SessionId,
  type Trigger,
  triggers,
} from '../../types.ts';
import { formatMicros, latestTime, maxCount, parseMicros } from '../../units.ts';
import type { CodeUpdate, Draft } from '../compose.ts';

/** What a commit message says about its checkpoint: everything a list shows, so that listing reads no documents. */
export type MessageContent = {
  readonly id: CheckpointId;
  readonly epicId: EpicId;
  readonly sessionId: SessionId;
  readonly sessionNumber: number;
  readonly trigger: Trigger;
  readonly reason: string | null;
  readonly summary: string;
  readonly cost: Micros;
  readonly budget: Micros | null;
  readonly gates: GateColour;
  readonly head: Oid | null;
  readonly snapshot: Oid | null;
  /** What the snapshot lacks; null if it is complete. */
  readonly notSaved: string | null;
  readonly agent: string | null;
};

const subjectColumns = 100;

/**
 * Formats the subject, one line of figures, and the trailers as the last paragraph. Outside text is only in the subject
 * and in the last trailer, where each of its lines is indented: git takes it neither for a trailer nor for their end.
 */
export function formatMessage(content: MessageContent, figures: string): string {
  const trailers: [name: string, value: string | null][] = [
    ['Checkpoint', content.id],
    ['Epic', content.epicId],
    ['Session', `${content.sessionId} ${content.sessionNumber}`],
    ['Trigger', content.trigger],
    ['Cost', formatMicros(content.cost)],
    ['Budget', content.budget === null ? null : formatMicros(content.budget)],
    ['Gates', content.gates],
    ['Head', content.head],
    ['Snapshot', content.snapshot],
    ['Not-Saved', content.notSaved],
    ['Agent', content.agent === null ? null : cleanLine(content.agent) || null],
    ['Reason', content.reason === null ? null : foldText(content.reason)],
  ];
  const lines = trailers.flatMap(([name, value]) =>
    // Only the reason has several lines, each indented.
    value === null ? [] : [`Orch-${name}: ${name === 'Reason' ? value : cleanLine(value, 300)}`],
  );
  const subject = `ckpt ${seqOf(content.id)}: ${cutColumns(cleanLine(content.summary), subjectColumns)}`;
  return `${subject}\n\n${cleanLine(figures)}\n\n${lines.join('\n')}\n`;
}

/** A text as a folded trailer: an empty line would end the trailers, so it becomes a dot, and a leading dot is doubled. */
function foldText(text: string): string {
  const [first = '', ...rest] = cleanText(text)
    .split('\n')
    .map((line) => line.trimEnd());
  const folded = rest.map((line) => (line === '' || line.startsWith('.') ? ` .${line}` : ` ${line}`));
  return [first.trim(), ...folded].join('\n');
}

function unfoldText(text: string): string {
  const [first = '', ...rest] = text.split('\n');
  return [first, ...rest.map((line) => line.slice(1).replace(/^\./, ''))].join('\n');
}

/** Parses a message that orch wrote; null for any other. */
export function parseMessage(message: string): MessageContent | null {
  const trailers = new Map(readTrailers(message).map(({ name, value }) => [name, value]));
  const get = (name: string) => trailers.get(`Orch-${name}`) ?? null;
  try {
    const [sessionId = '', sessionNumber = ''] = get('Session')?.split(' ') ?? [];
    const trigger = triggers.find((known) => known === get('Trigger'));
    const cost = parseMicros(get('Cost') ?? '');
    if (trigger === undefined || cost === null || !/^\d{1,10}$/.test(sessionNumber)) return null;
    const reason = get('Reason');
    return {
      id: parseCheckpointId(get('Checkpoint') ?? ''),
      epicId: parseEpicId(get('Epic') ?? ''),
      sessionId: parseSessionId(sessionId),
      sessionNumber: Number(sessionNumber),
      trigger,
      reason: reason === null ? null : unfoldText(reason),
      summary: /^ckpt \d+: (.*)$/m.exec(message)?.[1] ?? '',
      cost,
      budget: parseMicros(get('Budget') ?? ''),
      gates: parseColour(get('Gates')),
      head: parseOptionalOid(get('Head')),
      snapshot: parseOptionalOid(get('Snapshot')),
      notSaved: get('Not-Saved'),
      agent: get('Agent'),
    };
  } catch {
    return null; // orch did not write this trailer
  }
}

function parseColour(text: string | null): GateColour {
  return text === 'green' || text === 'red' ? text : 'unknown';
}

function parseOptionalOid(text: string | null): Oid | null {
  return text === null ? null : parseOid(text);
}

/** What the gates said about exactly this tree. */
export function colourOf(state: State, tree: Oid | null): GateColour {
  const results = Object.values(state.gates).flatMap(({ value }) =>
    value.tree === tree && value.status !== 'skipped' ? [value.status] : [],
  );
  if (tree === null || results.length === 0) return 'unknown';
  return results.every((status) => status === 'passed') ? 'green' : 'red';
}

/**
 * What making a checkpoint itself changes: its session has one more, a green one is remembered, this writer's ledger row
 * is compacted if it is long, and each writer's total is stored.
 */
export function countCheckpoint(
  state: State,
  draft: Draft,
  { id, seq }: { readonly id: CheckpointId; readonly seq: number },
): State {
  const stamp = [Math.min(state.clock + 1, latestTime), draft.writer, 0] as const;
  const session = lookUp(state.sessions, draft.sessionId)?.value;
  const row = lookUp(state.ledger, draft.writer)?.value;
  // The session that a day's calls share continues without a journal of its name.
  const isOver = (other: string) =>
    other !== draft.sessionId && !draft.journals.some((journal) => journal === other);
  const tree = draft.snapshot?.tree ?? null;
  const counted = join(state, {
    clock: stamp[0],
    ...(session && {
      sessions: {
        [draft.sessionId]: {
          value: {
            ...session,
            checkpoints: Math.min(session.checkpoints + 1, maxCount),
            latestCheckpointId: id,
          },
          stamp,
        },
      },
    }),
    current: {
      ...(colourOf(state, tree) === 'green' && { lastGreen: { value: { id, seq, tree }, stamp } }),
      ...(draft.code && codeEntries(draft.code, state, stamp)),
    },
    ...(draft.code && { commits: commitEntries(draft.code, draft.sessionId, stamp) }),
    ...(row && isLongRow(row) && { ledger: { [draft.writer]: { value: compactRow(row, isOver), stamp } } }),
  });
  return { ...counted, ledger: withTotals(counted.ledger) };
}

/** Where the epic began is stored once. */
function codeEntries({ base, changes }: CodeUpdate, state: State, stamp: Stamp): List<Json> {
  const named = changes.named.map((file) => ({ ...file }));
  const isFirst = base !== null && readCurrent(state, 'base') === null;
  return {
    changes: { value: { ...changes, named }, stamp },
    ...(isFirst && { base: { value: { commit: base }, stamp } }),
  };
}

/** Stamps commits in order, each a step later than the one before. */
function commitEntries({ commits }: CodeUpdate, session: SessionId, [at, by]: Stamp): List<Commit> {
  return Object.fromEntries(
    commits.map(({ oid, subject }, place) => [oid, { value: { subject, session }, stamp: [at, by, place] }]),
  );
}
