import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { finished, startGit } from './spawn.ts';

/* What git knows of the room that objects take. */

/**
 * The bytes on disk of what can be reached from some commits and not from others; null where git cannot tell, because
 * it is too old or something is missing.
 */
export async function measureReachable(
  repository: Repository,
  from: readonly Oid[],
  without: readonly Oid[],
): Promise<number | null> {
  if (from.length === 0) return 0;
  const child = startGit(repository, [
    'rev-list',
    '--objects',
    '--disk-usage',
    '--ignore-missing',
    '--stdin',
  ]);
  child.stdin.end(`${[...from, ...without.map((oid) => `^${oid}`)].join('\n')}\n`);
  const { status, stdout } = await finished(child);
  return status === 0 && /^\d+\s*$/.test(stdout) ? Number(stdout) : null;
}
