import { join, relative, sep } from 'node:path';
import { OrchError } from '../errors.ts';
import { locateFile } from '../session/file-path.ts';
import { listFolder, realPath, statIfThere } from '../system/files.ts';

/** Where specs that are worked on stand, in the user's working tree. */
const active = 'specs/active';

/** The folder of the spec that is meant, as git names it: the one given, the one around, the only one in `specs/active`. */
export function chooseSpec(worktree: string, given: string | null, cwd: string): string {
  if (given !== null) return locateSpec(worktree, given, cwd);
  const names = listSpecs(worktree);
  const around = relative(worktree, realPath(cwd)).split(sep).join('/');
  const inside = names.find((name) => `${around}/`.startsWith(`${active}/${name}/`));
  if (inside !== undefined) return `${active}/${inside}`;
  const [only, ...others] = names;
  if (only === undefined)
    throw new OrchError('USAGE', `there is no spec in ${active}`, {
      hint: 'Name its folder with --spec DIR; it has a tasks.yaml and a dependencies.yaml',
    });
  if (others.length > 0)
    throw new OrchError('USAGE', `which spec? There are ${names.length}: ${names.join(', ')}`, {
      hint: `Name one, such as: --spec ${only}`,
      data: { specs: names },
    });
  return `${active}/${only}`;
}

function listSpecs(worktree: string): string[] {
  return listFolder(join(worktree, active))
    .filter((name) => !name.startsWith('.') && isFolder(join(worktree, active, name)))
    .sort();
}

function isFolder(path: string): boolean {
  return statIfThere(path)?.isDirectory() === true;
}

/** A folder, or the name of one of the specs that are worked on. */
function locateSpec(worktree: string, given: string, cwd: string): string {
  const path = locateFile(given, realPath(cwd), worktree);
  if (isFolder(join(worktree, path))) return path;
  if (listSpecs(worktree).includes(given)) return `${active}/${given}`;
  const names = listSpecs(worktree);
  throw new OrchError('USAGE', `there is no spec ${JSON.stringify(given.slice(0, 200))}`, {
    hint: names.length === 0 ? 'Name its folder' : `In ${active} there are: ${names.join(', ')}`,
    data: { specs: names },
  });
}
