import { relative } from 'node:path';
import { remotesPrefix } from '../../checkpoint/document/names-in-git.ts';
import { OrchError } from '../../errors.ts';
import { measureReachable } from '../../git/objects/reachable.ts';
import { journalFolder, restoreHalfReleased } from '../../journal/read.ts';
import { cleanLine } from '../../text.ts';
import type { Oid } from '../../types.ts';
import { count, formatInstant } from '../../units.ts';
import { using, type Where } from '../../where.ts';
import { type CleanupPorts, readCleanupFacts } from './cleanup-facts.ts';
import { type CleanupDecision, type CleanupItem, planCleanup, type Retention } from './plan-cleanup.ts';
import { removeItems } from './remove-items.ts';

const day = 86_400_000;

export type CleanUpOptions = {
  /** Returns what would be removed, and removes nothing. */
  readonly dryRun?: boolean;
  /** Keeps snapshots and failed work for this long, whatever the config says. */
  readonly maxAgeDays?: number;
};

export type CleanedUp = ReturnType<typeof describeCleanup>;

/** Removes what is past its retention, and archives epics that were completed long ago. */
export async function cleanUp(options: CleanUpOptions = {}, where: Where = {}): Promise<CleanedUp> {
  const { dryRun = false, maxAgeDays } = options;
  if (maxAgeDays !== undefined && !(Number.isInteger(maxAgeDays) && maxAgeDays >= 0))
    throw new OrchError('USAGE', 'maxAgeDays is a whole number of days', { hint: 'Try { maxAgeDays: 14 }' });
  return using(where, async (orch) => {
    const { retention } = await orch.readConfig();
    const given = maxAgeDays === undefined ? {} : { failed: maxAgeDays * day, snapshots: maxAgeDays * day };
    return describeCleanup(await cleanUpStorage(orch, { ...retention, ...given }, dryRun), orch.home);
  });
}

type Cleanup = {
  /** How many items were checked. */
  readonly scanned: number;
  readonly removed: readonly CleanupDecision[];
  readonly kept: readonly CleanupDecision[];
  /** The size of the removed files. */
  readonly fileBytes: number;
  /** The estimated size of the objects that git frees when it next collects garbage; null if unknown. */
  readonly gitBytes: number | null;
  readonly dryRun: boolean;
};

/**
 * Reads everything that may be removed, decides, and removes each item only if it has not changed since. So a cleanup
 * can be interrupted at any point, and two can run at once.
 */
export async function cleanUpStorage(
  ports: CleanupPorts,
  retention: Retention,
  dryRun: boolean,
): Promise<Cleanup> {
  if (!dryRun) restoreHalfReleased(ports.disk, journalFolder(ports.home));
  const decisions = planCleanup(await readCleanupFacts(ports), retention, ports.clock.now());
  const planned = decisions.filter(({ isRemoved }) => isRemoved);
  const kept = decisions.filter(({ isRemoved }) => !isRemoved);
  // Measured first: removed objects cannot be measured.
  const gitBytes = await measureFreed(ports, planned);
  const items = planned.map(({ item }) => item);
  const problems = dryRun ? null : await removeItems(ports, items);
  const removed: CleanupDecision[] = [];
  for (const decision of planned) {
    const problem = problems?.get(decision.item) ?? null;
    if (problem === null) removed.push(decision);
    else kept.push({ ...decision, isRemoved: false, why: problem });
  }
  const fileBytes = removed.reduce((sum, { item }) => sum + ('file' in item ? item.file.bytes : 0), 0);
  return { scanned: decisions.length, removed, kept, fileBytes, gitBytes, dryRun };
}

/** An epic in the trash is still reachable, so moving it there frees nothing. */
async function measureFreed(
  { git, repository }: CleanupPorts,
  planned: readonly CleanupDecision[],
): Promise<number | null> {
  const gone = new Map<string, Oid>();
  for (const { item } of planned)
    if (item.kind === 'snapshots' || item.kind === 'trash' || item.kind === 'undo')
      gone.set(item.ref, item.oid);
  if (gone.size === 0) return 0;
  if (git.name !== 'native') return null;
  const refs = [...(await git.listRefs('refs/'))].filter(([ref]) => !gone.has(ref)).map(([, oid]) => oid);
  const { commit } = await git.readHead();
  return measureReachable(repository, [...gone.values()], commit ? [...refs, commit] : refs);
}

/** The result as scripts read it. */
function describeCleanup(done: Cleanup, home: string) {
  const describe = ({ item, why }: CleanupDecision) => ({
    ...nameItem(item, home),
    ...('ref' in item && { ref: item.ref }),
    ...('file' in item && { path: item.file.path }),
    reason: why,
    bytes: 'file' in item ? item.file.bytes : null,
  });
  return {
    scanned: done.scanned,
    removed: done.removed.filter(({ item }) => item.kind !== 'completed').map(describe),
    archived: done.removed.flatMap(({ item }) => (item.kind === 'completed' ? [item.epic] : [])),
    kept: done.kept.map(describe),
    bytes: done.fileBytes + (done.gitBytes ?? 0),
    /** What git frees when it next collects garbage; null if unknown. */
    gitBytes: done.gitBytes,
    dryRun: done.dryRun,
  };
}

function nameItem(item: CleanupItem, home: string): { readonly kind: string; readonly name: string } {
  // Files below orch's own folder may have any name.
  const nameFile = (path: string) => cleanLine(relative(home, path), 500);
  switch (item.kind) {
    case 'snapshots': {
      // A session's snapshots may be here twice: this clone's, and those last seen on a remote.
      const side = item.ref.startsWith(remotesPrefix) ? ', as the remote has them' : '';
      return { kind: 'snapshots', name: `${item.epic} ${item.session}${side}` };
    }
    case 'epic':
    case 'completed':
      return { kind: 'epic', name: item.epic };
    case 'trash':
      return { kind: 'trash', name: `${item.epic}, deleted ${formatInstant(item.at).slice(0, 10)}` };
    case 'undo':
      return {
        kind: 'undo',
        name: item.worktree === null ? 'of the main worktree' : `of the worktree ${item.worktree}`,
      };
    case 'run':
      return {
        kind: 'run',
        name: `${item.epic} ${cleanLine(item.plan, 100)}, ${item.run}: ${describeRun(item)} in its tree`,
      };
    case 'trashed_journal':
      return { kind: 'trash', name: nameFile(item.file.path) };
    case 'leftover':
      return { kind: 'leftover', name: `${nameFile(item.file.path)} (${item.what})` };
    default:
      return { kind: item.kind, name: nameFile(item.file.path) };
  }
}

function describeRun({ files, hasRecords }: Extract<CleanupItem, { kind: 'run' }>): string {
  if (files === 0) return 'records';
  return `${count(files, 'file')}${hasRecords ? ' and records' : ''}`;
}
