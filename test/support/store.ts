import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noUsage } from '../../src/cost/ledger.ts';
import { readPath } from '../../src/git/objects/read-objects.ts';
import { parseEpicId, parseWriterId } from '../../src/ids.ts';
import { listCheckpoints, loadCheckpoint, verifyCheckpoints } from '../../src/index.ts';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import { type Orch, type OrchOptions, openOrch } from '../../src/orch.ts';
import { saveByHand } from '../../src/session/calls.ts';
import type { Event, Fact } from '../../src/state/facts.ts';
import type { Clock } from '../../src/system/clock.ts';

export const epic = parseEpicId('e');
export const writer = parseWriterId('w-test');
export { readPath };

export const note = (id: string): Fact => ({ kind: 'note', id, text: `note ${id}` });
export const cost = (micros: number): Fact => ({ kind: 'cost', model: null, usage: { ...noUsage, micros } });

/** Opens a repository, works there, and closes it. */
export async function withOrch<T>(options: OrchOptions, work: (orch: Orch) => Promise<T>): Promise<T> {
  const orch = await openOrch({ writer, ...options });
  try {
    return await work(orch);
  } finally {
    orch.close();
  }
}

/** Saves a checkpoint with facts, as `checkpoint create` does. */
export async function saveFacts(options: OrchOptions, facts: readonly Fact[]): Promise<number> {
  return withOrch(options, async (orch) => {
    const request = { trigger: 'manual' as const, reason: null, facts, agent: null };
    // Snapshots have crash tests of their own; here each would start gits that nobody kills.
    const { document } = await saveByHand(orch, epic, request, { ...defaultSettings, snapshot: false });
    return document.seq;
  });
}

export type Found = {
  /** The ids of the notes in each checkpoint's own events, oldest first. */
  readonly notes: string[];
  readonly costUsd: number;
  readonly seqs: number[];
  readonly damaged: number;
};

/** Everything the epic's history says was recorded. */
export async function readBack(options: OrchOptions): Promise<Found> {
  return withOrch(options, async (orch) => {
    const checkpoints = [...(await listCheckpoints(epic, {}, orch))].reverse();
    const events: Event[] = [];
    let costUsd = 0;
    for (const { id } of checkpoints) {
      const { document } = await loadCheckpoint(epic, id, orch);
      events.push(...document.events);
      costUsd = document.costUsd;
    }
    const { damaged } = await verifyCheckpoints(epic, orch);
    return {
      notes: events.flatMap(({ fact }) => (fact.kind === 'note' ? [fact.id] : [])),
      costUsd,
      seqs: checkpoints.map(({ seq }) => seq),
      damaged: damaged.length,
    };
  });
}

/** After a death that was only played: makes the lock's holder one that is really gone. */
export function buryLockHolders(folder: string): void {
  const locks = join(folder, '.git', 'orchestration', 'locks');
  try {
    for (const name of readdirSync(locks)) {
      const path = join(locks, name);
      writeFileSync(path, readFileSync(path, 'utf8').replace(/"pid":\d+/, '"pid":4194999'));
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

/** A clock on which ten seconds of waiting pass quickly. */
export function makeFastClock(start = 1_800_000_000_000): Clock {
  let at = start;
  const tick = () => {
    at += 1_000;
    return at;
  };
  return { now: tick, elapsed: tick };
}
