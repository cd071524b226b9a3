import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { OrchError } from '../errors.ts';
import { cleanText } from '../text.ts';

/**
 * The path of a file within the repository, as git names it, from one typed in a folder of it. What lies outside is
 * refused: on another machine it would name another file, or somebody's secret.
 */
export function locateFile(typed: string, folder: string, worktree: string | null): string {
  const top = worktree ?? folder;
  const path = relative(top, resolve(folder, typed));
  const isOutside = path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
  if (cleanText(typed).trim() !== '' && path !== '' && !isOutside) return path.split(sep).join('/');
  throw new OrchError('USAGE', `${JSON.stringify(typed.slice(0, 200))} is no file in this repository`, {
    hint: `Name one below ${join(top, sep)}`,
    data: { path: typed },
  });
}
