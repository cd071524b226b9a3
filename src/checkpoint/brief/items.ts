import { lookUp } from '../../keyed.ts';
import { compareStamps } from '../../state/join.ts';
import type { Entry, List, State } from '../../state/lists.ts';
import type { CheckpointId, EpicId, GateColour, Oid, SessionId, Trigger } from '../../types.ts';
import type { NotSaved } from '../not-saved.ts';

/** One thing a brief says: a line of Markdown, and the key it has in the state's list, where it has one. */
export type BriefItem = {
  readonly key: string | null;
  readonly text: string;
  /** The clone that recorded it, where that is another than the reader's. */
  readonly from: string | null;
};

/** The same before anything is known of who reads it: `by` is the clone that recorded it; null where orch itself says it. */
export type SaidItem = { readonly key: string | null; readonly text: string; readonly by: string | null };

/** What a section has to say, in the order it is read, and how much more there would be. */
export type Gathered = {
  /** Said before the items, of all of them. */
  readonly lead?: string;
  readonly items: readonly SaidItem[];
  readonly leftOut: number;
};

/** What a brief says of the checkpoint it belongs to. */
export type BriefCheckpoint = {
  readonly id: CheckpointId;
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly trigger: Trigger;
  readonly sessionNumber: number;
  readonly snapshot: Oid | null;
  readonly gates: GateColour;
  readonly gitCommit: Oid | null;
  readonly branch: string | null;
  /** The clone that made it, and what of the code is not in it. */
  readonly writer?: string;
} & NotSaved;

/** Everything a section can draw on. */
export type BriefSubject = {
  readonly epicId: EpicId;
  readonly state: State;
  /** Null where nothing was saved yet. */
  readonly checkpoint: BriefCheckpoint | null;
  /** How many files on disk differ from the checkpoint's snapshot; null where nobody looked. */
  readonly disk: { readonly differing: number } | null;
};

export type Keyed<T> = Entry<T> & { readonly key: string };

/** The entries of a list, newest first; the same order on every machine. */
export function sortNewest<T>(list: List<T>): Keyed<T>[] {
  const entries = Object.entries(list).map(([key, { value, stamp }]) => ({ key, value, stamp }));
  return entries.sort((a, b) => compareStamps(b.stamp, a.stamp) || (a.key < b.key ? 1 : -1));
}

/** Says the first `most` of the entries that have something to say, and counts the others. */
export function sayFirst<T>(
  entries: readonly Keyed<T>[],
  most: number,
  say: (entry: Keyed<T>, place: number) => string,
): Gathered {
  const items: SaidItem[] = [];
  let seen = 0;
  for (const entry of entries) {
    if (items.length >= most) break;
    seen++;
    const text = say(entry, items.length);
    if (text !== '') items.push({ key: entry.key, text, by: entry.stamp[1] });
  }
  return { items, leftOut: entries.length - seen };
}

/** One thing without a key, or nothing. */
export function sayOnce(text: string | null, by: string | null = null): Gathered {
  return { items: text === null || text === '' ? [] : [{ key: null, text, by }], leftOut: 0 };
}

/** `s4`, by which a session is called; null where it is no longer listed. */
export function nameSession({ sessions }: State, id: SessionId): string | null {
  const number = lookUp(sessions, id)?.value.number;
  return number === undefined ? null : `s${number}`;
}

/** `(user, s4: why)`: who, when and why, as far as it is known. */
export function sayAside(parts: readonly (string | null)[], why = ''): string {
  const said = parts.filter((part) => part !== null && part !== '').join(', ');
  if (said === '' && why === '') return '';
  return ` (${said}${said && why ? ': ' : ''}${why})`;
}
