import type { Stored } from '../checkpoint/store.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { removeIfThere } from '../system/files.ts';
import { describeLeft } from '../system/process-table.ts';
import type { EpicId, Millis, SessionId } from '../types.ts';
import { count } from '../units.ts';
import { type AgentLink, findLinks, readLink, removeLink } from './agent-link.ts';
import { readView } from './context.ts';
import { type KnownSession, listSessions } from './fate.ts';
import { journalFolder, journalPath } from './journal.ts';
import type { JournalHeader } from './journal-record.ts';
import { createJournal } from './journal-write.ts';
import { endLeftovers, type Leftovers } from './leftovers.ts';
import { checkLive, listLive, readLive, removeLive } from './live.ts';
import { record, type SessionPorts } from './record.ts';
import type { SessionSettings } from './settings.ts';

/** A session that was found dead, and brought in. */
export type Recovered = {
  readonly session: SessionId;
  readonly number: number;
  /** When it last recorded anything. */
  readonly seenAt: Millis;
  /** How much came from its journal that was in no checkpoint. */
  readonly events: number;
  /** Processes of its command that still ran, and what is left of them. */
  readonly leftovers: Leftovers;
  readonly checkpoint: Stored | null;
};

/** What became of what it had recorded: `9 events recovered`. */
export function describeRecovered({ events }: Pick<Recovered, 'events'>): string {
  return events === 0 ? 'nothing was lost' : `${count(events, 'event')} recovered`;
}

/**
 * Brings in what interrupted sessions of this clone left. It is an ordinary save: the end of the session is one more
 * fact in its journal, and a checkpoint takes the journal in. Doing it twice is doing it once.
 */
export async function recoverInterrupted(
  ports: SessionPorts,
  epic: EpicId,
  settings: SessionSettings,
  alsoThese: readonly SessionId[] = [],
): Promise<Recovered[]> {
  const before = await readView(ports, epic);
  const isGone = ({ id, fate }: KnownSession) => fate === 'interrupted' || alsoThese.includes(id);
  const recovered: Recovered[] = [];
  for (const { id, value, fate, live } of listSessions(before, ports.home).filter(isGone).reverse()) {
    // Its command; or gates that run after its turns, should what ran them have been killed.
    const mayHaveLeft = live?.command || live?.kind === 'hooked';
    const leftovers =
      fate === 'interrupted' && live && mayHaveLeft
        ? await endLeftovers(live, settings.stopGrace)
        : { found: 0, left: [] };
    // What they recorded on their way out is brought in too.
    const view = await readView(ports, epic);
    const pending = view.pending.filter(({ session }) => session === id).length;
    // The files may have changed since it died; a snapshot of them now would not be what it left.
    const target = { epic, session: id, settings: { ...settings, snapshot: false } };
    const header = { epic, session: id, writer: value.writer };
    if (!view.journals.some(({ session }) => session === id)) await beginAgain(ports, header);
    let events = pending;
    const end = async (told: readonly Fact[], used: readonly Fact[]) => {
      events = pending + told.length;
      const reason = `Session ${value.number} was interrupted; ${describeRecovered({ events })}${describeLeft(leftovers.left)}`;
      const facts: Fact[] = [...told, ...used, { kind: 'session_recovered', reason }];
      return record(ports, target, facts, { trigger: 'recovery', reason });
    };
    // Its agent may have gone on after the last look.
    const link = readLink(ports.home, id);
    const { stored } = link ? await readRest(ports, link, view.state, end) : await end([], []);
    removeLink(ports.disk, ports.home, id);
    const { number, seenAt } = value;
    recovered.push({ session: id, number, seenAt, events, leftovers, checkpoint: stored });
  }
  for (const live of listLive(ports.home).filter((record) => record.epic === epic)) {
    if (!alsoThese.includes(live.session) && checkLive(live) !== 'dead') continue;
    removeLive(ports.disk, ports.home, live.session);
    // One in which nothing had happened yet was not recovered.
    removeLink(ports.disk, ports.home, live.session);
  }
  return recovered;
}

export type Settled = {
  readonly link: AgentLink | null;
  /** What was brought in for it. */
  readonly recovered: readonly (Recovered & { readonly epic: EpicId })[];
};

/**
 * The session at work in an agent's conversation; null where there is none. One that died in it is brought in now: once
 * the conversation goes on elsewhere, nobody could tell any more what of it that session had used.
 */
export async function settleConversation(
  ports: SessionPorts,
  agentSession: string,
  settings: SessionSettings,
): Promise<Settled> {
  const recovered: (Recovered & { readonly epic: EpicId })[] = [];
  for (const link of findLinks(ports.home, agentSession)) {
    const live = readLive(ports.home, link.session);
    if (live && checkLive(live) !== 'dead') return { link, recovered };
    const { epic } = link;
    recovered.push(...(await recoverInterrupted(ports, epic, settings)).map((dead) => ({ ...dead, epic })));
    removeLink(ports.disk, ports.home, link.session);
  }
  return { link: null, recovered };
}

/** Reads what an agent did and used that is not recorded yet; `end` records it. */
async function readRest<T>(
  ports: SessionPorts,
  link: AgentLink,
  state: State,
  end: (told: readonly Fact[], used: readonly Fact[]) => Promise<T>,
): Promise<T> {
  const [{ readMeters }, { nameTasks, noHook, withTold }] = await Promise.all([
    import('./agent-meter.ts'),
    import('./agent-told.ts'),
  ]);
  const used = await readMeters(ports, link, state);
  return withTold(ports, link, noHook, (told) => end(nameTasks(told, state), used));
}

/** A checkpoint can be faster than the journal it read; a power loss then leaves a session without a readable one. */
async function beginAgain({ disk, home }: SessionPorts, header: JournalHeader): Promise<void> {
  removeIfThere(disk, journalPath(journalFolder(home), header.session));
  await createJournal(disk, journalFolder(home), header, []);
}
