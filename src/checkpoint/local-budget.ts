import { join } from 'node:path';
import { amount, text, time, withFields } from '../checks.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import { compareStamps, newest } from '../state/join.ts';
import type { Entry, Stamp, State } from '../state/lists.ts';
import { removeIfThere, type WritePorts } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import type { EpicId, Json, Micros } from '../types.ts';
import { toUsd } from '../units.ts';

/*
 * A budget that another clone raised counts here only after the user agrees: a remote must not be able to give this
 * clone's agents more money. The epic's state has the new budget; this clone keeps the limit that still counts here
 * beside it, for as long as the state has exactly that budget. Any later budget is judged anew.
 */

/** A budget that arrived and is higher than the one that counts here. `toUsd` is null for no limit. */
export type RaisedBudget = {
  readonly epicId: EpicId;
  readonly fromUsd: number;
  readonly toUsd: number | null;
};

function describeRise(epicId: EpicId, from: Micros, to: Micros | null): RaisedBudget {
  return { epicId, fromUsd: toUsd(from), toUsd: to === null ? null : toUsd(to) };
}

type LocalBudget = { readonly limit: Micros; readonly stamp: Stamp };
type BudgetPorts = WritePorts & { readonly home: string };

function fileFor(home: string, epic: EpicId): string {
  return join(home, 'held-budgets', epic);
}

const isLocalBudget = withFields<LocalBudget>({
  limit: amount,
  stamp: (value) =>
    Array.isArray(value) && value.length === 3 && time(value[0]) && text(value[1]) && amount(value[2]),
});

/** The file is written whole or not at all: anything else is not ours. */
function readLocalBudget(home: string, epic: EpicId): LocalBudget | null {
  return readJson(fileFor(home, epic), isLocalBudget);
}

/** The state with the budget that counts in this clone. Only for deciding and showing: it is never stored. */
export function withLocalBudget(home: string, epic: EpicId, state: State): State {
  const entry = lookUp(state.current, 'budget');
  const held = entry && readLocalBudget(home, epic);
  if (!held || compareStamps(held.stamp, entry.stamp) !== 0) return state;
  return { ...state, current: { ...state.current, budget: { ...entry, value: held.limit } } };
}

/**
 * Keeps this clone's budget if joining another clone's state would raise it; null if it would not. Call it before the
 * join: a crash between the two must not let the higher budget through.
 */
export async function keepLocalBudget(
  ports: BudgetPorts,
  epic: EpicId,
  ours: State,
  theirs: State,
): Promise<RaisedBudget | null> {
  const from = budgetOf(withLocalBudget(ports.home, epic, ours));
  const arriving = arrivingBudget(ours, theirs);
  if (from === null || arriving === null) return null;
  const to = budgetOf(theirs);
  if (to !== null && to <= from) return null;
  const held: LocalBudget = { limit: from, stamp: arriving.stamp };
  await writeJson(ports, fileFor(ports.home, epic), held);
  return describeRise(epic, from, to);
}

/** Their budget entry, if the join will take it. */
function arrivingBudget(ours: State, theirs: State): Entry<Json> | null {
  const [mine, other] = [lookUp(ours.current, 'budget'), lookUp(theirs.current, 'budget')];
  if (other === undefined) return null;
  return mine === undefined || newest(mine, other) === other ? other : null;
}

/** The budget that others raised and that does not count here yet; null if there is none. */
export function findRaisedBudget(home: string, epic: EpicId, stored: State): RaisedBudget | null {
  const inForce = withLocalBudget(home, epic, stored);
  const from = budgetOf(inForce);
  return inForce === stored || from === null ? null : describeRise(epic, from, budgetOf(stored));
}

/** Keeps the limit that counts here when an epic is renamed. */
export async function copyLocalBudget(ports: BudgetPorts, from: EpicId, to: EpicId): Promise<void> {
  const held = readLocalBudget(ports.home, from);
  if (held !== null && readLocalBudget(ports.home, to) === null)
    await writeJson(ports, fileFor(ports.home, to), held);
}

/** Accepts the budget that arrived: it counts from now on. */
export function acceptBudget({ disk, home }: BudgetPorts, epic: EpicId): void {
  removeIfThere(disk, fileFor(home, epic));
}
