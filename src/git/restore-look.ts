import { type Dirent, readdirSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import type { Repository } from './repository.ts';
import { gitFailed } from './spawn.ts';
import type { Found } from './work-tree-changes.ts';
import { runOnIndex } from './work-tree-git.ts';
import { fullPath, lookAt } from './work-tree-look.ts';

/** What is on disk where files have to come, and which folders there hold files that nobody is about to remove. */
export function lookForObstacles(
  worktree: string,
  paths: Iterable<string>,
  removed: ReadonlySet<string>,
): { found: Map<string, Found>; occupied: Set<string> } {
  const found = lookAt(worktree, paths);
  const folders = [...found].filter(([, { kind }]) => kind === 'folder').map(([path]) => path);
  return { found, occupied: new Set(folders.filter((path) => holdsOthers(worktree, path, removed))) };
}

function holdsOthers(worktree: string, folder: string, removed: ReadonlySet<string>): boolean {
  let entries: Dirent<Buffer>[];
  try {
    entries = readdirSync(fullPath(worktree, folder), { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    return systemCode(error) !== 'ENOENT'; // what cannot be looked into may hold anything
  }
  return entries.some((entry) => {
    const path = `${folder}/${entry.name.toString('latin1')}`;
    return entry.isDirectory() ? holdsOthers(worktree, path, removed) : !removed.has(path);
  });
}

/**
 * What the user's index holds, and which of it git was told not to look at, each with why: what is on disk there is in
 * no snapshot.
 */
export async function listTrackedAndUnseen(
  repository: Repository,
): Promise<{ tracked: Set<string>; unseen: Map<string, string> }> {
  const args = ['ls-files', '-z', '-v'];
  const result = await runOnIndex(repository, args, {});
  if (result.status !== 0) throw gitFailed(args, result);
  const tracked = new Set<string>();
  const unseen = new Map<string, string>();
  for (const line of result.stdout.split('\0')) {
    const [letter = '', path] = [line[0], line.slice(2)];
    tracked.add(path);
    if (letter === 'S') unseen.set(path, 'outside the sparse checkout');
    else if (/[a-z]/.test(letter)) unseen.set(path, 'git is told to assume it unchanged');
  }
  return { tracked, unseen };
}
