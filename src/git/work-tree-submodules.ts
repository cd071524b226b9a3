import { readIfThere } from '../system/files.ts';
import type { GitEngine } from './engine.ts';
import { listSubmodules } from './index-entries.ts';
import type { Repository } from './repository.ts';
import { gitFailed } from './spawn.ts';
import { describe, type LeftOut } from './work-tree-changes.ts';
import { runOnIndex } from './work-tree-git.ts';

/*
 * A submodule is a repository of its own: a snapshot has which of its commits the user's index names, and nothing of
 * what is inside.
 */

/** The paths at which an index has submodules. */
export async function findSubmodules(
  { repository, git }: { readonly repository: Repository; readonly git: GitEngine },
  index: string,
): Promise<readonly string[]> {
  const bytes = readIfThere(index);
  if (bytes === null) return []; // nothing was ever staged
  const found = listSubmodules(bytes, git.format);
  if (found !== null) return found;
  const args = ['ls-files', '-z', '--stage'];
  const result = await runOnIndex(repository, args, { GIT_INDEX_FILE: index });
  if (result.status !== 0) throw gitFailed(args, result);
  return [...result.stdout.matchAll(/160000 [0-9a-f]+ \d\t([^\0]+)\0/g)].map(([, path = '']) => path);
}

/** Those of the submodules in which there is more than the commit the user's index names. */
export async function listDirtySubmodules(
  repository: Repository,
  paths: readonly string[],
): Promise<LeftOut[]> {
  if (paths.length === 0) return [];
  const status = ['status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules=none'];
  const args = ['--literal-pathspecs', ...status, '--', ...paths];
  const result = await runOnIndex(repository, args, {});
  if (result.status !== 0) throw gitFailed(status, result);
  // A letter for new commits, one for changed files, one for new files; a dot where there are none.
  const entries = result.stdout.matchAll(/(?:^|\0)1 .. S([C.])[M.][U.] (?:\S+ ){5}([^\0]+)/g);
  return [...entries].flatMap(([entry, commits, path = '']) => {
    if (entry.includes(' S... ')) return [];
    return [describe(path, commits === 'C' ? 'submodule with new commits' : 'submodule with changes inside')];
  });
}
