import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { OrchError } from '../../errors.ts';
import { realPath, statIfThere } from '../../system/disk.ts';
import { discoverRepository, type Repository } from '../repository.ts';
import { isIgnored } from '../repository-facts.ts';

type Place = Pick<Repository, 'commonDir' | 'worktree'>;

/** The top of the main checkout, whichever worktree the repository was opened in. */
export function mainCheckout({ commonDir, worktree }: Place): string {
  return basename(commonDir) === '.git' ? dirname(commonDir) : (worktree ?? commonDir);
}

/** The folder for orch's worktrees unless the config names another: `shop.orch` beside the main checkout `shop`. */
export function worktreesFolder(repository: Place): string {
  const main = mainCheckout(repository);
  return join(dirname(main), `${basename(main)}.orch`);
}

/**
 * The folder for worktrees that the config names. Tools refuse to work on files inside `.git`, and a checkout's own tools
 * would find copies of everything inside it.
 */
export async function chooseWorktreesFolder(repository: Repository, setting: string | null): Promise<string> {
  if (setting === null) return worktreesFolder(repository);
  const main = mainCheckout(repository);
  const folder = followLinks(resolve(main, setting));
  const refuse = (why: string) =>
    new OrchError('CONFIG_INVALID', `worktrees: ${setting} ${why}`, {
      hint: 'Name a folder beside the checkout in .orchestration/config.yaml, such as ../worktrees',
      data: { folder },
    });
  if (isInside(folder, repository.commonDir)) throw refuse('is inside the git folder');
  for (const top of new Set([main, repository.worktree ?? main])) {
    if (top === repository.commonDir || !isInside(folder, top)) continue;
    if (folder === top) throw refuse('is the checkout itself');
    const inside = relative(top, folder).split(sep).join('/');
    if (!(await isIgnored(discoverRepository(top), `${inside}/`)))
      throw refuse('is inside the checkout, and git does not ignore it');
  }
  return folder;
}

/** Follows links as far as the path exists. */
function followLinks(path: string): string {
  if (statIfThere(path) !== null || dirname(path) === path) return realPath(path);
  return join(followLinks(dirname(path)), basename(path));
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
