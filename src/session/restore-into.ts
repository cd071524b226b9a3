import { join, relative, resolve, sep } from 'node:path';
import { isWithin } from '../checkpoint/restore.ts';
import { OrchError, systemCode, writeFailed } from '../errors.ts';
import { editTree } from '../git/edit-tree.ts';
import { checkOutInto, showPath } from '../git/restore.ts';
import { findMissing } from '../git/storage.ts';
import { submoduleMode } from '../git/tree.ts';
import { diffTrees, emptyTree } from '../git/tree-diff.ts';
import { listFolder, makeFolder, realPath, statIfThere } from '../system/files.ts';
import { withCode } from './lost-code.ts';
import { checkpointsOf, seqOf } from './restore-plan.ts';
import { codeNotHere, needsGit, type RestorePorts, type RestoreTarget } from './restore-target.ts';

/** Puts the code of a target into a folder that is new or empty, and gives the paths. The working tree has no part in it. */
export async function restoreInto(
  ports: RestorePorts,
  target: RestoreTarget,
  folder: string,
): Promise<string[]> {
  return withCode(ports, checkpointsOf(target), () => writeInto(ports, target, folder));
}

async function writeInto(
  ports: RestorePorts,
  { tree, scope, label, ...target }: RestoreTarget,
  folder: string,
): Promise<string[]> {
  const { git, repository, disk, random, home } = ports;
  if (git.name !== 'native') throw needsGit();
  refuseUnfit(ports, folder);
  const files = (await diffTrees(repository, emptyTree(git.format), tree)).filter(({ path }) =>
    isWithin(path, scope),
  );
  const unknown = scope?.find((each) => !files.some(({ path }) => isWithin(path, [each])));
  if (unknown !== undefined) {
    throw new OrchError('USAGE', `${showPath(unknown)} is not in ${label}`, {
      hint: 'Nothing was written. Check the paths.',
    });
  }
  const blobs = files.flatMap(({ to }) => (to && to.mode !== submoduleMode ? [to.oid] : []));
  const missing = await findMissing(repository, blobs);
  if (missing.length > 0)
    throw codeNotHere(seqOf({ tree, scope, label, ...target }), { missing: missing.length });
  const edits = new Map(files.map(({ path, to }) => [path, to]));
  const part = scope === null ? null : await editTree(git, emptyTree(git.format), edits);
  if (part) await git.writeObjects(part.objects);
  try {
    await makeFolder(disk, folder);
    await makeFolder(disk, home);
  } catch (error) {
    throw writeFailed(`${folder} could not be made`, error);
  }
  await checkOutInto(
    ports,
    part?.tree ?? tree,
    realPath(folder),
    join(home, `restore-index-${random.id(8)}`),
  );
  return files.map(({ path }) => path);
}

function refuseUnfit({ repository }: RestorePorts, folder: string): void {
  const stat = statIfThere(folder);
  if (stat && !stat.isDirectory()) throw unfit(`${folder} is a file`);
  if (stat && holdsSomething(folder)) throw unfit(`${folder} is not empty`);
  for (const own of [repository.gitDir, repository.commonDir]) {
    if (isBelow(own, realFolder(folder))) throw unfit(`${folder} is inside the repository's own folder`);
  }
}

function holdsSomething(folder: string): boolean {
  try {
    return listFolder(folder).length > 0;
  } catch (error) {
    if (systemCode(error) === 'EACCES') return true; // nobody can tell
    throw error;
  }
}

/** Where a folder is, or will be, with no link on the way. */
function realFolder(folder: string): string {
  const above = resolve(folder, '..');
  if (statIfThere(folder) || above === folder) return realPath(folder);
  return join(realFolder(above), relative(above, folder));
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && resolve(way) !== way);
}

function unfit(problem: string): OrchError {
  return new OrchError('USAGE', `the code cannot go there: ${problem}`, {
    hint: 'Nothing was written. Name a folder that is new or empty.',
  });
}
