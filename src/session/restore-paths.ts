import { relative, resolve, sep } from 'node:path';
import { OrchError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import { showPath } from '../git/restore.ts';
import { realPath } from '../system/files.ts';

/** Paths as they were typed in a folder → from the top of the working tree, in bytes, one to a character. */
export function scopeOf({ worktree }: Repository, folder: string, paths: readonly string[]): string[] {
  const top = worktree ?? folder;
  return paths.map((path) => {
    if (path === '')
      throw new OrchError('USAGE', 'a path is empty', { hint: 'For all files, name no path at all' });
    const inside = relative(top, resolve(realPath(folder), path));
    if (inside === '..' || inside.startsWith(`..${sep}`) || resolve(inside) === inside) {
      throw new OrchError('USAGE', `${path} is outside the working tree`, {
        hint: `Name files below ${top}`,
      });
    }
    return Buffer.from(inside.replaceAll(sep, '/')).toString('latin1');
  });
}

/** Paths for people and programs: as text, sorted. */
export function showPaths(paths: Iterable<string>): string[] {
  return [...paths].map(showPath).sort();
}
