import { listBeside } from '../checkpoint/beside.ts';
import { keptRuns, runOfPath } from '../checkpoint/run-files.ts';
import { type EpicView, readView } from '../session/context.ts';
import { placeFor, recordIn } from '../session/here.ts';
import { defaultSettings } from '../session/settings.ts';
import { readCurrent } from '../state/current.ts';
import { readRuns } from '../state/run.ts';
import type { EpicId } from '../types.ts';
import { count } from '../units.ts';
import type { CleanupPorts } from './cleanup-facts.ts';
import type { Thing } from './cleanup-types.ts';

type RunThing = Extract<Thing, { kind: 'run' }>;

/** The runs that keep files in the newest checkpoint of an epic. */
export async function listRunThings({ git }: CleanupPorts, view: EpicView): Promise<Thing[]> {
  const { epic, state, saved } = view;
  const runs = keptRuns(state);
  if (saved === null || runs.size === 0) return [];
  const inTree = (await listBeside(git, saved.commit.tree, epic)).map(runOfPath);
  return [...runs].flatMap(([run, { head }]): Thing[] => {
    const files = inTree.filter((id) => id === run).length;
    const { plan, status, endedAt, at } = head;
    return files === 0 ? [] : [{ kind: 'run', epic, run, plan, status, files, at: endedAt ?? at, seen: at }];
  });
}

/**
 * Takes the files of runs out of the tree, in one checkpoint an epic; they stay in the history, and what is known of
 * the runs stays in the state. Says of each why it stays after all, or null.
 */
export async function clearRuns(
  ports: CleanupPorts,
  things: readonly Thing[],
): Promise<ReadonlyMap<Thing, string | null>> {
  const results = new Map<Thing, string | null>();
  const byEpic = new Map<EpicId, RunThing[]>();
  for (const thing of things)
    if (thing.kind === 'run') byEpic.set(thing.epic, [...(byEpic.get(thing.epic) ?? []), thing]);
  for (const [epic, runs] of byEpic) {
    const { state } = await readView(ports, epic);
    const now = keptRuns(state);
    const asSeen = runs.filter(({ run, seen }) => now.get(run)?.head.at === seen);
    for (const thing of runs) results.set(thing, asSeen.includes(thing) ? null : 'it changed meanwhile');
    if (asSeen.length === 0) continue;
    const known = readRuns(state.runs);
    const before = Object.entries(readCurrent(state, 'clearedRuns') ?? {}).filter(([run]) => known.has(run));
    const fresh = asSeen.map(({ run, seen }) => [run, Math.max(seen, ports.clock.now())] as const);
    const value = Object.fromEntries([...before, ...fresh]);
    const place = placeFor(ports, epic, { ...defaultSettings, snapshot: false }, null);
    const reason = `Cleaned up after ${count(asSeen.length, 'run')}`;
    await recordIn(ports, place, [{ kind: 'current_set', key: 'clearedRuns', value }], {
      trigger: 'manual',
      reason,
    });
  }
  return results;
}
