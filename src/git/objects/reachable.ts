import { hasCode } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { askGit, gitFailed, runGit } from '../run-git.ts';

/* Which commits and objects the repository has, and what can be reached from some commits and not from others. */

type Range = { readonly from: readonly Oid[]; readonly without: readonly Oid[] };

function formatRange({ from, without }: Range): string {
  return [...from, ...without.map((oid) => `^${oid}`), ''].join('\n');
}

/** Counts the commits in a range. Unknown commits are ignored: they belong to others, who have all of them. */
export async function countCommits(repository: Repository, range: Range): Promise<number> {
  if (range.from.length === 0) return 0;
  const args = ['rev-list', '--count', '--ignore-missing', '--stdin'];
  return Number((await runGit(repository, args, formatRange(range))).trim());
}

/** Lists the commits in a range with their subject and the value of one trailer (empty without it). */
export async function listCommits(
  repository: Repository,
  range: Range,
  trailer: string,
  most?: number,
): Promise<{ readonly oid: Oid; readonly subject: string; readonly trailer: string }[]> {
  if (range.from.length === 0) return [];
  const format = `%H%x1f%s%x1f%(trailers:key=${trailer},valueonly,separator=%x2C)`;
  const limit = most === undefined ? [] : [`--max-count=${most}`];
  const args = ['log', '-z', '--no-color', '--ignore-missing', `--format=${format}`, ...limit, '--stdin'];
  const text = await runGit(repository, args, formatRange(range));
  return text.split('\0').flatMap((record) => {
    const [oid = '', subject = '', value = ''] = record.split('\x1f');
    return oid === '' ? [] : [{ oid: parseOid(oid), subject, trailer: value }];
  });
}

/** Lists the files that these commits added to their first parents. */
export async function listAddedFiles(repository: Repository, commits: readonly Oid[]): Promise<string[]> {
  if (commits.length === 0) return [];
  const diff = ['--first-parent', '-m', '--root', '--no-renames', '--diff-filter=A', '--name-only'];
  const args = ['log', '-z', '--no-color', '--no-walk=unsorted', '--format=', ...diff, '--stdin'];
  let text = '';
  try {
    text = await runGit(repository, args, `${commits.join('\n')}\n`);
  } catch (error) {
    // One missing tree fails the whole list, so ask for each commit alone. Unreadable ones are not sent either.
    if (!hasCode(error, 'GIT_FAILED')) throw error;
    if (commits.length === 1) return [];
    const each = await Promise.all(commits.map((commit) => listAddedFiles(repository, [commit])));
    return [...new Set(each.flat())].sort();
  }
  return [...new Set(text.split('\0').filter((name) => name.trim() !== ''))].sort();
}

/** Tells whether the repository has a commit and its tree. */
export async function isCommitStored(repository: Repository, commit: Oid): Promise<boolean> {
  const args = ['cat-file', '-e', `${commit}^{tree}`];
  const result = await askGit(repository, args);
  if (result.status !== 0 && result.status !== 1 && result.status !== 128) throw gitFailed(args, result);
  return result.status === 0;
}

/** Lists which of these objects the repository does not have. */
export async function findMissing(repository: Repository, oids: Iterable<string>): Promise<string[]> {
  const unique = [...new Set(oids)];
  if (unique.length === 0) return [];
  const text = await runGit(repository, ['cat-file', '--batch-check'], `${unique.join('\n')}\n`);
  return [...text.matchAll(/^([0-9a-f]+) missing$/gm)].map(([, oid = '']) => oid);
}

/** Measures a range in bytes on disk; null if git is too old to tell or an object is missing. */
export async function measureReachable(
  repository: Repository,
  from: readonly Oid[],
  without: readonly Oid[],
): Promise<number | null> {
  if (from.length === 0) return 0;
  const args = ['rev-list', '--objects', '--disk-usage', '--ignore-missing', '--stdin'];
  const { status, stdout } = await askGit(repository, args, { input: formatRange({ from, without }) });
  return status === 0 && /^\d+\s*$/.test(stdout) ? Number(stdout) : null;
}

/**
 * Finds what is missing or broken in a range, in git's words; null if everything is there. `followed` limits the number
 * of commits; `alone` checks each one without its parents.
 */
export async function findBrokenLink(
  repository: Repository,
  from: readonly Oid[],
  without: readonly Oid[],
  followed?: number | 'alone',
): Promise<string | null> {
  if (from.length === 0) return null;
  // Objects that a partial clone left out on purpose are not missing.
  const promised = repository.extensions.includes('partialclone') ? ['--exclude-promisor-objects'] : [];
  const most = followed === undefined ? [] : [followed === 'alone' ? '--no-walk' : `--max-count=${followed}`];
  const args = ['rev-list', '--objects', '--quiet', ...promised, ...most, '--stdin'];
  const { status, stderr } = await askGit(repository, args, { input: formatRange({ from, without }) });
  if (status === 0) return null;
  const errors = stderr.split('\n').filter((line) => /^(fatal|error):/.test(line));
  return (errors.at(-1) ?? `git rev-list ended with ${status}`).replace(/^(fatal|error): /, '');
}

/** Lists the commits that no ref leads to. Reads the whole repository, so only for recovering a lost ref. */
export async function listUnreachableCommits(repository: Repository): Promise<Oid[]> {
  const args = ['fsck', '--connectivity-only', '--unreachable', '--no-reflogs', '--no-progress'];
  // Its status is ignored: the repository is expected to be damaged.
  const { stdout } = await askGit(repository, args);
  return [...stdout.matchAll(/^unreachable commit ([0-9a-f]+)$/gm)].map(([, oid = '']) => parseOid(oid));
}
