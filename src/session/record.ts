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
import { type Pending, readPending, releaseFolded } from './pending.ts';

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
  const stored = await save(ports, epic, async (tip): Promise<Draft> => {
    durable ??= (await beginAndPause(ports, { epic, session, writer }, tip, clean)).durable;
    const { events, journals } = readPending(folder, epic, tip.state);
    const at = ports.clock.now();
    const { trigger, reason } = request;
    return {
      sessionId: session,
      writer,
      trigger,
      reason,
      events,
      journals,
      durable,
      at,
      head,
      snapshot: null,
      gates: 'unknown',
    };
  });
  const last = stored.at(-1);
  if (last === undefined) throw new Error('a draft was made, and no checkpoint of it');
  await cleanUp(ports, epic, last.base.state);
  return last;
}

/** A whole session in one write: it began, this happened, it paused. */
async function beginAndPause(
  ports: SessionPorts,
  header: { epic: EpicId; session: SessionId; writer: WriterId },
  { state }: Tip,
  { facts, agent, reason }: SaveRequest,
): Promise<{ durable: Promise<void> }> {
  const folder = journalFolder(ports.home);
  const pending = readPending(folder, header.epic, state);
  const all: Fact[] = [
    { kind: 'session_started', number: nextNumber(state, pending), agent, parentSessionId: null },
    { kind: 'session_running' },
    ...facts,
    { kind: 'session_paused', reason: reason && cleanText(reason) },
  ];
  const at = liftedTime(ports.clock.now(), state, pending);
  const records = all.map((fact) => ({ at, fact }));
  return beginJournal(ports.disk, folder, header, records);
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
async function cleanUp(ports: SessionPorts, epic: EpicId, before: State): Promise<void> {
  try {
    releaseFolded(ports.disk, journalFolder(ports.home), epic, before);
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
