import { join } from 'node:path';
import {
  type Check,
  isRecord,
  listOf,
  number,
  oneOf,
  orNull,
  text,
  withFields,
  yesOrNo,
} from '../../checks.ts';
import { nameFile } from '../../ids.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { sleep } from '../../system/clock.ts';
import { listFolder, makeFolder, removeIfThere, statIfThere } from '../../system/disk.ts';
import { readJson, writeJson } from '../../system/json-file.ts';
import type { EpicId } from '../../types.ts';

/*
 * What people order while a convoy runs. Only its scheduler writes the convoy's epic, so an order is a file that it takes;
 * it stays there until it is carried out. Without a scheduler, the next one takes it.
 */

export type Order =
  /** A task that waits for a person continues. */
  | { readonly kind: 'resume'; readonly task: string }
  | {
      readonly kind: 'retry';
      readonly task: string;
      readonly model: string | null;
      readonly isFresh: boolean;
    }
  | { readonly kind: 'cancel'; readonly tasks: readonly string[]; readonly goesOn: boolean }
  /** The budget was raised: tasks that wait for money continue. */
  | { readonly kind: 'money' }
  /** The plan has new tasks. */
  | { readonly kind: 'reload' }
  /** A task is claimed, or any that waits to be. */
  | { readonly kind: 'claim'; readonly task: string | null; readonly by: string }
  /** A claimed task is done, or cannot be. */
  | {
      readonly kind: 'done';
      readonly task: string;
      readonly lease: number;
      readonly problem: string | null;
    };

const shapes: { readonly [K in Order['kind']]: Check } = {
  resume: withFields<Extract<Order, { kind: 'resume' }>>({ kind: oneOf('resume'), task: text }),
  retry: withFields<Extract<Order, { kind: 'retry' }>>({
    kind: oneOf('retry'),
    task: text,
    model: orNull(text),
    isFresh: yesOrNo,
  }),
  cancel: withFields<Extract<Order, { kind: 'cancel' }>>({
    kind: oneOf('cancel'),
    tasks: listOf(text),
    goesOn: yesOrNo,
  }),
  money: withFields<Extract<Order, { kind: 'money' }>>({ kind: oneOf('money') }),
  reload: withFields<Extract<Order, { kind: 'reload' }>>({ kind: oneOf('reload') }),
  claim: withFields<Extract<Order, { kind: 'claim' }>>({
    kind: oneOf('claim'),
    task: orNull(text),
    by: text,
  }),
  done: withFields<Extract<Order, { kind: 'done' }>>({
    kind: oneOf('done'),
    task: text,
    lease: number,
    problem: orNull(text),
  }),
};

function isOrder(value: unknown): value is Order {
  if (!isRecord(value)) return false;
  const kind = Object.keys(shapes).find((each): each is Order['kind'] => each === value.kind);
  return kind !== undefined && shapes[kind](value);
}

function folderOf(home: string, epic: EpicId): string {
  return join(home, 'orders', nameFile(epic));
}

type OrderPorts = Pick<SessionPorts, 'disk' | 'home' | 'random' | 'clock'>;

/** Gives a convoy's scheduler an order; returns the order's id. */
export async function placeOrder(ports: OrderPorts, epic: EpicId, order: Order): Promise<string> {
  const folder = folderOf(ports.home, epic);
  const id = `${ports.clock.now()}-${ports.random.id(6)}`;
  await makeFolder(ports.disk, folder);
  await writeJson(ports, join(folder, nameFile(id, '.json')), order);
  return id;
}

export type PlacedOrder = { readonly id: string; readonly order: Order };

/** Lists the orders that are not carried out, in the order they were given. */
export function listOrders(home: string, epic: EpicId): PlacedOrder[] {
  const folder = folderOf(home, epic);
  const names = listFolder(folder).filter((name) => /^\d+-[a-z0-9]+\.json$/.test(name));
  return names.sort().flatMap((name) => {
    const order = readJson(join(folder, name), isOrder);
    return order === null ? [] : [{ id: name.slice(0, -5), order }];
  });
}

/** Forgets an order that was carried out. */
export function removeOrder({ disk, home }: OrderPorts, epic: EpicId, id: string): void {
  removeIfThere(disk, join(folderOf(home, epic), nameFile(id, '.json')));
}

/** What came of an order whose giver waits for it. */
export type Reply = { readonly [key: string]: unknown };

export async function replyTo(ports: OrderPorts, epic: EpicId, id: string, reply: Reply): Promise<void> {
  await writeJson(ports, join(folderOf(ports.home, epic), nameFile(id, '.reply')), reply);
}

/** Takes the reply to an order; null if there is none yet. */
export function takeReply({ disk, home }: OrderPorts, epic: EpicId, id: string): Reply | null {
  const path = join(folderOf(home, epic), nameFile(id, '.reply'));
  const reply = readJson(path, isRecord);
  if (reply !== null) removeIfThere(disk, path);
  return reply;
}

/**
 * Waits until a scheduler has taken an order; false if it does not, because none is at work any more. The order stays:
 * the next one takes it.
 */
export async function waitUntilTaken(
  { home }: OrderPorts,
  epic: EpicId,
  id: string,
  isActive: () => boolean,
): Promise<boolean> {
  const path = join(folderOf(home, epic), nameFile(id, '.json'));
  while (statIfThere(path) !== null) {
    if (!isActive()) return statIfThere(path) === null;
    await sleep(25);
  }
  return true;
}
