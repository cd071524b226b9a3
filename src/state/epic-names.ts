import { isEpicId, parseEpicId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import type { EpicId } from '../types.ts';
import type { Fact } from './facts.ts';
import { compareStamps } from './join.ts';
import type { Stamp, State } from './lists.ts';

/*
 * Renaming and archiving an epic. Both are facts in its state, so they reach other clones and merge like everything
 * else. Pure.
 */

const former = 'formerly:';
const archived = 'archived';

/** The epic has a new name from now on, and is no longer found under the old one. */
export function renamedFact(from: EpicId, to: EpicId): Fact {
  return { kind: 'current_set', key: `${former}${from}`, value: { to } };
}

/** An epic's former names, each with the time it was dropped. */
export function listFormerNames({ current }: Pick<State, 'current'>): { name: EpicId; stamp: Stamp }[] {
  return Object.entries(current).flatMap(([key, { stamp }]) => {
    const name = key.startsWith(former) ? key.slice(former.length) : '';
    return isEpicId(name) ? [{ name: parseEpicId(name), stamp }] : [];
  });
}

/** Was the epic of the old state renamed to the other one, and not renamed back since? */
export function isRenamedTo(from: EpicId, old: State, to: EpicId, state: State): boolean {
  const away = listFormerNames(state).find(({ name }) => name === from);
  const back = listFormerNames(old).find(({ name }) => name === to);
  return away !== undefined && from !== to && (!back || compareStamps(away.stamp, back.stamp) > 0);
}

export function archivedFact(isArchived: boolean): Fact {
  return { kind: 'current_set', key: archived, value: isArchived };
}

/** Is the epic archived? Starting a session on it brings it back; a single call, such as a note, does not. */
export function isArchived({ current, sessions }: Pick<State, 'current' | 'sessions'>): boolean {
  const entry = lookUp(current, archived);
  if (entry?.value !== true) return false;
  const [since] = entry.stamp;
  return !Object.values(sessions).some(({ value }) => !value.forCalls && value.startedAt > since);
}
