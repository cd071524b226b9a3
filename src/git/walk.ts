import { readTextIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import type { Commit } from './engine.ts';

/** The commits a shallow clone ends at: their parents are known by name only. */
export function readShallow(commonDir: string): ReadonlySet<string> {
  return new Set(readTextIfThere(`${commonDir}/shallow`)?.split('\n') ?? []);
}

/**
 * From a commit back in the order of `git log`: always the newest of those that can be next.
 * One that cannot be read ends its own line only; it is told when all that can be reached has been.
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

/** The same question without git: walks back until it is found. */
export async function isInHistory(ancestor: Oid, walk: AsyncIterable<Commit>): Promise<boolean> {
  for await (const { oid } of walk) if (oid === ancestor) return true;
  return false;
}

/** The first few of a walk. */
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
