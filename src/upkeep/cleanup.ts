import { measureReachable } from '../git/storage.ts';
import { journalFolder, restoreHalfReleased } from '../session/journal.ts';
import type { Oid } from '../types.ts';
import { type CleanupPorts, readCleanupFacts } from './cleanup-facts.ts';
import { type Judgement, planCleanup, type Retention } from './cleanup-plan.ts';
import { removeThings } from './cleanup-remove.ts';
import type { Thing } from './cleanup-types.ts';

export type Cleanup = {
  /** How many things were looked at. */
  readonly scanned: number;
  readonly removed: readonly Judgement[];
  readonly kept: readonly Judgement[];
  /** Of the files that were removed. */
  readonly fileBytes: number;
  /** Of the objects no ref leads to any more: an estimate, which git frees when it next collects garbage. */
  readonly gitBytes: number | null;
  readonly dryRun: boolean;
};

/**
 * Removes what is past its retention: what is over is looked at, then it is decided, then it is carried out, each
 * only if it is still as it was seen. So it can be interrupted anywhere, and run twice at once.
 */
export async function cleanUpStorage(
  ports: CleanupPorts,
  retention: Retention,
  dryRun: boolean,
): Promise<Cleanup> {
  if (!dryRun) restoreHalfReleased(ports.disk, journalFolder(ports.home));
  const { things, ...facts } = await readCleanupFacts(ports);
  const judged = planCleanup({ ...facts, things }, retention, ports.clock.now());
  const planned = judged.filter(({ isRemoved }) => isRemoved);
  const kept = judged.filter(({ isRemoved }) => !isRemoved);
  // Measured before: what is gone cannot be asked any more.
  const gitBytes = await measureFreed(ports, planned);
  const removed: Judgement[] = [];
  const results = dryRun
    ? null
    : await removeThings(
        ports,
        planned.map(({ thing }) => thing),
      );
  for (const judgement of planned) {
    const stays = results?.get(judgement.thing) ?? null;
    if (stays === null) removed.push(judgement);
    else kept.push({ ...judgement, isRemoved: false, why: stays });
  }
  const fileBytes = removed.reduce((sum, { thing }) => sum + bytesOf(thing), 0);
  return { scanned: judged.length, removed, kept, fileBytes, gitBytes, dryRun };
}

function bytesOf(thing: Thing): number {
  return 'file' in thing ? thing.file.bytes : 0;
}

/** An epic that goes to the trash can still be reached there, and frees nothing. */
async function measureFreed(
  { git, repository }: CleanupPorts,
  planned: readonly Judgement[],
): Promise<number | null> {
  const gone = new Map<string, Oid>();
  for (const { thing } of planned)
    if (thing.kind === 'snapshots' || thing.kind === 'trash' || thing.kind === 'undo')
      gone.set(thing.ref, thing.oid);
  if (gone.size === 0) return 0;
  if (git.name !== 'native') return null;
  const refs = [...(await git.listRefs('refs/'))].filter(([ref]) => !gone.has(ref)).map(([, oid]) => oid);
  const { commit } = await git.readHead();
  return measureReachable(repository, [...gone.values()], commit ? [...refs, commit] : refs);
}
