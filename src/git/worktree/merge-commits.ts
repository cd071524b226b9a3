import { join } from 'node:path';
import { OrchError } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import { statIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { askGit, runGit } from '../run-git.ts';

/* Branches and commits of convoys; `merge-tree.ts` merges them. */

/** Writes a merge commit; moves nothing. */
export async function writeMergeCommit(
  worktree: Repository,
  tree: Oid,
  parents: readonly Oid[],
  message: string,
): Promise<Oid> {
  const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])];
  return parseOid((await runGit(worktree, args, message)).trim());
}

/** The commit a branch is at; null if there is no such branch. */
export async function readBranch(repository: Repository, branch: string): Promise<Oid | null> {
  const args = ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`];
  const result = await askGit(repository, args);
  return result.status === 0 ? parseOid(result.stdout.trim()) : null;
}

/** The worktree that has a branch checked out; null if none has. */
export async function findCheckout(repository: Repository, branch: string): Promise<string | null> {
  const output = await runGit(repository, ['worktree', 'list', '--porcelain', '-z']);
  const entries = output.split('\0\0').map((entry) => entry.split('\0'));
  const found = entries.find((lines) => lines.includes(`branch refs/heads/${branch}`));
  return found?.[0]?.replace(/^worktree /, '') ?? null;
}

/** The folders of all worktrees, the main one first. */
export async function listCheckouts(repository: Repository): Promise<string[]> {
  const output = await runGit(repository, ['worktree', 'list', '--porcelain', '-z']);
  return output.split('\0').flatMap((line) => (line.startsWith('worktree ') ? [line.slice(9)] : []));
}

/** The commit a worktree is at. */
export async function readCommit(worktree: Repository): Promise<Oid> {
  return parseOid((await runGit(worktree, ['rev-parse', 'HEAD'])).trim());
}

/** Moves a branch of orch's from exactly one commit to another; `REF_CONFLICT` if it is elsewhere by now. */
export async function moveBranch(
  repository: Repository,
  branch: string,
  to: Oid,
  from: Oid | null,
  why: string,
): Promise<void> {
  const args = ['update-ref', '-m', why, `refs/heads/${branch}`, to, from ?? ''];
  const result = await askGit(repository, args);
  if (result.status === 0) return;
  const now = await readBranch(repository, branch);
  if (now === to) return;
  throw new OrchError('REF_CONFLICT', `the branch ${branch} was moved while orch worked on it`, {
    hint: 'Nothing was changed. Run the same command again.',
    data: { branch, expected: from, found: now },
  });
}

/** Keeps what a branch has under another name; returns the name. */
export async function keepBranch(repository: Repository, branch: string, commit: Oid): Promise<string> {
  for (let number = 1; ; number++) {
    const name = `${branch}.kept-${number}`;
    const found = await readBranch(repository, name);
    if (found === null) await moveBranch(repository, name, commit, null, `convoy: keep ${branch}`);
    if (found === null || found === commit) return name;
  }
}

export async function isAncestor(repository: Repository, ancestor: Oid, of: Oid): Promise<boolean> {
  return (await askGit(repository, ['merge-base', '--is-ancestor', ancestor, of])).status === 0;
}

/** How much lies between two commits. */
export async function countChanges(repository: Repository, from: Oid, to: Oid) {
  const lines = (await runGit(repository, ['diff', '--numstat', from, to])).split('\n').filter(Boolean);
  const figures = lines.map((line) => line.split('\t'));
  const sum = (column: number) => figures.reduce((total, row) => total + (Number(row[column]) || 0), 0);
  return { files: lines.length, added: sum(0), removed: sum(1) };
}

/** Commits whatever a worker left in its worktree, so that nothing of it is lost; null if there is nothing. */
export async function commitLeftovers(worktree: Repository, message: string): Promise<Oid | null> {
  await runGit(worktree, ['add', '--all']);
  const staged = await askGit(worktree, ['diff', '--cached', '--quiet']);
  // A merge counts even if it changes nothing: what it took in is no conflict any more.
  if (staged.status === 0 && !isMerging(worktree)) return null;
  await runGit(worktree, ['commit', '--quiet', '--no-verify', '--no-gpg-sign', '--file=-'], message);
  return parseOid((await runGit(worktree, ['rev-parse', 'HEAD'])).trim());
}

/** Is a merge begun and not committed? */
export function isMerging({ gitDir }: Repository): boolean {
  return statIfThere(join(gitDir, 'MERGE_HEAD')) !== null;
}

/** The files of a merge, rebase or the like that a worker has not resolved. */
export async function listUnmerged(worktree: Repository): Promise<string[]> {
  const output = await runGit(worktree, ['diff', '--name-only', '-z', '--diff-filter=U']);
  return [...new Set(output.split('\0').filter(Boolean))].sort();
}

/** Repositories inside a worktree that are new: git would keep the id of their commit, and none of their files. */
export async function listEmbedded(worktree: Repository, base: Oid): Promise<string[]> {
  const others = (await runGit(worktree, ['ls-files', '--others', '--exclude-standard', '-z'])).split('\0');
  const raw = ['diff', '--cached', '--raw', '-z', '--no-renames', '--diff-filter=A', base];
  const added = (await runGit(worktree, raw)).split('\0');
  const links = added.filter((_, index) => added[index - 1]?.startsWith(':000000 160000 '));
  // Of another repository git lists only the folder.
  const found = [...others.filter((path) => path.endsWith('/')), ...links];
  if (found.length === 0) return [];
  const paths = ['config', '--file', '.gitmodules', '--get-regexp', '^submodule\\..*\\.path$'];
  const listed = (await askGit(worktree, paths)).stdout.split('\n');
  const modules = new Set(listed.map((line) => line.slice(line.indexOf(' ') + 1)));
  return found.filter((path) => !modules.has(path));
}

/** The merge on a branch that took in exactly this commit; null if there is none. */
export async function findMergeOf(worktree: Repository, commit: Oid, branch: Oid): Promise<Oid | null> {
  const args = ['rev-list', '--first-parent', '--min-parents=2', '--parents', branch, `^${commit}`];
  const lines = (await runGit(worktree, args)).split('\n').map((line) => line.split(' '));
  const found = lines.find(([, , second]) => second === commit)?.[0];
  return found === undefined ? null : parseOid(found);
}

/** The newest commit that two have in common; null if there is none. */
export async function findMergeBase(repository: Repository, one: Oid, other: Oid): Promise<Oid | null> {
  const { status, stdout } = await askGit(repository, ['merge-base', one, other]);
  return status === 0 ? parseOid(stdout.trim()) : null;
}

/** The branch a worktree is on; null if it is on none. */
export async function currentBranch(worktree: Repository): Promise<string | null> {
  const result = await askGit(worktree, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  return result.status === 0 ? result.stdout.trim() : null;
}
