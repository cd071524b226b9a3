import { isEpicId, parseEpicId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import type { EpicId } from '../types.ts';
import type { Fact } from './facts.ts';
import { compareStamps } from './join.ts';
import type { Stamp, State } from './lists.ts';

/*
 * What becomes of an epic as a whole: it is renamed, or put away. Both are facts in its state, so that they reach other
 * clones and merge like everything else. Pure.
 */

const former = 'formerly:';
const archived = 'archived';

/** The epic is called something else from now on; under its old name it is found no more. */
export function renamedFact(from: EpicId, to: EpicId): Fact {
  return { kind: 'current_set', key: `${former}${from}`, value: { to } };
}

/** The names an epic had before, and since when it has them no more. */
export function listFormerNames({ current }: Pick<State, 'current'>): { name: EpicId; stamp: Stamp }[] {
  return Object.entries(current).flatMap(([key, { stamp }]) => {
    const name = key.startsWith(former) ? key.slice(former.length) : '';
    return isEpicId(name) ? [{ name: parseEpicId(name), stamp }] : [];
  });
}

/** Was the epic of one state renamed to that of another, and not back again since? */
export function isRenamedTo(from: EpicId, old: State, to: EpicId, state: State): boolean {
  const away = listFormerNames(state).find(({ name }) => name === from);
  const back = listFormerNames(old).find(({ name }) => name === to);
  return away !== undefined && from !== to && (!back || compareStamps(away.stamp, back.stamp) > 0);
}

export function archivedFact(isArchived: boolean): Fact {
  return { kind: 'current_set', key: archived, value: isArchived };
}

/** Is the epic put away? Whoever begins a session on it takes it out again; a call, such as a note, does not. */
export function isArchived({ current, sessions }: Pick<State, 'current' | 'sessions'>): boolean {
  const entry = lookUp(current, archived);
  if (entry?.value !== true) return false;
  const [since] = entry.stamp;
  return !Object.values(sessions).some(({ value }) => !value.forCalls && value.startedAt > since);
}
