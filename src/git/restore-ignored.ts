import { basename, join } from 'node:path';
import { makeFolder, removeIfThere } from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import type { TreeEdit } from './edit-tree.ts';
import { gitFailed } from './spawn.ts';
import { diffTrees, emptyTree, type TreeChange } from './tree-diff.ts';
import type { WorkTreePorts } from './work-tree-apply.ts';
import { runOnIndex } from './work-tree-git.ts';

const rules = '.gitignore';

/** Do two trees ignore different files? */
export function changesRules(changes: readonly TreeChange[]): boolean {
  return changes.some(({ path }) => basename(path) === rules);
}

/**
 * Which of these paths a tree's own rules ignore. Git reads the rules from an index of ours, as it does for files that
 * are not checked out, in a working tree that is empty.
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

/** Status 1 is an answer too: none of them. */
async function runWithLines(
  { repository }: WorkTreePorts,
  args: readonly string[],
  environment: Environment,
  lines: readonly string[],
): Promise<string> {
  const result = await runOnIndex(repository, args, environment, lines.map((line) => `${line}\0`).join(''));
  if (result.status === 0 || (result.status === 1 && args[0] === 'check-ignore')) return result.stdout;
  throw gitFailed(args, result);
}
