import type { NoticeKind } from '../config/load.ts';
import { configFile } from '../config/load.ts';
import { OrchError } from '../errors.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import type { EpicId } from '../types.ts';
import { formatInstant } from '../units.ts';
import { using, type Where } from '../where.ts';
import { decideDelivery } from './decide-delivery.ts';
import { changeEntry, deliverDue } from './deliver.ts';
import { makeId } from './notice.ts';
import { type Entry, readOutbox, writeEntry } from './outbox.ts';
import { sendTo } from './send.ts';

/** A notice that was not delivered yet, or could not be. */
export type NoticeInfo = {
  readonly id: string;
  readonly receiver: string;
  readonly state: 'queued' | 'dead';
  readonly kind: NoticeKind | 'test';
  readonly epicId: EpicId;
  readonly task: string | null;
  readonly text: string;
  readonly at: string;
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly reason: string | null;
  /** When the next attempt is due; null if there is none. */
  readonly nextAt: string | null;
};

export type Notices = {
  /** Who hears of what, among those that are approved. */
  readonly receivers: readonly { readonly name: string; readonly on: readonly NoticeKind[] }[];
  readonly notices: readonly NoticeInfo[];
};

/** Lists the notices that wait to be delivered, and those that could not be, oldest first. */
export function listNotices(where: Where = {}): Promise<Notices> {
  return using(where, async (orch) => {
    const { notify: receivers } = await orch.readConfig();
    return {
      receivers: receivers.map(({ name, on }) => ({ name, on })),
      notices: await describeOpen(orch),
    };
  });
}

function listOpen({ home }: Pick<Orch, 'home'>): Entry[] {
  return readOutbox(home).filter(({ state }) => state === 'queued' || state === 'dead');
}

/** How many notices could not be delivered. */
export function countDead(home: string): number {
  return readOutbox(home).filter(({ state }) => state === 'dead').length;
}

async function describeOpen(orch: Orch): Promise<NoticeInfo[]> {
  const names = (await orch.readConfig()).notify.map(({ name }) => name);
  return listOpen(orch).map((entry) => describe(entry, names.includes(entry.receiver)));
}

const unknown = 'no such receiver is configured here, or it is not approved';

function describe({ notice, receiver, state, at, attempts, reason }: Entry, isKnown: boolean): NoticeInfo {
  const { id, kind, epic, task = null, text } = notice;
  return {
    ...{ id, receiver, state: state === 'dead' ? state : 'queued', kind, epicId: epic, task, text },
    ...{ at: formatInstant(notice.at), attempts, reason: isKnown || state === 'dead' ? reason : unknown },
    nextAt: state === 'queued' ? formatInstant(at) : null,
  };
}

export type TestedReceiver = {
  readonly receiver: string;
  readonly id: string;
  readonly isDelivered: boolean;
  readonly reason: string | null;
};

/** Sends a test notice to a receiver, once and at once. */
export function testReceiver(name: string, where: Where = {}): Promise<TestedReceiver> {
  return using(where, async (orch) => {
    const { notify: receivers } = await orch.readConfig();
    const receiver = receivers.find((one) => one.name === name);
    if (receiver === undefined) throw await explainUnknown(orch, name);
    const at = orch.clock.now();
    const text = `This is a test of the receiver ${name}.`;
    const notice = { id: makeId([at, orch.random.id(8)]), kind: 'test', at, epic: testEpic, text } as const;
    const result = await sendTo(orch, receiver, notice, true);
    const entry = { notice, receiver: name, state: 'queued', at, attempts: 1, reason: null } as const;
    const { state, reason } = decideDelivery(entry, result, at, 0);
    return { receiver: name, id: notice.id, isDelivered: state === 'sent', reason };
  });
}

const testEpic = parseEpicId('test');

async function explainUnknown(orch: Orch, name: string): Promise<OrchError> {
  const unapproved = await orch.listUnapproved();
  if (unapproved.some(({ key }) => key === `notify.${name}`))
    return new OrchError('USAGE', `the receiver ${name} in ${configFile} is not used until you approve it`, {
      hint: 'Review it and decide: orch init --no-claude --no-codex',
    });
  const { notify: receivers } = await orch.readConfig();
  const names = receivers.map((one) => one.name).join(', ');
  return new OrchError('USAGE', `there is no receiver ${name} in ${configFile}`, {
    hint: names === '' ? `It has none; add one to notify: in ${configFile}` : `It has: ${names}`,
  });
}

/** What became of notices that were queued again: those that were not delivered are listed. */
export type Replayed = { readonly replayed: number; readonly notices: readonly NoticeInfo[] };

/** Queues notices again that could not be delivered, and sends what is due. With an id, one that waits too. */
export function replayNotices(id: string | null, where: Where = {}): Promise<Replayed> {
  return using(where, async (orch) => {
    const chosen = choose(orch, id).filter(({ state }) => id !== null || state === 'dead');
    for (const entry of chosen)
      await changeEntry(orch, entry, async (found) => {
        const at = orch.clock.now();
        if (found.state === 'dead')
          await writeEntry(orch, { ...found, state: 'queued', at, attempts: 0, reason: null });
        else if (found.state === 'queued') await writeEntry(orch, { ...found, at });
      });
    await deliverDue(orch);
    return { replayed: chosen.length, notices: await describeOpen(orch) };
  });
}

/** Gives up notices that were not delivered; returns how many. */
export function dropNotice(id: string, where: Where = {}): Promise<number> {
  return using(where, async (orch) => {
    let dropped = 0;
    for (const entry of choose(orch, id))
      await changeEntry(orch, entry, async (found) => {
        if (found.state !== 'dead' && found.state !== 'queued') return;
        await writeEntry(orch, { ...found, state: 'dropped', at: orch.clock.now() });
        dropped += 1;
      });
    return dropped;
  });
}

function choose(orch: Orch, id: string | null): Entry[] {
  const open = listOpen(orch);
  const chosen = open.filter(({ notice }) => id === null || notice.id === id);
  if (id !== null && chosen.length === 0)
    throw new OrchError('USAGE', `no notice ${id} waits or could not be delivered`, {
      hint: 'See them: orch notify list',
    });
  return chosen;
}
