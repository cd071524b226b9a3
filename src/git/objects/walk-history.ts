import { hasCode } from '../../errors.ts';
import { readTextIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';
import type { Commit, GitEngine } from '../engine.ts';

/** Reads the commits where a shallow clone ends: it has only the ids of their parents. */
export function readShallow(commonDir: string): ReadonlySet<string> {
  return new Set(readTextIfThere(`${commonDir}/shallow`)?.split('\n') ?? []);
}

/**
 * Walks back from a commit in the order of `git log`, always to the newest commit that can be next.
 * An unreadable commit ends only its own line; the error is thrown after everything else was returned.
 */
export async function* walkByDate(
  from: Oid,
  read: (oid: Oid) => Promise<Commit>,
  isShallow: (oid: Oid) => boolean = () => false,
): AsyncGenerator<Commit> {
  const queue: Commit[] = [await read(from)];
  const seen = new Set<Oid>([from]);
  let damage: unknown = null;
  for (let commit = queue.shift(); commit !== undefined; commit = queue.shift()) {
    yield isShallow(commit.oid) ? { ...commit, parents: [] } : commit;
    if (isShallow(commit.oid)) continue;
    for (const parent of commit.parents) {
      if (seen.has(parent)) continue;
      seen.add(parent);
      let next: Commit;
      try {
        next = await read(parent);
      } catch (error) {
        damage ??= error;
        continue;
      }
      const place = queue.findIndex((other) => other.committedAt < next.committedAt);
      queue.splice(place < 0 ? queue.length : place, 0, next);
    }
  }
  if (damage !== null) throw damage;
}

/** Answers `isAncestor` without git, by walking back until the commit is found. */
export async function isInHistory(ancestor: Oid, walk: AsyncIterable<Commit>): Promise<boolean> {
  for await (const { oid } of walk) if (oid === ancestor) return true;
  return false;
}

/** Ends a walk after `most` commits. */
export async function* takeFirst(
  walk: AsyncIterable<Commit>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Commit> {
  let taken = 0;
  for await (const commit of walk) {
    if (++taken > most) return;
    yield commit;
  }
}

/** Tells whether one commit is an ancestor of another; false if this repository has one of them only by name. */
export async function isKnownAncestor(git: GitEngine, ancestor: Oid, descendant: Oid): Promise<boolean> {
  try {
    return await git.isAncestor(ancestor, descendant);
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return false;
  }
}
