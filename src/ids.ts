import { OrchError } from './errors.ts';
import type { AgentSessionId, CheckpointId, EpicId, Oid, SessionId, WriterId } from './types.ts';

const epicShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Names Windows keeps for devices, with any extension. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

function epicProblem(text: string): string | null {
  if (typeof text !== 'string' || !epicShape.test(text)) {
    return 'an epic id begins with a letter or digit, goes on with letters, digits, ".", "_" or "-", and is at most 64 long';
  }
  if (text.includes('..')) return 'an epic id has no ".."';
  if (text.endsWith('.')) return 'an epic id does not end with "."';
  if (text.toLowerCase().endsWith('.lock')) return 'an epic id does not end with ".lock"';
  if (deviceName.test(text)) return `"${text}" is the name of a device on Windows`;
  return null;
}

export function isEpicId(text: string): boolean {
  return epicProblem(text) === null;
}

/** Accepts an epic id that is a ref component and a file name on every system. */
export function parseEpicId(text: string): EpicId {
  const problem = epicProblem(text);
  if (problem === null) return text as EpicId; // the one place where an epic id is made
  // A program without types may hand over anything.
  if (typeof text !== 'string')
    throw new OrchError('EPIC_ID_INVALID', 'an epic id is a text', { hint: 'Try my-feature' });
  const suggestion = slugOf(text);
  throw new OrchError(
    'EPIC_ID_INVALID',
    `${JSON.stringify(text.slice(0, 80))} is not an epic id: ${problem}`,
    {
      hint: suggestion ? `Try --epic ${suggestion}` : 'Try --epic my-feature',
      data: { epicId: text.slice(0, 200) },
    },
  );
}

/** The epic a branch stands for (`feat/login` → `feat-login`), or null where nothing usable is left of it. */
export function slugOf(text: string): EpicId | null {
  const slug = text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
    .replace(/(\.lock|[.-])+$/i, '');
  return slug !== '' && epicProblem(slug) === null ? (slug as EpicId) : null;
}

function parser<Id extends string>(what: string, shape: RegExp) {
  return (text: string): Id => {
    if (typeof text !== 'string') throw new OrchError('USAGE', `this is not ${what}`);
    if (shape.test(text)) return text as Id; // the shape was just checked
    throw new OrchError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not ${what}`);
  };
}

/** Digits and letters that are not mistaken for one another when read aloud. */
export const idAlphabet = '23456789abcdefghjkmnpqrstuvwxyz';

const sessionShape = /^sess-[a-z0-9]{4,32}$/;
const writerShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
// Fifteen digits are as far as a number counts exactly.
const checkpointShape = /^ckpt-\d{8,15}-[a-z0-9]{4,64}$/;
const oidShape = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

export const parseSessionId = parser<SessionId>('a session id', sessionShape);
export const parseWriterId = parser<WriterId>('a writer id', writerShape);
export const parseCheckpointId = parser<CheckpointId>('a checkpoint id', checkpointShape);
export const parseOid = parser<Oid>('an object id', oidShape);

/** What an id read from a document is checked against before it counts as one. */
export const isSessionId = (text: unknown): text is SessionId => hasShape(text, sessionShape);
export const isWriterId = (text: unknown): text is WriterId => hasShape(text, writerShape);
export const isCheckpointId = (text: unknown): text is CheckpointId => hasShape(text, checkpointShape);
export const isOid = (text: unknown): text is Oid => hasShape(text, oidShape);

function hasShape(text: unknown, shape: RegExp): boolean {
  return typeof text === 'string' && shape.test(text);
}

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * An agent's own name for a conversation, or null where the text is anything but a UUID. It becomes an argument of the
 * agent and part of a path, so nothing else may ever stand in its place.
 */
export function readAgentSession(text: unknown): AgentSessionId | null {
  return typeof text === 'string' && uuidShape.test(text) ? (text as AgentSessionId) : null; // checked just here
}

/** Is this the id of a plan's run? It is a file name on every system. */
export function isRunId(text: string): boolean {
  return /^run-[a-z0-9]{4,32}$/.test(text);
}

/** Longer names are refused by some file systems, and a lock or a temporary file adds to them. */
const longestFileName = 200;

/**
 * The name of the file that belongs to an id: the only way an id becomes part of a path. A plain name stays in its
 * folder, so anything else is refused: a separator, a leading dot, a control character, nothing at all.
 */
export function nameFile(id: string, suffix = ''): string {
  const name = `${id}${suffix}`;
  if (/^[A-Za-z0-9][A-Za-z0-9._@-]*$/.test(id) && !name.includes('..') && name.length <= longestFileName)
    return name;
  throw new OrchError('INTEGRITY', `${JSON.stringify(id.slice(0, 80))} cannot be the name of a file`, {
    hint: 'Nothing was changed. See which checkpoint it comes from: orch checkpoint verify',
    data: { name: id.slice(0, 200) },
  });
}

/** `58`, `k3f9qz` → `ckpt-00000058-k3f9qz`. */
export function makeCheckpointId(seq: number, random: string): CheckpointId {
  return parseCheckpointId(`ckpt-${formatSeq(seq)}-${random}`);
}

/** Eight digits, more when they are needed, so that names sort by number. */
export function formatSeq(seq: number): string {
  return String(seq).padStart(8, '0');
}

/** The number in a checkpoint id. */
export function seqOf(id: CheckpointId): number {
  return Number(id.split('-')[1]);
}

/**
 * A path below the top of a working tree, as a document gives it, or null where it leads anywhere else, would be read as
 * an option, or cannot be typed.
 */
export function readInnerPath(text: unknown): string | null {
  if (
    typeof text !== 'string' ||
    text.length > 1_024 ||
    /^[-/\\]|^[A-Za-z]:|[\p{Control}\u2028-\u202e\u2066-\u2069]/u.test(text)
  )
    return null;
  return text.split(/[/\\]/).includes('..') ? null : text;
}

const taskIdShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** May a task or an effect be called so? It is a file's name on every system, and a word on a command line. */
export function isTaskId(text: string): boolean {
  return taskIdShape.test(text);
}
