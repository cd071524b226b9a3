import type { Checkpoint } from '../checkpoint/list.ts';
import { walkEpic } from '../checkpoint/list.ts';
import { findRemade, readLost } from '../checkpoint/lost.ts';
import { hasCode, OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { readCommit, readTree } from '../git/read.ts';
import { showPath } from '../git/restore.ts';
import { snapshotRef } from '../git/snapshot-ref.ts';
import { findBrokenLink, findMissing } from '../git/storage.ts';
import { folderMode, submoduleMode } from '../git/tree.ts';
import type { Oid } from '../types.ts';
import { count } from '../units.ts';
import type { RestorePorts } from './restore-target.ts';

type LookPorts = Pick<RestorePorts, 'git' | 'repository' | 'home'>;

/** So many other checkpoints are looked at for whole code: each is a look at all of its files. */
const mostLookedAt = 20;

/**
 * What of a checkpoint's code was here and is missing, in words; null where all of it is there, or where it never was
 * here or was cleaned up.
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

/** Why the code cannot be had: what is lost, and where the nearest whole code is; null where nothing is lost. */
export async function explainLostCode(
  ports: RestorePorts,
  checkpoint: Checkpoint,
  cause?: unknown,
): Promise<OrchError | null> {
  const missing = await findLostCode(ports, checkpoint);
  if (missing === null) return null;
  const { seq, epicId } = checkpoint;
  const nearest = await findNearestWhole(ports, checkpoint);
  const message = `the code of ckpt ${seq} of ${epicId} is lost here: ${missing}. The record itself is whole`;
  return new OrchError('INTEGRITY', message, {
    hint: nearest
      ? `Nothing was changed. The nearest checkpoint with whole code: orch restore ${nearest.seq} --epic ${epicId} --dry-run`
      : `Nothing was changed. No checkpoint near it has whole code; another clone or a backup may have it`,
    data: { epicId, seq, nearest: nearest?.seq ?? null },
    cause,
  });
}

/** Does something with the code of checkpoints; where that fails because code is lost, the error says what. */
export async function withCode<T>(
  ports: RestorePorts,
  checkpoints: readonly Checkpoint[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasCode(error, 'GIT_FAILED', 'INTEGRITY')) throw error;
    for (const checkpoint of checkpoints) {
      const lost = await explainLostCode(ports, checkpoint, error);
      if (lost !== null) throw lost;
    }
    throw error;
  }
}

async function findNearestWhole(
  ports: RestorePorts,
  { id, epicId, seq }: Checkpoint,
): Promise<Checkpoint | null> {
  const others: Checkpoint[] = [];
  for await (const { checkpoint } of walkEpic(ports, epicId, () => {})) {
    if (checkpoint.snapshot !== null && checkpoint.id !== id) others.push(checkpoint);
    if (checkpoint.seq < seq - mostLookedAt) break;
  }
  const distance = (other: Checkpoint) => Math.abs(other.seq - seq);
  const nearest = others.sort((a, b) => distance(a) - distance(b)).slice(0, mostLookedAt);
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
  return parts.join('; ') || 'a part of it cannot be read';
}

/** The folders of a tree that cannot be read, and the files that are missing in the others; `''` for the tree itself. */
export async function findMissingPaths(
  { git, repository }: Pick<LookPorts, 'git' | 'repository'>,
  tree: Oid,
): Promise<{ readonly folders: readonly string[]; readonly files: readonly string[] }> {
  const files = new Map<string, Oid>();
  const folders = await listUnreadable(git, tree, '', files);
  const gone = new Set(await findMissing(repository, files.values()));
  return { folders, files: [...files].filter(([, oid]) => gone.has(oid)).map(([path]) => path) };
}

/** The folders that cannot be read; the files in the others are added to `files`. Paths in bytes. */
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
  const named = paths.slice(0, 3).map(showPath).join(', ');
  return [`${count(paths.length, kind)} missing (${named}${more})`];
}
