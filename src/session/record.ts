import { join } from 'node:path';
import type { Draft } from '../checkpoint/compose.ts';
import { type Stored, save } from '../checkpoint/store.ts';
import type { StorePorts, Tip } from '../checkpoint/tip.ts';
import { parseSessionId } from '../ids.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { readTextIfThere, writeAll } from '../system/files.ts';
import { cleanText } from '../text.ts';
import type { EpicId, Millis, SessionId, Trigger, WriterId } from '../types.ts';
import { cleanFacts } from './clean.ts';
import { beginJournal, journalFolder } from './journal.ts';
import { type Pending, readPending, releaseFolded, withJournal } from './pending.ts';

export type SessionPorts = StorePorts & {
  /** Asked for only when something is to be written. */
  readonly identifyWriter: () => Promise<WriterId>;
};

export type SaveRequest = {
  readonly trigger: Trigger;
  readonly reason: string | null;
  readonly facts: readonly Fact[];
  readonly agent: string | null;
};

/** How often git is asked to pack what we wrote. */
const tidyInterval: Millis = 3_600_000;

/**
 * Saves a checkpoint where no session runs: opens one for the call and pauses it.
 * The facts are durable in the session's journal before the checkpoint is tried.
 */
export async function saveByHand(ports: SessionPorts, epic: EpicId, request: SaveRequest): Promise<Stored> {
  const clean = { ...request, facts: await cleanFacts(request.facts) };
  const writer = await ports.identifyWriter();
  const folder = journalFolder(ports.home);
  const session = parseSessionId(`sess-${ports.random.id(6)}`);
  const head = await ports.git.readHead();
  let durable: Promise<void> | null = null;
  let pending: Pending = { events: [], journals: [], torn: 0 };
  const stored = await save(ports, epic, async (tip): Promise<Draft> => {
    if (durable === null) {
      const before = readPending(folder, epic, tip.state);
      ({ durable } = await beginAndPause(ports, { epic, session, writer }, tip, before, clean));
      pending = withJournal(before, folder, session);
    } else pending = readPending(folder, epic, tip.state);
    const at = ports.clock.now();
    const { trigger, reason } = request;
    return {
      sessionId: session,
      writer,
      trigger,
      reason,
      events: pending.events,
      journals: pending.journals.map((journal) => journal.session),
      durable,
      at,
      head,
      snapshot: null,
      gates: 'unknown',
    };
  });
  const last = stored.at(-1);
  if (last === undefined) throw new Error('a draft was made, and no checkpoint of it');
  await cleanUp(ports, last.base.state, pending);
  return last;
}

/** A whole session in one write: it began, this happened, it paused. */
async function beginAndPause(
  ports: SessionPorts,
  header: { epic: EpicId; session: SessionId; writer: WriterId },
  { state }: Tip,
  pending: Pending,
  { facts, agent, reason }: SaveRequest,
): Promise<{ durable: Promise<void> }> {
  const all: Fact[] = [
    { kind: 'session_started', number: nextNumber(state, pending), agent, parentSessionId: null },
    { kind: 'session_running' },
    ...facts,
    { kind: 'session_paused', reason: reason && cleanText(reason) },
  ];
  const at = liftedTime(ports.clock.now(), state, pending);
  const records = all.map((fact) => ({ at, fact }));
  return beginJournal(ports.disk, journalFolder(ports.home), header, records);
}

/** A time above everything this writer has seen: its last word wins, even when its clock was set back. */
export function liftedTime(now: Millis, state: State, { events }: Pending): Millis {
  return events.reduce((latest, { at }) => Math.max(latest, at + 1), Math.max(now, state.clock + 1));
}

function nextNumber(state: State, { events }: Pending): number {
  const numbers = Object.values(state.sessions).map(({ value }) => value.number);
  for (const { fact } of events) if (fact.kind === 'session_started') numbers.push(fact.number);
  return Math.max(0, ...numbers) + 1;
}

/** What can wait until the checkpoint is durable; if it fails, the checkpoint still stands. */
async function cleanUp(ports: SessionPorts, before: State, { journals }: Pending): Promise<void> {
  try {
    releaseFolded(ports.disk, journalFolder(ports.home), before, journals);
    await tidyNowAndThen(ports);
  } catch (error) {
    ports.report(`upkeep failed: ${error instanceof Error ? error.message : error}`);
  }
}

async function tidyNowAndThen({ disk, clock, git, home }: SessionPorts): Promise<void> {
  const stamp = join(home, 'tidied');
  const last = readTextIfThere(stamp);
  const now = clock.now();
  if (last !== null && Math.abs(now - Number(last)) < tidyInterval) return;
  const fd = disk.open(stamp, 'w', 0o644);
  try {
    writeAll(disk, fd, Buffer.from(String(now)));
  } finally {
    disk.close(fd);
  }
  if (last !== null) await git.tidy();
}
