import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { OrchError } from '../errors.ts';
import { realPath } from '../system/files.ts';
import { cleanText } from '../text.ts';

/**
 * The path of a file within the repository, as git names it, from one typed in a folder of it. What lies outside is
 * refused: on another machine it would name another file, or somebody's secret.
 */
export function locateFile(typed: string, folder: string, worktree: string | null): string {
  const top = worktree ?? folder;
  const path = pathWithin(top, resolve(folder, typed));
  if (cleanText(typed).trim() !== '' && path !== null) return path;
  throw new OrchError('USAGE', `${JSON.stringify(typed.slice(0, 200))} is no file in this repository`, {
    hint: `Name one below ${join(top, sep)}`,
    data: { path: typed },
  });
}

/** The same for a file an agent named, which may have come there by links; null for what lies outside. */
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
    return folder; // it is gone, with what was in it
  }
}
