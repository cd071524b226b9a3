import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { OrchError } from '../../errors.ts';
import { realPath } from '../../system/disk.ts';
import { cleanText } from '../../text.ts';

/**
 * The repository path, as git names it, of a file typed in a folder. A file outside is refused: on another machine the
 * path would name a different file, or a private one.
 */
export function locateFile(typed: string, folder: string, worktree: string | null): string {
  const top = worktree ?? folder;
  const path = pathWithin(top, resolve(folder, typed));
  if (cleanText(typed).trim() !== '' && path !== null) return path;
  throw new OrchError('USAGE', `${JSON.stringify(typed.slice(0, 200))} is not a file in this repository`, {
    hint: `Give a path below ${join(top, sep)}`,
    data: { path: typed },
  });
}

/** The same for a file that an agent named, possibly through links; null for a file outside. */
export function findFile(named: string, folder: string, worktree: string): string | null {
  const file = resolve(folder, named);
  return pathWithin(worktree, file) ?? pathWithin(worktree, join(realFolder(dirname(file)), basename(file)));
}

function pathWithin(top: string, file: string): string | null {
  const path = relative(top, file);
  const isOutside = path === '' || path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
  return isOutside ? null : path.split(sep).join('/');
}

function realFolder(folder: string): string {
  try {
    return realPath(folder);
  } catch {
    return folder; // it was deleted
  }
}
