import { join } from 'node:path';
import { statIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { finished, gitFailed, runGit, startGit } from './spawn.ts';

/* What git knows of the user's files and clones, and orch has no need to know but when it is set up. */

/** Which of these files would git leave out? */
export async function listIgnored(repository: Repository, paths: readonly string[]): Promise<string[]> {
  const ignored = await Promise.all(paths.map((path) => isIgnored(repository, path)));
  return paths.filter((_, index) => ignored[index]);
}

/** Would git leave a file out? The path is relative to the top of the working tree. */
export async function isIgnored(repository: Repository, path: string): Promise<boolean> {
  const args = ['check-ignore', '--quiet', '--', path];
  const child = startGit(repository, args);
  child.stdin.end();
  const result = await finished(child);
  if (result.status !== 0 && result.status !== 1) throw gitFailed(args, result);
  return result.status === 0;
}

/** Which of these files does git keep? */
export async function listTracked(repository: Repository, paths: readonly string[]): Promise<string[]> {
  const listed = await runGit(repository, [
    'ls-files',
    '-z',
    '--',
    ...paths.map((path) => `:(literal)${path}`),
  ]);
  return listed.split('\0').filter((path) => path !== '');
}

/** The names of the repositories it knows to push to. */
export async function listRemotes(repository: Repository): Promise<string[]> {
  return (await runGit(repository, ['remote'])).split('\n').filter((name) => name !== '');
}

/** The tops of all its working trees. */
export async function listWorktrees(repository: Repository): Promise<string[]> {
  const listed = await runGit(repository, ['worktree', 'list', '--porcelain']);
  return [...listed.matchAll(/^worktree (.+)$/gm)].map(([, path = '']) => path);
}

/** How many commits each of two has that the other has not; null where one of them is not here. */
export async function countApart(
  repository: Repository,
  one: Oid,
  other: Oid,
): Promise<{ readonly one: number; readonly other: number } | null> {
  if (one === other) return { one: 0, other: 0 };
  const child = startGit(repository, ['rev-list', '--left-right', '--count', `${one}...${other}`]);
  child.stdin.end();
  const { status, stdout } = await finished(child);
  const [, left, right] = /^(\d+)\t(\d+)$/.exec(stdout.trim()) ?? [];
  return status === 0 ? { one: Number(left), other: Number(right) } : null;
}

const operations: readonly (readonly [file: string, name: string])[] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
];

/** What the user is in the middle of, as git remembers it. */
export function findOperation({ gitDir }: Repository): string | null {
  return operations.find(([file]) => statIfThere(join(gitDir, file)) !== null)?.[1] ?? null;
}
