import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { totalUsage } from '../../src/cost/ledger.ts';
import { listCheckpoints, loadCheckpoint } from '../../src/index.ts';
import { defaultSettings, type SessionSettings } from '../../src/journal/session-settings.ts';
import type { Orch } from '../../src/orch.ts';
import { type Outcome, record } from '../../src/record/record.ts';
import { epicExists, readView } from '../../src/record/view.ts';
import { endSession, type Started, type StartRequest, startSession } from '../../src/session/lifecycle.ts';
import { recoverInterrupted } from '../../src/session/recover.ts';
import { type Event, type Fact, journalOf } from '../../src/state/facts.ts';
import type { Session } from '../../src/state/lists.ts';
import { hasEnded, transition } from '../../src/state/transition.ts';
import type { EpicId, Status } from '../../src/types.ts';
import { buryLockHolders, epic, note } from './store.ts';

/** Sessions that keep no working tree. */
export const withoutTree: SessionSettings = { ...defaultSettings, snapshot: false };

/** Starts a session as a program of its own does. */
export function start(orch: Orch, more: Partial<StartRequest> = {}): Promise<Started> {
  return startSession(orch, {
    epic,
    agent: null,
    budget: null,
    byAgent: false,
    kind: 'library',
    worktree: null,
    command: null,
    settings: withoutTree,
    takeOver: false,
    resume: null,
    ...more,
  });
}

/** Starts the next session: going on from the last one, where there is one. */
export async function goOn(orch: Orch, more: Partial<StartRequest> = {}): Promise<Started> {
  const exists = epicExists(await readView(orch, more.epic ?? epic));
  return start(orch, { ...more, resume: exists ? { checkpoint: null } : null });
}

/** After a death that was only played: the processes that held sessions and locks are gone, or on another machine. */
export function bury(folder: string, host?: string): void {
  buryLockHolders(folder);
  const live = join(folder, '.git', 'orchestration', 'live');
  try {
    for (const name of readdirSync(live)) {
      const path = join(live, name);
      const dead = readFileSync(path, 'utf8').replace(/"pid":\d+/, '"pid":4194999');
      writeFileSync(path, host ? dead.replace(/"host":"[^"]*"/, `"host":"${host}"`) : dead);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

export type History = {
  /** All that was folded, oldest checkpoint first. */
  readonly events: readonly Event[];
  readonly notes: readonly string[];
  readonly micros: number;
  readonly sessions: { readonly [id: string]: Session };
  readonly snapshots: readonly string[];
};

/** What the checkpoints of an epic say, after checking that they do not contradict each other. */
export async function readHistory(orch: Orch, of: EpicId = epic): Promise<History> {
  const events: Event[] = [];
  const snapshots: string[] = [];
  const checkpoints = [...(await listCheckpoints(of, {}, orch))].reverse();
  for (const { id, snapshot } of checkpoints) {
    const { document } = await loadCheckpoint(of, id, orch);
    events.push(...document.events);
    if (snapshot) snapshots.push(snapshot);
  }
  const { state } = await readView(orch, of);
  const micros = totalUsage(state.ledger).micros;
  const places = events.map((event) => `${event.by} ${journalOf(event)} ${event.offset}`);
  expect(new Set(places).size, 'no event is counted twice').toBe(places.length);
  expect(micros, 'the money is what was recorded').toBe(sumOf(events.map(({ fact }) => fact)));
  const sessions: Record<string, Session> = {};
  for (const [id, { value }] of Object.entries(state.sessions)) {
    sessions[id] = value;
    expect(value.status, 'a status follows the table').toBe(
      replay(events.filter(({ session }) => session === id)),
    );
  }
  return { events, notes: notesIn(events), micros, sessions, snapshots };
}

export function notesIn(events: readonly Event[]): string[] {
  return events.flatMap(({ fact }) => (fact.kind === 'note' ? [fact.id] : []));
}

/** What facts cost together, in micro-dollars. */
export function sumOf(facts: readonly Fact[]): number {
  return facts.reduce((sum, fact) => sum + (fact.kind === 'cost' ? fact.usage.micros : 0), 0);
}

/** Where a session's own facts lead. */
export function replay(events: readonly Event[]): Status {
  return events.reduce<Status>((status, { fact }) => transition(status, fact) ?? status, 'initializing');
}

/**
 * Resumes after a death, once and twice, and checks what must hold whatever it came at: all that was acknowledged is
 * there once, the money is right, every session has ended, and recovering again finds nothing to do.
 */
export async function expectRecovery(
  orch: Orch,
  folder: string,
  acknowledged: readonly Fact[],
  possible: readonly Fact[],
): Promise<History> {
  bury(folder);
  let last: Outcome | null = null;
  for (const name of ['once', 'twice']) {
    const { target } = await goOn(orch, { budget: 'none' });
    expect(await recoverInterrupted(orch, epic, withoutTree), 'all was recovered').toEqual([]);
    await record(orch, target, [note(name)]);
    last = await endSession(orch, target, 'pause', null);
  }
  const history = await readHistory(orch);
  const idsOf = (facts: readonly Fact[]) => facts.flatMap((fact) => (fact.kind === 'note' ? [fact.id] : []));
  expect(history.notes).toEqual(expect.arrayContaining([...idsOf(acknowledged), 'once', 'twice']));
  expect(new Set(history.notes).size).toBe(history.notes.length);
  expect([...idsOf(possible), 'once', 'twice']).toEqual(expect.arrayContaining([...history.notes]));
  expect(history.micros).toBeGreaterThanOrEqual(sumOf(acknowledged));
  expect(history.micros).toBeLessThanOrEqual(sumOf(possible));
  for (const { status } of Object.values(history.sessions)) expect(hasEnded(status)).toBe(true);
  expect(Object.keys(last?.state.sessions ?? {}).sort()).toEqual(Object.keys(history.sessions).sort());
  return history;
}
