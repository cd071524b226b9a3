import { readTrailers } from '../git/trailers.ts';
import { parseCheckpointId, parseEpicId, parseOid, parseSessionId, seqOf } from '../ids.ts';
import { cleanLine, cleanText, cutColumns } from '../text.ts';
import {
  type CheckpointId,
  type EpicId,
  type GateColour,
  type Micros,
  type Oid,
  type SessionId,
  type Trigger,
  triggers,
} from '../types.ts';
import { formatMicros, parseMicros } from '../units.ts';

/** What a commit message says of its checkpoint: all that a list shows, so that listing reads no document. */
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
  /** What of the code is not in it; null where all of it is. */
  readonly notSaved: string | null;
  readonly agent: string | null;
};

const subjectColumns = 100;

/**
 * The subject, one line of figures, and the trailers as the last paragraph, alone.
 * Outside text is only in the subject and in the last trailer, where each of its lines is indented:
 * whatever it says, git reads it as neither a trailer nor the end of them.
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
    // Only the reason has lines of its own, each of them indented.
    value === null ? [] : [`Orch-${name}: ${name === 'Reason' ? value : cleanLine(value, 300)}`],
  );
  const subject = `ckpt ${seqOf(content.id)}: ${cutColumns(cleanLine(content.summary), subjectColumns)}`;
  return `${subject}\n\n${cleanLine(figures)}\n\n${lines.join('\n')}\n`;
}

/** A text as a folded trailer: an empty line would end the trailers, so it becomes a dot, and a first dot is doubled. */
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

/** What a message of ours says, or null where it is somebody else's. */
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
    return null; // a trailer is not of our making
  }
}

function parseColour(text: string | null): GateColour {
  return text === 'green' || text === 'red' ? text : 'unknown';
}

function parseOptionalOid(text: string | null): Oid | null {
  return text === null ? null : parseOid(text);
}
