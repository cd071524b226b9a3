import { join } from 'node:path';
import { statIfThere } from '../system/disk.ts';
import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { askGit, gitFailed, runGit } from './run-git.ts';

/* What git knows about the user's files, clones and settings. */

/** Lists which of these files git ignores. */
export async function listIgnored(repository: Repository, paths: readonly string[]): Promise<string[]> {
  const ignored = await Promise.all(paths.map((path) => isIgnored(repository, path)));
  return paths.filter((_, index) => ignored[index]);
}

/** Tells whether git ignores a file, given relative to the top of the working tree. */
export async function isIgnored(repository: Repository, path: string): Promise<boolean> {
  const args = ['check-ignore', '--quiet', '--', path];
  const result = await askGit(repository, args);
  if (result.status !== 0 && result.status !== 1) throw gitFailed(args, result);
  return result.status === 0;
}

/** Lists which of these files git tracks. */
export async function listTracked(repository: Repository, paths: readonly string[]): Promise<string[]> {
  const literal = paths.map((path) => `:(literal)${path}`);
  const listed = await runGit(repository, ['ls-files', '-z', '--', ...literal]);
  return listed.split('\0').filter((path) => path !== '');
}

/** Lists the names of the repository's remotes. */
export async function listRemotes(repository: Repository): Promise<string[]> {
  return (await runGit(repository, ['remote'])).split('\n').filter((name) => name !== '');
}

/** Lists the top folders of all working trees. */
export async function listWorktrees(repository: Repository): Promise<string[]> {
  const listed = await runGit(repository, ['worktree', 'list', '--porcelain']);
  return [...listed.matchAll(/^worktree (.+)$/gm)].map(([, path = '']) => path);
}

/** Counts the commits that each of two has and the other lacks; null if the repository lacks one of the two. */
export async function countDivergence(
  repository: Repository,
  one: Oid,
  other: Oid,
): Promise<{ readonly one: number; readonly other: number } | null> {
  if (one === other) return { one: 0, other: 0 };
  const args = ['rev-list', '--left-right', '--count', `${one}...${other}`];
  const { status, stdout } = await askGit(repository, args);
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

/** Finds the git operation that the user has started and not finished. */
export function findOperation({ gitDir }: Repository): string | null {
  return operations.find(([file]) => statIfThere(join(gitDir, file)) !== null)?.[1] ?? null;
}

/** Reads git's version: `git version 2.39.5` → `2.39.5`. */
export async function askVersion(repository: Repository): Promise<string> {
  return (await runGit(repository, ['version'])).replace(/^git version /, '').trim();
}

/** Reads the user's git settings from all config files, by lowercase name; later files win. */
export async function readGitConfig(repository: Repository): Promise<ReadonlyMap<string, string>> {
  const fields = (await runGit(repository, ['config', '--list', '--null', '--show-scope'])).split('\0');
  const settings = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    if (fields[at] === 'command') continue; // orch's own settings for this call
    const [name = '', ...value] = (fields[at + 1] ?? '').split('\n');
    settings.set(name, value.join('\n'));
  }
  return settings;
}
