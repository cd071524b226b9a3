import { type Checkpoint, walkEpic } from '../checkpoint/list.ts';
import { findRemade, readLost } from '../checkpoint/lost-objects.ts';
import { hasCode, OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { findBrokenLink, findMissing } from '../git/objects/reachable.ts';
import { readCommit, readTree } from '../git/objects/read-objects.ts';
import { folderMode, formatPath, submoduleMode } from '../git/objects/tree-object.ts';
import { snapshotRef } from '../git/snapshot/snapshot-message.ts';
import type { Oid } from '../types.ts';
import { count } from '../units.ts';
import type { RestorePorts } from './find-target.ts';

type LookPorts = Pick<RestorePorts, 'git' | 'repository' | 'home'>;

/** How many other checkpoints are searched for complete code: each search reads all of its files. */
const mostSearched = 20;

/**
 * Describes the part of a checkpoint's code that this clone once had and has lost; null if the code is complete, was
 * never here, or was cleaned up.
 */
export async function findLostCode(ports: LookPorts, checkpoint: Checkpoint): Promise<string | null> {
  const { git, repository, home } = ports;
  const { epicId, sessionId } = checkpoint;
  if (checkpoint.snapshot === null || git.name !== 'native') return null;
  const snapshot = findRemade(home, checkpoint.snapshot);
  const ref = snapshotRef(epicId, sessionId);
  const isFromHere = (await git.readRef(ref)) !== null || readLost(home).some((lost) => lost.ref === ref);
  if (!isFromHere || (await findBrokenLink(repository, [snapshot], [], 'alone')) === null) return null;
  return describeMissing(ports, snapshot);
}

/** An error that says which code is lost and which checkpoint near it is complete; null if nothing is lost. */
export async function describeLostCode(
  ports: RestorePorts,
  checkpoint: Checkpoint,
  cause?: unknown,
): Promise<OrchError | null> {
  const missing = await findLostCode(ports, checkpoint);
  if (missing === null) return null;
  const { seq, epicId } = checkpoint;
  const nearest = await findNearestComplete(ports, checkpoint);
  const message = `the code of ckpt ${seq} of ${epicId} is lost in this clone: ${missing}. The record itself is intact`;
  return new OrchError('INTEGRITY', message, {
    hint: nearest
      ? `Nothing was changed. The nearest checkpoint with complete code: orch restore ${nearest.seq} --epic ${epicId} --dry-run`
      : 'Nothing was changed. No checkpoint near it has complete code, but another clone or a backup may.',
    data: { epicId, seq, nearest: nearest?.seq ?? null },
    cause,
  });
}

/** Runs `work`; if it fails because code of these checkpoints is lost, the error says what is lost. */
export async function explainLostCode<T>(
  ports: RestorePorts,
  checkpoints: readonly Checkpoint[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasCode(error, 'GIT_FAILED', 'INTEGRITY')) throw error;
    for (const checkpoint of checkpoints) {
      const lost = await describeLostCode(ports, checkpoint, error);
      if (lost !== null) throw lost;
    }
    throw error;
  }
}

async function findNearestComplete(
  ports: RestorePorts,
  { id, epicId, seq }: Checkpoint,
): Promise<Checkpoint | null> {
  const others: Checkpoint[] = [];
  for await (const { checkpoint } of walkEpic(ports, epicId, () => {})) {
    if (checkpoint.snapshot !== null && checkpoint.id !== id) others.push(checkpoint);
    if (checkpoint.seq < seq - mostSearched) break;
  }
  const distance = (other: Checkpoint) => Math.abs(other.seq - seq);
  const nearest = others.sort((a, b) => distance(a) - distance(b)).slice(0, mostSearched);
  for (const other of nearest) {
    const from = other.snapshot === null ? [] : [findRemade(ports.home, other.snapshot)];
    if ((await findBrokenLink(ports.repository, from, [], 'alone')) === null) return other;
  }
  return null;
}

async function describeMissing({ git, repository }: LookPorts, snapshot: Oid): Promise<string> {
  let tree: Oid;
  try {
    tree = (await readCommit(git, snapshot)).tree;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return `its snapshot ${snapshot.slice(0, 12)} is missing`;
  }
  const { folders, files: missing } = await findMissingPaths({ git, repository }, tree);
  const parts = [
    ...(folders.includes('') ? ['the list of its files is missing'] : nameSome('folder', folders)),
    ...nameSome('file', missing),
  ];
  return parts.join('; ') || 'part of it cannot be read';
}

/** Finds the folders of a tree that cannot be read (`''` is the tree itself) and the files missing in the others. */
export async function findMissingPaths(
  { git, repository }: Pick<LookPorts, 'git' | 'repository'>,
  tree: Oid,
): Promise<{ readonly folders: readonly string[]; readonly files: readonly string[] }> {
  const files = new Map<string, Oid>();
  const folders = await listUnreadable(git, tree, '', files);
  const gone = new Set(await findMissing(repository, files.values()));
  return { folders, files: [...files].filter(([, oid]) => gone.has(oid)).map(([path]) => path) };
}

/** Lists the folders that cannot be read, and adds the files in the others to `files`. Paths are latin1 bytes. */
async function listUnreadable(
  git: GitEngine,
  tree: Oid,
  path: string,
  files: Map<string, Oid>,
): Promise<string[]> {
  try {
    const unreadable: string[] = [];
    for (const { name, mode, oid } of await readTree(git, tree, 'latin1')) {
      const below = path === '' ? name : `${path}/${name}`;
      if (mode === folderMode) unreadable.push(...(await listUnreadable(git, oid, below, files)));
      else if (mode !== submoduleMode) files.set(below, oid);
    }
    return unreadable;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return [path];
  }
}

function nameSome(kind: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const more = paths.length > 3 ? ' …' : '';
  const named = paths.slice(0, 3).map(formatPath).join(', ');
  return [`${count(paths.length, kind)} missing (${named}${more})`];
}
