import { type Dirent, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemCode } from '../../errors.ts';
import { makeFolder, removeIfThere } from '../../system/disk.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import type { TreeEdit } from '../objects/tree-object.ts';
import type { Repository } from '../repository.ts';
import { gitFailed } from '../run-git.ts';
import { askOnIndex, joinPaths, runOnIndex } from '../snapshot/index-commands.ts';
import type { WorkTreePorts } from '../snapshot/secret-files.ts';
import { type FoundFile, fullPath, inspectPaths } from '../snapshot/work-tree-changes.ts';
import { diffTrees, emptyTree, type TreeChange } from './tree-diff.ts';

/** Finds what is on disk at paths to be written, and which folders there contain files that will not be removed. */
export function findObstacles(
  worktree: string,
  paths: Iterable<string>,
  removed: ReadonlySet<string>,
): { found: Map<string, FoundFile>; occupied: Set<string> } {
  const found = inspectPaths(worktree, paths);
  const folders = [...found].filter(([, { kind }]) => kind === 'folder').map(([path]) => path);
  return { found, occupied: new Set(folders.filter((path) => holdsOthers(worktree, path, removed))) };
}

function holdsOthers(worktree: string, folder: string, removed: ReadonlySet<string>): boolean {
  let entries: Dirent<Buffer>[];
  try {
    entries = readdirSync(fullPath(worktree, folder), { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    return systemCode(error) !== 'ENOENT'; // an unreadable folder may contain anything
  }
  return entries.some((entry) => {
    const path = `${folder}/${entry.name.toString('latin1')}`;
    return entry.isDirectory() ? holdsOthers(worktree, path, removed) : !removed.has(path);
  });
}

/** Lists the files in the user's index, and those that git is told not to check, with the reason: no snapshot has them. */
export async function listTrackedAndUnseen(
  repository: Repository,
): Promise<{ tracked: Set<string>; unseen: Map<string, string> }> {
  const result = await runOnIndex(repository, ['ls-files', '-z', '-v'], {});
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

const rules = '.gitignore';

/** Tells whether changes between two trees affect ignore rules. */
export function changesIgnoreRules(changes: readonly TreeChange[]): boolean {
  return changes.some(({ path }) => basename(path) === rules);
}

/**
 * Lists the paths that a tree's own rules ignore. Git reads the rules from an index of ours, in an empty working tree,
 * as it does for files that are not checked out.
 */
export async function listIgnoredBy(
  ports: WorkTreePorts,
  tree: Oid,
  paths: readonly string[],
): Promise<Set<string>> {
  const { repository, git, disk, random, home } = ports;
  const all = await diffTrees(repository, emptyTree(git.format), tree);
  const files = all.filter(({ path }) => basename(path) === rules);
  if (files.length === 0 || paths.length === 0) return new Set();
  const empty = join(home, 'empty');
  await makeFolder(disk, empty);
  const index = join(home, `rules-index-${random.id(8)}`);
  const environment = { GIT_INDEX_FILE: index, GIT_DIR: repository.gitDir, GIT_WORK_TREE: empty };
  const run = (args: readonly string[], lines: readonly string[]) =>
    runWithLines(ports, args, environment, lines);
  try {
    await run(
      ['update-index', '-z', '--index-info'],
      files.flatMap(({ path, to }) => lineOf(path, to)),
    );
    await run(
      ['update-index', '-z', '--skip-worktree', '--stdin'],
      files.map(({ path }) => path),
    );
    const ignored = await run(['check-ignore', '-z', '--stdin'], paths);
    return new Set(ignored.split('\0').filter((path) => path !== ''));
  } finally {
    removeIfThere(disk, index);
  }
}

function lineOf(path: string, entry: TreeEdit): string[] {
  return entry === null ? [] : [`${entry.mode} ${entry.oid} 0\t${path}`];
}

/** For check-ignore, status 1 means that no path is ignored. */
async function runWithLines(
  { repository }: WorkTreePorts,
  args: readonly string[],
  environment: Environment,
  lines: readonly string[],
): Promise<string> {
  const result = await askOnIndex(repository, args, environment, joinPaths(lines));
  if (result.status === 0 || (result.status === 1 && args[0] === 'check-ignore')) return result.stdout;
  throw gitFailed(args, result);
}
