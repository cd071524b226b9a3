import { OrchError } from './errors.ts';
import type { CheckpointId, EpicId, Oid, SessionId, WriterId } from './types.ts';

const epicShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Names Windows keeps for devices, with any extension. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

function epicProblem(text: string): string | null {
  if (!epicShape.test(text)) {
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

const shapes = {
  session: /^sess-[a-z0-9]{4,32}$/,
  writer: /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  // Fifteen digits are as far as a number counts exactly.
  checkpoint: /^ckpt-\d{8,15}-[a-z0-9]{4,64}$/,
  oid: /^([0-9a-f]{40}|[0-9a-f]{64})$/,
};

function parser<Id extends string>(what: string, shape: RegExp) {
  return (text: string): Id => {
    if (shape.test(text)) return text as Id; // the shape was just checked
    throw new OrchError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not ${what}`);
  };
}

/** Digits and letters that are not mistaken for one another when read aloud. */
export const idAlphabet = '23456789abcdefghjkmnpqrstuvwxyz';

export const parseSessionId = parser<SessionId>('a session id', shapes.session);
export const parseWriterId = parser<WriterId>('a writer id', shapes.writer);
export const parseCheckpointId = parser<CheckpointId>('a checkpoint id', shapes.checkpoint);
export const parseOid = parser<Oid>('an object id', shapes.oid);

export const isSessionId = (text: string): boolean => shapes.session.test(text);
export const isWriterId = (text: string): boolean => shapes.writer.test(text);
export const isCheckpointId = (text: string): boolean => shapes.checkpoint.test(text);
export const isOid = (text: string): boolean => shapes.oid.test(text);

/** Is this the id of a plan's run? It is a file name on every system. */
export function isRunId(text: string): boolean {
  return /^run-[a-z0-9]{4,32}$/.test(text);
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

const taskIdShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** May a task or an effect be called so? It is a file's name on every system, and a word on a command line. */
export function isTaskId(text: string): boolean {
  return taskIdShape.test(text);
}
