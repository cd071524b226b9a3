import { lookUp } from '../../keyed.ts';
import { compareStamps } from '../../state/join.ts';
import type { Entry, List, State } from '../../state/lists.ts';
import type { CheckpointId, EpicId, GateColour, Oid, SessionId, Trigger } from '../../types.ts';
import type { NotSaved } from '../document/document.ts';

/** A line of a brief in Markdown, with its key in the state's list if it has one. */
export type BriefItem = {
  readonly key: string | null;
  readonly text: string;
  /** The clone that recorded it, unless that is the reader's. */
  readonly from: string | null;
};

/** The same before the reader is known: `by` is the clone that recorded it; null for orch's own words. */
export type DraftItem = { readonly key: string | null; readonly text: string; readonly by: string | null };

/** The content of a section, in reading order, and how much more there is. */
export type Gathered = {
  /** Introduces all items. */
  readonly lead?: string;
  readonly items: readonly DraftItem[];
  readonly leftOut: number;
};

/** What a brief needs to know about its checkpoint. */
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
  /** The clone that made it. */
  readonly writer?: string;
} & NotSaved;

/** What sections are made from. */
export type BriefSubject = {
  readonly epicId: EpicId;
  readonly state: State;
  /** Null if nothing was saved yet. */
  readonly checkpoint: BriefCheckpoint | null;
  /** How many files on disk differ from the checkpoint's snapshot; null if not checked. */
  readonly disk: { readonly differing: number } | null;
};

export type KeyedEntry<T> = Entry<T> & { readonly key: string };

/** The entries of a list, newest first, in the same order on every machine. */
export function sortNewest<T>(list: List<T>): KeyedEntry<T>[] {
  const entries = Object.entries(list).map(([key, { value, stamp }]) => ({ key, value, stamp }));
  return entries.sort((a, b) => compareStamps(b.stamp, a.stamp) || (a.key < b.key ? 1 : -1));
}

/** Formats the first `most` entries that are not empty, and counts the rest. */
export function formatFirst<T>(
  entries: readonly KeyedEntry<T>[],
  most: number,
  format: (entry: KeyedEntry<T>, place: number) => string,
): Gathered {
  const items: DraftItem[] = [];
  let seen = 0;
  for (const entry of entries) {
    if (items.length >= most) break;
    seen++;
    const text = format(entry, items.length);
    if (text !== '') items.push({ key: entry.key, text, by: entry.stamp[1] });
  }
  return { items, leftOut: entries.length - seen };
}

/** A single item without a key, or none. */
export function makeSingle(text: string | null, by: string | null = null): Gathered {
  return { items: text === null || text === '' ? [] : [{ key: null, text, by }], leftOut: 0 };
}

/** `s4`, a session's short name; null if it is no longer listed. */
export function nameSession({ sessions }: State, id: SessionId): string | null {
  const number = lookUp(sessions, id)?.value.number;
  return number === undefined ? null : `s${number}`;
}

/** `(user, s4: why)`: who, when and why, as far as known. */
export function formatAside(parts: readonly (string | null)[], why = ''): string {
  const said = parts.filter((part) => part !== null && part !== '').join(', ');
  if (said === '' && why === '') return '';
  return ` (${said}${said && why ? ': ' : ''}${why})`;
}
