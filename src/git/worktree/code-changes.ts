import { isOid } from '../../ids.ts';
import type { Millis, Oid } from '../../types.ts';
import { formatPath } from '../objects/tree-object.ts';
import type { Repository } from '../repository.ts';
import { runGit } from '../run-git.ts';
import { diffTrees, emptyTree } from './tree-diff.ts';

/** A file that differs between two trees. */
export type Change = {
  readonly path: string;
  readonly change: 'added' | 'modified' | 'deleted';
  /** Lines; null if it is not text, or if there are too many files to count. */
  readonly added: number | null;
  readonly removed: number | null;
};

/** Lists the files that differ between two trees; lines are not counted for more than `maxCounted` files. */
export async function listFileChanges(
  repository: Repository,
  from: Oid,
  to: Oid,
  maxCounted = Number.POSITIVE_INFINITY,
): Promise<Change[]> {
  const changes = new Map(
    (await diffTrees(repository, from, to)).map((each): [string, Change['change']] => [
      formatPath(each.path),
      each.from === null ? 'added' : each.to === null ? 'deleted' : 'modified',
    ]),
  );
  if (changes.size > maxCounted)
    return [...changes].map(([path, change]) => ({ path, change, added: null, removed: null }));
  if (changes.size === 0) return [];
  const options = ['-r', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
  const counts = await runGit(repository, ['diff-tree', '--numstat', ...options, from, to]);
  return counts
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => {
      const [added = '', removed = '', ...rest] = line.split('\t');
      const path = rest.join('\t');
      const countOf = (text: string) => (text === '-' ? null : Number(text));
      const change = changes.get(path) ?? 'modified';
      return { path, change, added: countOf(added), removed: countOf(removed) };
    });
}

/** Lists the paths that each commit changed; none for a merge. */
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

/** Lists the newest commits that `to` has and `from` lacks. */
export async function listCommitsBetween(repository: Repository, from: Oid, to: Oid): Promise<Oid[]> {
  const text = await runGit(repository, ['rev-list', '--max-count=500', to, `^${from}`]);
  return text.split('\n').filter(isOid);
}

/** How the code differs from a base, and what was committed since. */
export type CodeDifference = {
  readonly files: readonly CodeFile[];
  /** Newest last. */
  readonly commits: readonly { readonly oid: Oid; readonly subject: string }[];
};

export type CodeFile = Change & { readonly state: 'committed' | 'uncommitted' | 'untracked' };

export type CodeRequest = {
  /** Where the work began; null if there was no commit yet. */
  readonly base: Oid | null;
  readonly head: Oid | null;
  /** The present files. */
  readonly tree: Oid;
  /** List the commits since this HEAD; null: list none. */
  readonly since: Oid | null;
  /** Earlier commits were made elsewhere and only fetched. */
  readonly after: Millis;
};

/** For more files, lines are not counted: git would read every one of them. */
const maxCounted = 400;
const maxCommits = 40;

/** Reads how the present files differ from where the work began, and which commits were made since. */
export async function readCodeDifference(
  repository: Repository,
  { base, head, tree, since, after }: CodeRequest,
): Promise<CodeDifference> {
  const empty = emptyTree(repository.format);
  const [changed, sinceHead, commits] = await Promise.all([
    listFileChanges(repository, base ?? empty, tree, maxCounted),
    head === base ? null : listFileChanges(repository, head ?? empty, tree, 0),
    since === null || head === null || since === head ? [] : listCommits(repository, since, head, after),
  ]);
  const open = new Map((sinceHead ?? changed).map(({ path, change }) => [path, change]));
  const files = changed.map((file): CodeFile => {
    const change = open.get(file.path);
    const state = change === undefined ? 'committed' : change === 'added' ? 'untracked' : 'uncommitted';
    return { ...file, state };
  });
  return { files, commits };
}

async function listCommits(repository: Repository, from: Oid, to: Oid, after: Millis) {
  const options = ['--first-parent', '--reverse', `-n${maxCommits}`, '--format=%H%x09%ct%x09%s'];
  const text = await runGit(repository, ['log', ...options, `${from}..${to}`, '--']);
  return text.split('\n').flatMap((line) => {
    const [oid = '', seconds = '', ...subject] = line.split('\t');
    const isNew = oid !== '' && Number(seconds) * 1_000 >= after - 1_000; // git counts whole seconds
    return isNew ? [{ oid: oid as Oid, subject: subject.join('\t') }] : []; // git's own id
  });
}
