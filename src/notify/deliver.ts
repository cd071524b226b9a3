import type { Receiver } from '../config/load.ts';
import { messageOf } from '../errors.ts';
import { groupBy } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { drawFraction, sleepUnlessAborted } from '../system/clock.ts';
import { statIfThere } from '../system/disk.ts';
import { tryLock } from '../system/lock.ts';
import type { Millis } from '../types.ts';
import { decideDelivery } from './decide-delivery.ts';
import type { Happening } from './notice.ts';
import { notify } from './notify.ts';
import {
  type Entry,
  forgetOld,
  lockPath,
  nameEntry,
  outboxFolder,
  readEntry,
  readOutbox,
  writeEntry,
} from './outbox.ts';
import { sendTo, timeout } from './send.ts';

/*
 * Delivers what is due. An entry is sent by the process that holds its lock, which reads it again first: so one that was
 * acknowledged is never sent again, and only a crash between an acknowledgement and its note repeats one, with the same id.
 */

/** Changes an entry under its lock; returns false if another process holds that. */
export function changeEntry(
  orch: Orch,
  entry: Entry,
  change: (found: Entry) => Promise<void>,
): Promise<boolean> {
  const name = nameEntry(entry);
  return tryLock(orch, lockPath(orch.home, name), async () => {
    const found = readEntry(orch.home, name);
    if (found !== null) await change(found);
  });
}

/** Tries to deliver an entry, if it is due and no other process is at it. */
async function deliver(orch: Orch, receivers: readonly Receiver[], due: Entry): Promise<void> {
  await changeEntry(orch, due, async (found) => {
    if (!isDue(found, orch.clock.now())) return;
    const receiver = receivers.find(({ name }) => name === found.receiver);
    if (receiver === undefined) return;
    // Counted first, so that an attempt which a crash cuts off is one too.
    const begun = { ...found, attempts: found.attempts + 1 };
    await writeEntry(orch, begun);
    const result = await sendTo(orch, receiver, found.notice, found.attempts === 0);
    await writeEntry(orch, decideDelivery(begun, result, orch.clock.now(), drawFraction(orch.random)));
  });
}

function isDue({ state, at }: Entry, now: Millis): boolean {
  return state === 'queued' && at <= now;
}

/** Another worktree may have other settings: what is for its receivers is left to it. */
function isFor(receivers: readonly Receiver[], { receiver }: Entry): boolean {
  return receivers.some(({ name }) => name === receiver);
}

/** Tries each entry that is due once; a slow receiver holds up only what is meant for it. */
export async function deliverDue(orch: Orch): Promise<void> {
  const { notify: receivers } = await orch.readConfig();
  const now = orch.clock.now();
  const due = readOutbox(orch.home).filter((entry) => isDue(entry, now) && isFor(receivers, entry));
  const began = orch.clock.elapsed();
  await Promise.all(
    [...groupBy(due, ({ receiver }) => receiver).values()].map(async (entries) => {
      for (const entry of entries)
        if (orch.clock.elapsed() - began < timeout) await deliver(orch, receivers, entry);
    }),
  );
}

/** How often to look whether anything was queued: the time of a folder that rarely changes. */
const lookEvery: Millis = 250;
const forgetEvery: Millis = 3_600_000;

export type Delivery = {
  /** Queues a notice, without waiting for the disk. */
  note(happening: Happening): void;
  /** Tries what is left once more, and stops. */
  close(): Promise<void>;
};

/** Delivers what is queued in this clone, by this process and others, until it is closed. */
export async function openDelivery(orch: Orch): Promise<Delivery> {
  const { notify: receivers } = await orch.readConfig();
  if (receivers.length === 0) return { note: () => {}, close: async () => {} };
  const over = new AbortController();
  let noted = Promise.resolve();
  const ended = watchOutbox(orch, receivers, over.signal)
    // With an entry that cannot be written, another attempt could repeat what was acknowledged.
    .catch((error) => orch.report(`notices are no longer sent from here: ${messageOf(error)}`));
  return {
    note: (happening) => {
      noted = noted.then(() => notify(orch, happening));
    },
    close: async () => {
      await noted;
      over.abort();
      await ended;
    },
  };
}

async function watchOutbox(orch: Orch, receivers: readonly Receiver[], over: AbortSignal): Promise<void> {
  const { home, clock } = orch;
  const known: Parameters<typeof readOutbox>[1] = new Map();
  const busy = new Map<string, Promise<void>>();
  let failure: { readonly error: unknown } | null = null;
  let [seen, entries, forgotAt] = ['', [] as readonly Entry[], Number.NEGATIVE_INFINITY];

  /** What is due for one receiver, in its order. */
  async function work(mine: readonly Entry[]): Promise<void> {
    for (const entry of mine) if (!over.aborted) await deliver(orch, receivers, entry);
  }

  while (!over.aborted && failure === null) {
    if (clock.elapsed() - forgotAt > forgetEvery) {
      forgotAt = clock.elapsed();
      forgetOld(orch, clock.now());
    }
    const mark = String(statIfThere(outboxFolder(home))?.mtimeMs);
    if (mark !== seen) entries = readOutbox(home, known).filter((entry) => isFor(receivers, entry));
    seen = mark;
    const due = entries.filter((entry) => isDue(entry, clock.now()) && !busy.has(entry.receiver));
    for (const [receiver, mine] of groupBy(due, (entry) => entry.receiver)) {
      const working = work(mine)
        .catch((error: unknown) => {
          failure = { error };
        })
        .finally(() => busy.delete(receiver));
      busy.set(receiver, working);
    }
    await sleepUnlessAborted(lookEvery, over);
  }
  // At once, so that the last notices do not wait for a receiver that is slow.
  await Promise.all([...busy.values(), ...(failure === null ? [deliverDue(orch)] : [])]);
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
}
