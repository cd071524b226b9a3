import { add } from 'date-fns/add';
import { hasCode, OrchError } from '../errors.ts';
import { isRunId } from '../ids.ts';
import { sessionsOf } from '../state/runs.ts';
import type { EpicId, Millis, SessionId } from '../types.ts';
import { type Checkpoint, type Found, walkEpic } from './list.ts';
import { readTip, type StorePorts } from './tip.ts';

/** The ways to name a checkpoint. */
export type Name =
  | { readonly kind: 'latest'; readonly back: number }
  | { readonly kind: 'green' }
  | { readonly kind: 'number'; readonly seq: number; readonly text: string }
  | { readonly kind: 'session'; readonly number: number }
  | { readonly kind: 'run'; readonly run: string }
  | { readonly kind: 'before'; readonly at: Millis }
  | { readonly kind: 'prefix'; readonly text: string };

const agoUnits: Record<string, string> = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days', w: 'weeks' };

/** Parses `58`, `latest`, `latest~2`, `green`, `s7`, `2h ago`, a run's id, an id, a commit, or the start of either. */
export function parseName(text: string, now: Millis): Name {
  const name = text.trim();
  const latest = /^latest(?:~(\d{1,9}))?$/.exec(name);
  if (latest) return { kind: 'latest', back: Number(latest[1] ?? 0) };
  if (name === 'green') return { kind: 'green' };
  if (/^\d{1,15}$/.test(name)) return { kind: 'number', seq: Number(name), text: name };
  const session = /^s(\d{1,9})$/.exec(name);
  if (session) return { kind: 'session', number: Number(session[1]) };
  if (isRunId(name)) return { kind: 'run', run: name };
  const ago = /^(\d{1,6})\s*(s|m|h|d|w)[a-z]*\s+ago$/.exec(name);
  const unit = agoUnits[ago?.[2] ?? ''];
  if (ago && unit) return { kind: 'before', at: add(now, { [unit]: -Number(ago[1]) }).getTime() };
  if (/^(ckpt-[0-9a-z-]*|[a-z0-9]{4,64})$/.test(name)) return { kind: 'prefix', text: name };
  throw new OrchError('USAGE', `${JSON.stringify(text.slice(0, 80))} does not name a checkpoint`, {
    hint: 'Use a number, latest, latest~2, green, s7, "2h ago", a run id, a checkpoint id, a commit, or the start of one.',
  });
}

/** Does the checkpoint's id start like this, with or without `ckpt-` and its number? */
function hasPrefix({ id }: Checkpoint, text: string): boolean {
  return id.startsWith(text) || (id.split('-')[2] ?? '').startsWith(text);
}

/** Does the text name its commit, in full or by at least seven digits? */
function isCommit(commit: Found['commit'], text: string): boolean {
  return /^[0-9a-f]{7,64}$/.test(text) && commit.oid.startsWith(text);
}

/** Is this the named checkpoint? */
function matches(
  name: Name,
  { checkpoint, commit, index }: Found,
  ofRun: ReadonlySet<SessionId> | null,
): boolean {
  switch (name.kind) {
    case 'latest':
      return index === name.back;
    case 'green':
      return checkpoint.gates === 'green';
    case 'number':
      return checkpoint.seq === name.seq || isCommit(commit, name.text);
    case 'session':
      return checkpoint.sessionNumber === name.number;
    case 'run':
      return ofRun?.has(checkpoint.sessionId) === true;
    case 'before':
      return commit.authoredAt <= name.at;
    case 'prefix':
      return hasPrefix(checkpoint, name.text) || isCommit(commit, name.text);
  }
}

/**
 * Finds a checkpoint by name. Numbers are labels: two machines may have used the same one before they synced. So in a
 * history with merges the search continues for a second match, and two are an error that lists them.
 */
export async function findCheckpoint(ports: StorePorts, epic: EpicId, text: string): Promise<Found> {
  const name = parseName(text, ports.clock.now());
  const ofRun = name.kind === 'run' ? await readSessionsOf(ports, epic, name.run) : null;
  const found: Found[] = [];
  const damage: OrchError[] = [];
  try {
    for await (const next of walkEpic(ports, epic, (error) => damage.push(error))) {
      if (matches(name, next, ofRun) && !found.some((other) => isSame(name, other, next))) found.push(next);
      if (found.length > 0 && isAlone(name, next)) break;
    }
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY') || found.length === 0) throw error;
  }
  const [first, ...others] = found;
  // The named one may be the one that cannot be read.
  if (first === undefined) throw damage[0] ?? notFound(epic, text, name);
  if (others.length > 0) throw ambiguous(epic, text, found);
  return first;
}

/** A name that only this checkpoint has: its number, or its id if another machine used the same number. */
export async function nameUniquely(ports: StorePorts, { epicId, seq, id }: Checkpoint): Promise<string> {
  try {
    await findCheckpoint(ports, epicId, String(seq));
    return String(seq);
  } catch (error) {
    if (hasCode(error, 'CHECKPOINT_AMBIGUOUS')) return id;
    throw error;
  }
}

/** The sessions that worked on a run of a plan, as far as the epic's newest checkpoint lists them. */
export async function readSessionsOf(
  ports: StorePorts,
  epic: EpicId,
  run: string,
): Promise<ReadonlySet<SessionId>> {
  return sessionsOf((await readTip(ports, epic)).state.runs, run);
}

/** How many checkpoints are searched for the last work. */
export const searchedBack = 500;

/** Was it made during work? Recoveries and merges record what is known, not what the files were. */
export function isWork({ trigger }: Checkpoint): boolean {
  return trigger !== 'recovery' && trigger !== 'merge';
}

/** The newest checkpoint made during work, of one session or of any, after a position. */
export async function findWork(
  ports: StorePorts,
  epic: EpicId,
  { session, behind = -1 }: { readonly session: SessionId | null; readonly behind?: number },
): Promise<Found | null> {
  for await (const found of walkEpic(ports, epic, () => {}, searchedBack)) {
    const isOf = session === null || found.checkpoint.sessionId === session;
    if (isWork(found.checkpoint) && found.index > behind && isOf) return found;
  }
  return null;
}

/** Only the last checkpoint of a session counts. */
function isSame(name: Name, a: Found, b: Found): boolean {
  return name.kind === 'session' && a.checkpoint.sessionId === b.checkpoint.sessionId;
}

/** Can nothing older match as well? Without merges, numbers only fall. */
function isAlone(name: Name, { checkpoint, commit, merged }: Found): boolean {
  if (['latest', 'green', 'before', 'run'].includes(name.kind)) return true;
  if (merged) return false;
  return name.kind !== 'prefix' || name.text === checkpoint.id || name.text === commit.oid;
}

function notFound(epic: EpicId, text: string, name: Name): OrchError {
  const message =
    name.kind === 'green' ? `${epic} has no green checkpoint yet` : `${epic} has no checkpoint "${text}"`;
  return new OrchError('CHECKPOINT_NOT_FOUND', message, {
    hint: `List its checkpoints with: orch checkpoint list --epic ${epic}`,
    data: { epicId: epic, name: text },
  });
}

function ambiguous(epic: EpicId, text: string, found: readonly Found[]): OrchError {
  const ids = found.map(({ checkpoint }) => checkpoint.id);
  return new OrchError(
    'CHECKPOINT_AMBIGUOUS',
    `"${text}" names ${ids.length} checkpoints of ${epic}: ${ids.slice(0, 8).join(', ')}`,
    {
      hint: 'Name the one you mean by its id.',
      data: { epicId: epic, name: text, ids },
    },
  );
}
