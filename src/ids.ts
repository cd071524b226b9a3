import { OrchError } from './errors.ts';
import type { AgentSessionId, CheckpointId, EpicId, Oid, SessionId, WriterId } from './types.ts';

/** A word that is a file name on every system: an epic, a writer, a task. */
const nameShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Names Windows reserves for devices, with any extension. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

function epicProblem(text: string): string | null {
  if (typeof text !== 'string' || !nameShape.test(text)) {
    return 'an epic id starts with a letter or digit, then has letters, digits, ".", "_" or "-", up to 64 characters';
  }
  if (text.includes('..')) return 'an epic id cannot contain ".."';
  if (text.endsWith('.')) return 'an epic id cannot end with "."';
  if (text.toLowerCase().endsWith('.lock')) return 'an epic id cannot end with ".lock"';
  if (deviceName.test(text)) return `Windows reserves "${text}" for a device`;
  return null;
}

export function isEpicId(text: string): boolean {
  return epicProblem(text) === null;
}

/** Checks an epic id: it must be usable as a ref component and as a file name on every system. */
export function parseEpicId(text: string): EpicId {
  const problem = epicProblem(text);
  if (problem === null) return text as EpicId; // the one place where an epic id is made
  // Untyped callers can pass anything.
  if (typeof text !== 'string')
    throw new OrchError('EPIC_ID_INVALID', 'an epic id must be a string', { hint: 'Try my-feature' });
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

/** Makes an epic id from a branch name (`feat/login` → `feat-login`); null if nothing usable remains. */
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

/** Digits and letters that cannot be confused when read aloud. */
export const idAlphabet = '23456789abcdefghjkmnpqrstuvwxyz';

const sessionShape = /^sess-[a-z0-9]{4,32}$/;
// A number holds fifteen digits exactly.
const checkpointShape = /^ckpt-\d{8,15}-[a-z0-9]{4,64}$/;
const oidShape = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

export const parseSessionId = parser<SessionId>('a session id', sessionShape);
export const parseWriterId = parser<WriterId>('a writer id', nameShape);
export const parseCheckpointId = parser<CheckpointId>('a checkpoint id', checkpointShape);
export const parseOid = parser<Oid>('an object id', oidShape);

/** Checks for ids that come from a document. */
export const isSessionId = (text: unknown): text is SessionId => hasShape(text, sessionShape);
export const isWriterId = (text: unknown): text is WriterId => hasShape(text, nameShape);
export const isCheckpointId = (text: unknown): text is CheckpointId => hasShape(text, checkpointShape);
export const isOid = (text: unknown): text is Oid => hasShape(text, oidShape);

function hasShape(text: unknown, shape: RegExp): boolean {
  return typeof text === 'string' && shape.test(text);
}

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Reads an agent's own id for a conversation; null unless it is a UUID. It becomes an argument of the agent and part of
 * a path, so nothing else may pass.
 */
export function readAgentSession(text: unknown): AgentSessionId | null {
  return typeof text === 'string' && uuidShape.test(text) ? (text as AgentSessionId) : null; // just checked
}

/** Is this the id of a plan's run? It must be usable as a file name on every system. */
export function isRunId(text: string): boolean {
  return /^run-[a-z0-9]{4,32}$/.test(text);
}

/** Some file systems refuse longer names, and locks and temporary files add a suffix. */
const longestFileName = 200;

/**
 * The file name for an id: the only way an id becomes part of a path. The name must stay in its folder, so a separator,
 * a leading dot, a control character and an empty id are refused.
 */
export function nameFile(id: string, suffix = ''): string {
  const name = `${id}${suffix}`;
  if (/^[A-Za-z0-9][A-Za-z0-9._@-]*$/.test(id) && !name.includes('..') && name.length <= longestFileName)
    return name;
  throw new OrchError('INTEGRITY', `${JSON.stringify(id.slice(0, 80))} cannot be used as a file name`, {
    hint: 'Nothing was changed. Find the checkpoint it comes from with: orch checkpoint verify',
    data: { name: id.slice(0, 200) },
  });
}

/** Long ids of tasks' epics keep this much, and end in a digest. */
export const keptOfLongEpic = 55;

/** Does an epic record a task of this convoy? `auth--login` does of `auth`. */
export function isTaskOf(epic: EpicId, convoy: EpicId): boolean {
  return epic !== convoy && epic.startsWith(`${convoy}--`.slice(0, keptOfLongEpic));
}

/** `58`, `k3f9qz` → `ckpt-00000058-k3f9qz`. */
export function makeCheckpointId(seq: number, random: string): CheckpointId {
  return parseCheckpointId(`ckpt-${formatSeq(seq)}-${random}`);
}

/** At least eight digits, so that names sort by number. */
export function formatSeq(seq: number): string {
  return String(seq).padStart(8, '0');
}

/** The number in a checkpoint id. */
export function seqOf(id: CheckpointId): number {
  return Number(id.split('-')[1]);
}

/**
 * Reads a path below the top of a working tree from a document; null if it leads elsewhere, could be taken for an
 * option, or cannot be typed.
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

/** Can a task or an effect have this id? It must work as a file name on every system and as a word in a command. */
export function isTaskId(text: string): boolean {
  return nameShape.test(text);
}
