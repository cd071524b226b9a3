import { join, relative, resolve } from 'node:path';
import { OrchError, systemCode, writeFailed } from '../errors.ts';
import { findMissing } from '../git/objects/reachable.ts';
import { editTree, formatPath, submoduleMode } from '../git/objects/tree-object.ts';
import { checkOutInto } from '../git/worktree/check-out.ts';
import { diffTrees, emptyTree } from '../git/worktree/tree-diff.ts';
import { listFolder, makeFolder, realPath, statIfThere } from '../system/disk.ts';
import { codeNotHere, needsGit, type RestorePorts, type RestoreTarget } from './find-target.ts';
import { explainLostCode } from './missing-code.ts';
import { isWithin } from './plan-restore.ts';
import { checkpointsOf, isOutside, seqOf } from './propose-restore.ts';

/** Writes the code of a target to a new or empty folder, and returns the paths. The working tree is not touched. */
export async function restoreToFolder(
  ports: RestorePorts,
  target: RestoreTarget,
  folder: string,
): Promise<string[]> {
  return explainLostCode(ports, checkpointsOf(target), () => writeTarget(ports, target, folder));
}

async function writeTarget(ports: RestorePorts, target: RestoreTarget, folder: string): Promise<string[]> {
  const { git, repository, disk, random, home } = ports;
  const { tree, scope, label } = target;
  if (git.name !== 'native') throw needsGit();
  refuseUnsuitable(ports, folder);
  const files = (await diffTrees(repository, emptyTree(git.format), tree)).filter(({ path }) =>
    isWithin(path, scope),
  );
  const unknown = scope?.find((each) => !files.some(({ path }) => isWithin(path, [each])));
  if (unknown !== undefined) {
    throw new OrchError('USAGE', `${formatPath(unknown)} is not in ${label}`, {
      hint: 'Nothing was written. Check the paths.',
    });
  }
  const blobs = files.flatMap(({ to }) => (to && to.mode !== submoduleMode ? [to.oid] : []));
  const missing = await findMissing(repository, blobs);
  if (missing.length > 0) throw codeNotHere(seqOf(target), { missing: missing.length });
  const edits = new Map(files.map(({ path, to }) => [path, to]));
  const part = scope === null ? null : await editTree(git, emptyTree(git.format), edits);
  if (part) await git.writeObjects(part.objects);
  try {
    await makeFolder(disk, folder);
    await makeFolder(disk, home);
  } catch (error) {
    throw writeFailed(`${folder} could not be created`, error);
  }
  const index = join(home, `restore-index-${random.id(8)}`);
  await checkOutInto(ports, part?.tree ?? tree, realPath(folder), index);
  return files.map(({ path }) => path);
}

function refuseUnsuitable({ repository }: RestorePorts, folder: string): void {
  const stat = statIfThere(folder);
  if (stat && !stat.isDirectory()) throw unsuitableFolder(`${folder} is a file`);
  if (stat && mayHoldFiles(folder)) throw unsuitableFolder(`${folder} is not empty`);
  for (const own of [repository.gitDir, repository.commonDir]) {
    if (!isOutside(relative(own, realFolder(folder))))
      throw unsuitableFolder(`${folder} is inside the repository's own folder`);
  }
}

function mayHoldFiles(folder: string): boolean {
  try {
    return listFolder(folder).length > 0;
  } catch (error) {
    if (systemCode(error) === 'EACCES') return true;
    throw error;
  }
}

/** The real path of a folder that may not exist yet. */
function realFolder(folder: string): string {
  const above = resolve(folder, '..');
  if (statIfThere(folder) || above === folder) return realPath(folder);
  return join(realFolder(above), relative(above, folder));
}

function unsuitableFolder(problem: string): OrchError {
  return new OrchError('USAGE', `cannot restore there: ${problem}`, {
    hint: 'Nothing was written. Name a new or an empty folder.',
  });
}
