import type { Repository } from './repository.ts';
import { finished, gitFailed, runGit, startGit } from './spawn.ts';

/* What git knows of the user's files and clones, and orch has no need to know but when it is set up. */

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
