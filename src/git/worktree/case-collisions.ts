import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { runGit } from '../run-git.ts';

/** Finds new paths that differ from another only in case: macOS and Windows can have only one of the two. */
export async function findCaseCollisions(
  worktree: Repository,
  base: Oid,
  commit: Oid,
): Promise<(readonly string[])[]> {
  const split = (output: string) => output.split('\0').filter(Boolean);
  const added = split(
    await runGit(worktree, ['diff', '--name-only', '--no-renames', '--diff-filter=A', '-z', base, commit]),
  );
  if (added.length === 0) return [];
  const all = split(await runGit(worktree, ['ls-tree', '-r', '--name-only', '-z', commit]));
  return selectCollisions(all, new Set(added));
}

/** Groups paths that differ only in case. Where old paths do already, the repository lives with it: then none counts. */
export function selectCollisions(all: readonly string[], added: ReadonlySet<string>): (readonly string[])[] {
  const groups = new Map<string, string[]>();
  for (const path of all) {
    const key = path.normalize('NFC').toLowerCase();
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [path]);
    else group.push(path);
  }
  const alike = [...groups.values()].filter((group) => group.length > 1);
  const isOld = (group: readonly string[]) => group.filter((path) => !added.has(path)).length > 1;
  return alike.some(isOld) ? [] : alike;
}
