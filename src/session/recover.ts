import type { Stored } from '../checkpoint/store.ts';
import { createJournal } from '../journal/append.ts';
import type { JournalHeader } from '../journal/journal-format.ts';
import { checkLive, listLive, readLive, removeLive } from '../journal/live.ts';
import { journalFolder, journalPath } from '../journal/read.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import type { SessionPorts } from '../record/ports.ts';
import { record } from '../record/record.ts';
import { type KnownSession, listSessions } from '../record/sessions.ts';
import { readView } from '../record/view.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { removeIfThere } from '../system/disk.ts';
import { describeRemaining } from '../system/process/process-table.ts';
import type { EpicId, Millis, SessionId } from '../types.ts';
import { count } from '../units.ts';
import { type AgentLink, findLinks, readLink, removeLink } from './agent/agent-link.ts';
import { type EndedProcesses, endSessionProcesses } from './session-processes.ts';

/** An interrupted session that was recovered. */
export type Recovered = {
  readonly session: SessionId;
  readonly number: number;
  /** When it last recorded anything. */
  readonly seenAt: Millis;
  /** How many events of its journal were in no checkpoint. */
  readonly events: number;
  /** Processes of its command that were still running, and those that could not be ended. */
  readonly leftovers: EndedProcesses;
  readonly checkpoint: Stored | null;
};

/** Describes what was recovered: `9 events recovered`. */
export function describeRecovered({ events }: Pick<Recovered, 'events'>): string {
  return events === 0 ? 'nothing was lost' : `${count(events, 'event')} recovered`;
}

/**
 * Recovers the interrupted sessions of this clone: ends what still runs of them, and saves their journals in a
 * checkpoint. It is an ordinary save, in which the session's end is one more fact, so repeating it changes nothing.
 */
export async function recoverInterrupted(
  ports: SessionPorts,
  epic: EpicId,
  settings: SessionSettings,
  alsoThese: readonly SessionId[] = [],
): Promise<Recovered[]> {
  const before = await readView(ports, epic);
  const isGone = ({ id, condition }: KnownSession) => condition === 'interrupted' || alsoThese.includes(id);
  const recovered: Recovered[] = [];
  for (const { id, value, condition, live } of listSessions(before, ports.home).filter(isGone).reverse()) {
    // A hooked session may have left gates running, if the process that ran them was killed.
    const mayHaveProcesses = live?.command || live?.kind === 'hooked';
    const leftovers =
      condition === 'interrupted' && live && mayHaveProcesses
        ? await endSessionProcesses(live, settings.stopGrace)
        : { found: 0, left: [] };
    // Read now, to include what they recorded while they ended.
    const view = await readView(ports, epic);
    const pending = view.pending.filter(({ session }) => session === id).length;
    // The files may have changed since it died, so they are no snapshot of its work.
    const withoutTree = { ...settings, snapshot: false };
    const target = { kind: 'running' as const, epic, session: id, settings: withoutTree };
    const header = { epic, session: id, writer: value.writer };
    if (!view.journals.some(({ session }) => session === id)) await beginAgain(ports, header);
    let events = pending;
    const end = async (done: readonly Fact[], used: readonly Fact[]) => {
      events = pending + done.length;
      const reason = `Session ${value.number} was interrupted; ${describeRecovered({ events })}${describeRemaining(leftovers.left)}`;
      const facts: Fact[] = [...done, ...used, { kind: 'session_recovered', reason }];
      return record(ports, target, facts, { trigger: 'recovery', reason });
    };
    // Its agent may have worked after the last time its files were read.
    const link = readLink(ports.home, id);
    const { stored } = link ? await readRest(ports, link, view.state, end) : await end([], []);
    removeLink(ports.disk, ports.home, id);
    const { number, seenAt } = value;
    recovered.push({ session: id, number, seenAt, events, leftovers, checkpoint: stored });
  }
  for (const live of listLive(ports.home).filter((record) => record.epic === epic)) {
    if (!alsoThese.includes(live.session) && checkLive(live) !== 'dead') continue;
    removeLive(ports.disk, ports.home, live.session);
    // A session in which nothing had happened yet was not recovered above, but still has its link.
    removeLink(ports.disk, ports.home, live.session);
  }
  return recovered;
}

export type RecoveredConversation = {
  readonly link: AgentLink | null;
  readonly recovered: readonly (Recovered & { readonly epic: EpicId })[];
};

/**
 * Finds the running session of an agent's conversation; null where there is none. Sessions that died in it are recovered
 * now: once another session continues the conversation, their share of its usage can no longer be determined.
 */
export async function recoverConversation(
  ports: SessionPorts,
  agentSession: string,
  settings: SessionSettings,
): Promise<RecoveredConversation> {
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

/** Reads what an agent did and used beyond what is recorded, and records it with `end`. */
async function readRest<T>(
  ports: SessionPorts,
  link: AgentLink,
  state: State,
  end: (done: readonly Fact[], used: readonly Fact[]) => Promise<T>,
): Promise<T> {
  const [{ readMeters }, { nameTasks, nothingReported, withToolFacts }] = await Promise.all([
    import('./agent/meter-session.ts'),
    import('./agent/tool-facts.ts'),
  ]);
  const used = await readMeters(ports, link, state);
  return withToolFacts(ports, link, nothingReported, (done) => end(nameTasks(done, state), used));
}

/** A power loss can keep a checkpoint and lose the journal it was made from: the session gets a new journal. */
async function beginAgain({ disk, home }: SessionPorts, header: JournalHeader): Promise<void> {
  removeIfThere(disk, journalPath(journalFolder(home), header.session));
  await createJournal(disk, journalFolder(home), header, []);
}
