import type { Repository } from '../repository.ts';
import { askGit, gitFailed, runGit, withoutMonitor } from '../run-git.ts';

/* The files that git ignores: what it has no commit of, and what a new worktree therefore lacks. */

const ignored = ['ls-files', '-z', '--others', '--ignored'];

function split(output: string): string[] {
  return output.split('\0').filter((path) => path !== '');
}

/** Lists the ignored files that a path or glob names, from the top. A repository inside ends with a slash. */
export async function listIgnoredAt(repository: Repository, pathOrGlob: string): Promise<string[]> {
  const where = `:(top,glob)${pathOrGlob}`;
  return split(await runGit(repository, [...ignored, '--exclude-standard', '--full-name', '--', where]));
}

/** Lists the ignored files that match the lines of a file in the syntax of `.gitignore`. */
export async function listIgnoredBy(repository: Repository, patterns: string): Promise<string[]> {
  const matching = split(await runGit(repository, [...ignored, `--exclude-from=${patterns}`]));
  if (matching.length === 0) return [];
  const args = ['check-ignore', '-z', '--stdin'];
  const result = await askGit(repository, args, { input: `${matching.join('\0')}\0` });
  if (result.status !== 0 && result.status !== 1) throw gitFailed(args, result);
  return split(result.stdout);
}

/** Lists what git ignores in a worktree; a folder that is ignored as a whole counts as one. */
export async function listIgnoredTops(worktree: Repository): Promise<string[]> {
  return split(await runGit(worktree, [...ignored, '--exclude-standard', '--directory']));
}

/** Is everything in a worktree committed or ignored? */
export async function isClean(worktree: Repository): Promise<boolean> {
  return (await runGit(worktree, [...withoutMonitor, 'status', '--porcelain'])).trim() === '';
}

/** The files in the index that a glob names, with their content's ids: a text that differs if any of them does. */
export async function describeFiles(worktree: Repository, globs: readonly string[]): Promise<string> {
  const anywhere = globs.map((glob) => `:(top,glob)**/${glob}`);
  return runGit(worktree, ['ls-files', '-z', '--stage', '--', ...anywhere]);
}
