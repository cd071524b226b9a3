import { dirname, join } from 'node:path';
import { explainWrites, OrchError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { listTracked } from '../../git/repository-facts.ts';
import { runGit } from '../../git/run-git.ts';
import { listIgnoredAt, listIgnoredBy } from '../../git/worktree/ignored-files.ts';
import { copyPaths, type NotCopied } from '../../system/copy-files.ts';
import { lstatIfThere, statIfThere } from '../../system/disk.ts';

/*
 * A worktree has what git tracks. What a worker needs besides, such as `.env`, is named by `copy:` in the plan, or by
 * `.worktreeinclude`, a file in the syntax of `.gitignore` that Claude Code, Codex and others read too. Both bring in only
 * files that git ignores: anything else would end up in the worker's commit.
 */

/** What an entry of `copy:` finds in the user's checkout. */
export type CopyMatch = {
  readonly entry: string;
  /** Ignored files; a folder counts with everything in it. */
  readonly paths: readonly string[];
  /** What is there if no file is. */
  readonly instead: 'nothing' | 'tracked' | 'not_ignored' | 'repository' | 'outside';
};

/** Looks up what the entries of `copy:` find. */
export async function findCopyMatches(
  repository: Repository,
  copy: readonly string[],
): Promise<readonly CopyMatch[]> {
  const top = repository.worktree;
  if (top === null) return [];
  return Promise.all(
    copy.map(async (entry): Promise<CopyMatch> => {
      const plain = entry.replace(/^(\.\/)+/, '').replace(/\/+$/, '');
      if (plain === '' || plain.startsWith('/') || plain.split('/').includes('..'))
        return { entry, paths: [], instead: 'outside' };
      const found = await listIgnoredAt(repository, plain);
      const paths = withoutRepositories(top, found);
      if (paths.length > 0) return { entry, paths, instead: 'nothing' };
      if (found.length > 0) return { entry, paths, instead: 'repository' };
      if (lstatIfThere(join(top, plain)) === null) return { entry, paths, instead: 'nothing' };
      const isTracked = (await listTracked(repository, [plain])).length > 0;
      return { entry, paths, instead: isTracked ? 'tracked' : 'not_ignored' };
    }),
  );
}

const reasons: { readonly [K in CopyMatch['instead']]: string } = {
  nothing: 'nothing in the checkout matches it',
  tracked: 'git tracks it, so each worktree has it',
  not_ignored:
    'git does not ignore it, so a worker would commit it; add it to .gitignore or .git/info/exclude',
  repository: 'it is a repository of its own',
  outside: 'it is not a path below the top of the checkout',
};

/** Says what is wrong with the entries of `copy:`: one sentence for each that finds no file. */
export function checkCopy(matches: readonly CopyMatch[]): string[] {
  return matches
    .filter(({ paths }) => paths.length === 0)
    .map(({ entry, instead }) => `copy: ${entry}: ${reasons[instead]}`);
}

/** Refuses a plan whose `copy:` names files that are not there. */
export async function refuseCopy(repository: Repository, copy: readonly string[]): Promise<void> {
  const problems = checkCopy(await findCopyMatches(repository, copy));
  if (problems.length > 0)
    throw new OrchError('PLAN_INVALID', problems.join('; '), {
      hint: 'Correct copy: in the plan, or create the files, then run the same command again.',
      data: { problems },
    });
}

/** Leaves out repositories inside, worktrees of orch among them, and everything in them. */
function withoutRepositories(top: string, paths: readonly string[]): string[] {
  const known = new Map<string, boolean>([['.', false]]);
  const isInRepository = (folder: string): boolean => {
    const found =
      known.get(folder) ??
      (lstatIfThere(join(top, folder, '.git')) !== null || isInRepository(dirname(folder)));
    known.set(folder, found);
    return found;
  };
  return paths.filter((path) => !path.endsWith('/') && !isInRepository(dirname(path)));
}

const includeFile = '.worktreeinclude';

type BringRequest = {
  readonly worktree: Repository;
  readonly copy: readonly string[];
  readonly signal: AbortSignal;
};

/** Copies the ignored files that a worker needs into its worktree. Returns what should have been copied and was not. */
export async function bringFiles(repository: Repository, request: BringRequest): Promise<string[]> {
  const { worktree, copy, signal } = request;
  const [from, to] = [repository.worktree, worktree.worktree];
  if (from === null || to === null) return [];
  const matches = await findCopyMatches(repository, copy);
  const patterns = join(from, includeFile);
  const included = statIfThere(patterns)?.isFile() ? await listIgnoredBy(repository, patterns) : [];
  const paths = [
    ...new Set([...matches.flatMap((match) => match.paths), ...withoutRepositories(from, included)]),
  ];
  if (paths.length === 0) return checkCopy(matches);
  const tracked = new Set((await runGit(worktree, ['ls-files', '-z'])).split('\0'));
  const left = await explainWrites(`files could not be copied into ${to}`, () =>
    copyPaths({ from, to, paths, isKept: (path) => tracked.has(path), signal }),
  );
  return [...checkCopy(matches), ...describeLeft(left)];
}

/** One sentence for each reason. */
function describeLeft(left: readonly NotCopied[]): string[] {
  return [...new Set(left.map(({ why }) => why))].map((why) => {
    const files = left.filter((each) => each.why === why);
    const [first] = files;
    const more = files.length > 1 ? ` and ${files.length - 1} more` : '';
    return `${first?.path}${more}: not copied into the worktree, because ${why}`;
  });
}
