import { isOid } from '../ids.ts';
import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { runGit } from './spawn.ts';

/** A file that differs between two trees. */
export type Change = {
  readonly path: string;
  readonly change: 'added' | 'modified' | 'deleted';
  /** Lines; null where it is not text. */
  readonly added: number | null;
  readonly removed: number | null;
};

const kinds: { readonly [letter: string]: Change['change'] } = { A: 'added', D: 'deleted' };

/**
 * What differs between two trees, as git counts it; a renamed file was deleted and added. Of more than `mostCounted`
 * files the lines are not counted.
 */
export async function listChanges(
  repository: Repository,
  from: Oid,
  to: Oid,
  mostCounted = Number.POSITIVE_INFINITY,
): Promise<Change[]> {
  const options = ['-r', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
  const letters = parseRaw(await runGit(repository, ['diff-tree', '--raw', ...options, from, to]));
  const kindOf = (path: string) => kinds[letters.get(path) ?? ''] ?? 'modified';
  if (letters.size > mostCounted)
    return [...letters.keys()].map((path) => ({ path, change: kindOf(path), added: null, removed: null }));
  if (letters.size === 0) return [];
  const counts = await runGit(repository, ['diff-tree', '--numstat', ...options, from, to]);
  return counts
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => {
      const [added = '', removed = '', ...rest] = line.split('\t');
      const path = rest.join('\t');
      return {
        path,
        change: kindOf(path),
        added: countOf(added),
        removed: countOf(removed),
      };
    });
}

/** `:100644 100644 <old> <new> M\0path\0` … → path → letter. */
function parseRaw(text: string): Map<string, string> {
  const letters = new Map<string, string>();
  const parts = text.split('\0');
  for (let index = 0; index + 1 < parts.length; index += 2) {
    letters.set(parts[index + 1] ?? '', parts[index]?.split(' ').at(-1)?.[0] ?? '');
  }
  return letters;
}

function countOf(text: string): number | null {
  return text === '-' ? null : Number(text);
}

/** The paths that each commit changed, against its first parent; of a merge none. */
export async function listCommitPaths(
  repository: Repository,
  commits: readonly Oid[],
): Promise<Map<Oid, string[]>> {
  const found = new Map<Oid, string[]>(commits.map((commit) => [commit, []]));
  if (commits.length === 0) return found;
  const args = ['diff-tree', '--stdin', '-r', '--root', '--name-only', '--no-renames', '-z'];
  const text = await runGit(repository, args, commits.map((commit) => `${commit}\n`).join(''));
  let paths: string[] = [];
  for (const word of text.split('\0').filter((each) => each !== '')) {
    const own = isOid(word) ? found.get(word) : undefined;
    if (own) paths = own;
    else paths.push(word);
  }
  return found;
}

/** The newest commits that one has and another has not. */
export async function listMissing(repository: Repository, from: Oid, to: Oid): Promise<Oid[]> {
  const text = await runGit(repository, ['rev-list', '--max-count=500', to, `^${from}`]);
  return text.split('\n').filter(isOid);
}
