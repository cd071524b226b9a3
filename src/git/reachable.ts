import { hasCode } from '../errors.ts';
import { parseOid } from '../ids.ts';
import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { finished, gitFailed, runGit, startGit } from './spawn.ts';

/*
 * What can be reached from some commits and not from others. Commits that are not here are passed over: they are
 * others', and nothing of theirs is missing there.
 */

export type Range = { readonly from: readonly Oid[]; readonly without: readonly Oid[] };

function formatRange({ from, without }: Range): string {
  return [...from, ...without.map((oid) => `^${oid}`), ''].join('\n');
}

export async function countCommits(repository: Repository, range: Range): Promise<number> {
  if (range.from.length === 0) return 0;
  const args = ['rev-list', '--count', '--ignore-missing', '--stdin'];
  return Number((await runGit(repository, args, formatRange(range))).trim());
}

/** The commits, each with its subject and the value of one trailer, empty where it has none; `most` at the most. */
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

/** The files each of these commits has and its first parent has not; each name once. */
export async function listAddedFiles(repository: Repository, commits: readonly Oid[]): Promise<string[]> {
  if (commits.length === 0) return [];
  const diff = ['--first-parent', '-m', '--root', '--no-renames', '--diff-filter=A', '--name-only'];
  const args = ['log', '-z', '--no-color', '--no-walk=unsorted', '--format=', ...diff, '--stdin'];
  let text = '';
  try {
    text = await runGit(repository, args, `${commits.join('\n')}\n`);
  } catch (error) {
    // One whose tree is missing hides the others: each by itself. What cannot be read is not sent either.
    if (!hasCode(error, 'GIT_FAILED')) throw error;
    if (commits.length === 1) return [];
    const each = await Promise.all(commits.map((commit) => listAddedFiles(repository, [commit])));
    return [...new Set(each.flat())].sort();
  }
  return [...new Set(text.split('\0').filter((name) => name.trim() !== ''))].sort();
}

/** Is a commit here, with all it takes to read it? */
export async function isHere(repository: Repository, commit: Oid): Promise<boolean> {
  const args = ['cat-file', '-e', `${commit}^{tree}`];
  const child = startGit(repository, args);
  child.stdin.end();
  const result = await finished(child);
  if (result.status !== 0 && result.status !== 1 && result.status !== 128) throw gitFailed(args, result);
  return result.status === 0;
}
