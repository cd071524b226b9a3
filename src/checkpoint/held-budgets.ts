import { join } from 'node:path';
import { amount, readChecked, text, time, withFields } from '../checks.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import { compareStamps, newest } from '../state/join.ts';
import type { Entry, Stamp, State } from '../state/lists.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import type { EpicId, Json, Micros } from '../types.ts';
import { toUsd } from '../units.ts';

/*
 * A budget that another clone raised counts here only after a yes: a remote must not be able to hand this clone's
 * agents more money. The epic's state has the new budget; beside it this clone keeps the limit that still counts here,
 * for as long as the state has just that budget. A later word, from here or elsewhere, is judged anew.
 */

/** A budget that arrived and is higher than the one that counts here. Null: no limit. */
export type RaisedBudget = {
  readonly epicId: EpicId;
  readonly fromUsd: number;
  readonly toUsd: number | null;
};

function describeRise(epicId: EpicId, from: Micros, to: Micros | null): RaisedBudget {
  return { epicId, fromUsd: toUsd(from), toUsd: to === null ? null : toUsd(to) };
}

type HeldBudget = { readonly limit: Micros; readonly stamp: Stamp };
type HoldPorts = { readonly disk: Disk; readonly random: Random; readonly home: string };

function fileFor(home: string, epic: EpicId): string {
  return join(home, 'held-budgets', epic);
}

const isHeld = withFields<HeldBudget>({
  limit: amount,
  stamp: (value) =>
    Array.isArray(value) && value.length === 3 && time(value[0]) && text(value[1]) && amount(value[2]),
});

/** Written whole or not at all: anything else is not ours. */
function readHeld(home: string, epic: EpicId): HeldBudget | null {
  return readChecked(readTextIfThere(fileFor(home, epic)), isHeld);
}

/** The state with the budget that counts in this clone. Only for deciding and showing: it is never stored. */
export function withHeldBudget(home: string, epic: EpicId, state: State): State {
  const entry = lookUp(state.current, 'budget');
  const held = entry && readHeld(home, epic);
  if (!held || compareStamps(held.stamp, entry.stamp) !== 0) return state;
  return { ...state, current: { ...state.current, budget: { ...entry, value: held.limit } } };
}

/**
 * What becomes of the budget when another clone's state is joined with ours; null where nothing rises. Called before
 * the join: a crash between the two must not let the higher budget through.
 */
export async function holdIfRaised(
  ports: HoldPorts,
  epic: EpicId,
  ours: State,
  theirs: State,
): Promise<RaisedBudget | null> {
  const from = budgetOf(withHeldBudget(ports.home, epic, ours));
  const arriving = arrivingBudget(ours, theirs);
  if (from === null || arriving === null) return null;
  const to = budgetOf(theirs);
  if (to !== null && to <= from) return null;
  const held: HeldBudget = { limit: from, stamp: arriving.stamp };
  const bytes = Buffer.from(`${JSON.stringify(held)}\n`);
  await writeAtomically(ports.disk, fileFor(ports.home, epic), bytes, ports.random.id(8));
  return describeRise(epic, from, to);
}

/** Their word on the budget, where the join will take it. */
function arrivingBudget(ours: State, theirs: State): Entry<Json> | null {
  const [mine, other] = [lookUp(ours.current, 'budget'), lookUp(theirs.current, 'budget')];
  if (other === undefined) return null;
  return mine === undefined || newest(mine, other) === other ? other : null;
}

/** The budget that others raised and that does not count here yet; null where there is none. */
export function findRaised(home: string, epic: EpicId, stored: State): RaisedBudget | null {
  const inForce = withHeldBudget(home, epic, stored);
  const from = budgetOf(inForce);
  return inForce === stored || from === null ? null : describeRise(epic, from, budgetOf(stored));
}

/** The limit that counts here goes along when an epic gets another name. */
export async function copyHeld(ports: HoldPorts, from: EpicId, to: EpicId): Promise<void> {
  const held = readTextIfThere(fileFor(ports.home, from));
  if (held === null || readHeld(ports.home, to) !== null) return;
  await writeAtomically(ports.disk, fileFor(ports.home, to), Buffer.from(held), ports.random.id(8));
}

/** The user's yes: the budget that arrived counts from now on. */
export function acceptBudget({ disk, home }: HoldPorts, epic: EpicId): void {
  removeIfThere(disk, fileFor(home, epic));
}
