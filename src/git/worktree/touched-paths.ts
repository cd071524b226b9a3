import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { runGit } from '../run-git.ts';

/** What lies between two commits, by path. A path that was renamed is deleted and added. */
export type Touched = {
  readonly all: readonly string[];
  readonly added: readonly string[];
  readonly deleted: readonly string[];
};

/** Lists the paths that differ between a commit and one before it, for many at once; none for a commit that is gone. */
export async function listTouched(
  repository: Repository,
  ranges: readonly { readonly base: Oid; readonly commit: Oid }[],
): Promise<Touched[]> {
  if (ranges.length === 0) return [];
  const args = ['diff-tree', '--stdin', '-r', '--always', '--no-renames', '--name-status', '-z'];
  const input = ranges.map(({ base, commit }) => `${commit} ${base}\n`).join('');
  const fields = (await runGit(repository, args, input)).split('\0');
  const found: { all: string[]; added: string[]; deleted: string[] }[] = [];
  const openNext = () => found.push({ all: [], added: [], deleted: [] });
  // For each commit its id, then pairs of a status and a path. A commit that is gone is skipped.
  for (let at = 0; at + 1 < fields.length; at++) {
    const [field = '', path = ''] = fields.slice(at, at + 2);
    if (field.length > 1) {
      do openNext();
      while (found.length < ranges.length && ranges[found.length - 1]?.commit !== field);
      continue;
    }
    const last = found.at(-1);
    last?.all.push(path);
    if (field === 'A') last?.added.push(path);
    if (field === 'D') last?.deleted.push(path);
    at++;
  }
  while (found.length < ranges.length) openNext();
  return found;
}
