import { dirname, join } from 'node:path';
import { readChecked, text, withFields } from '../../checks.ts';
import { hash } from '../../digest.ts';
import { explainWrites, OrchError, systemCode } from '../../errors.ts';
import {
  type Disk,
  listFolder,
  lstatIfThere,
  makeFolder,
  makeIfMissing,
  readFolder,
  readTextIfThere,
  realPath,
  removeFolderIfThere,
  removeIfThere,
  statIfThere,
  type WritePorts,
  writeUnsynced,
} from '../../system/disk.ts';
import { writeJson } from '../../system/json-file.ts';
import {
  checkProcess,
  identifyThisProcess,
  isProcessIdentity,
  type ProcessIdentity,
} from '../../system/process/identity.ts';
import type { NamedProcess } from '../../system/process/process-table.ts';
import { findWorkingIn } from '../../system/process/process-tree.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import { discoverRepository, type Repository } from '../repository.ts';
import { askGit, gitFailed, workFolder } from '../run-git.ts';
import { worktreesFolder } from './worktrees-folder.ts';

/*
 * Git worktrees of orch's own, beside the user's checkout. Each is noted on disk before git makes it, so that after a
 * crash at any point it is known as ours, and who was using it.
 */

type WorktreePorts = WritePorts & {
  readonly repository: Repository;
  /** `<common git dir>/orchestration` */
  readonly home: string;
};

export type OwnWorktree = {
  /** Unique among orch's worktrees: `bisect-k3f9qz`. */
  readonly name: string;
  readonly path: string;
  /** The process that uses it. */
  readonly holder: ProcessIdentity;
};

const isOwnWorktree = withFields<OwnWorktree>({ name: text, path: text, holder: isProcessIdentity });

type AddRequest = {
  /** May have slashes: the worktree is in a folder of this name. */
  readonly name: string;
  readonly commit: Oid;
  /** A new branch to check out; null: HEAD is detached. */
  readonly branch: string | null;
  /** Why it is locked, as `git worktree list` shows it. */
  readonly reason: string;
  /** The folder for worktrees. */
  readonly folder: string;
};

const notesFolder = (home: string) => join(home, 'worktrees');

function notePath(home: string, name: string): string {
  return join(notesFolder(home), `${hash('sha256', name).slice(0, 16)}.json`);
}

/** Only words: what is removed is inside the folder for orch's worktrees, whatever a note says. */
const plainName = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)*$/;

/** With relative paths, `git worktree add` writes an extension into the config that all worktrees share. */
const plainAdd = ['-c', 'worktree.useRelativePaths=false'];

/** Adds a locked worktree at a commit. It has no files yet; `switchWorktree` writes them. */
export async function addWorktree(ports: WorktreePorts, request: AddRequest): Promise<OwnWorktree> {
  const { repository, disk, home } = ports;
  const { name, commit, branch, reason, folder } = request;
  if (!plainName.test(name)) throw new Error(`${name} cannot be the name of a worktree`);
  const path = join(folder, name);
  const own: OwnWorktree = { name, path, holder: identifyThisProcess() };
  await writeJson(ports, notePath(home, name), own);
  try {
    await explainWrites(`${dirname(path)} could not be made`, () => makeFolder(disk, dirname(path)));
    if (statIfThere(dirname(path))?.isDirectory() !== true)
      throw new OrchError(
        'WRITE_FAILED',
        `${dirname(path)} is not a folder, and orch needs one of that name`,
        {
          hint: 'Move it out of the way, then run the same command again.',
        },
      );
    const head = branch === null ? ['--detach'] : ['-b', branch];
    const options = ['--quiet', '--no-checkout', ...head, '--lock', '--reason', reason];
    await runPlain(repository, plainAdd, ['worktree', 'add', ...options, path, commit]);
    // Git copies the user's sparse patterns. Without them, git writes all files.
    const gitFolder = findGitFolder(repository, path);
    if (gitFolder !== null) removeIfThere(disk, join(gitFolder, 'info', 'sparse-checkout'));
    return own;
  } catch (error) {
    await removeWorktree(ports, own);
    throw error;
  }
}

/** Runs git with settings of its own; an error names the command and not those. */
async function runPlain(
  repository: Repository,
  plain: readonly string[],
  args: readonly string[],
  environment: Environment = {},
): Promise<void> {
  const result = await askGit(repository, [...plain, ...args], { environment });
  if (result.status !== 0) throw gitFailed(args, result);
}

/** Lists the worktrees of orch whose names begin like this. */
export function listOwnWorktrees(
  { repository, home }: Pick<WorktreePorts, 'repository' | 'home'>,
  prefix: string,
): OwnWorktree[] {
  const notes = listFolder(notesFolder(home)).map((name) => readTextIfThere(join(notesFolder(home), name)));
  return notes
    .flatMap((note) => readChecked(note, isOwnWorktree) ?? [])
    .filter((own) => own.name.startsWith(prefix) && plainName.test(own.name) && isOurs(repository, own));
}

/**
 * May a note be believed? Outside of the usual folder only if git knows the worktree too, or if it has no files: what is
 * listed here may be removed.
 */
function isOurs(repository: Repository, { name, path }: OwnWorktree): boolean {
  if (path === join(worktreesFolder(repository), name)) return true;
  if (!path.endsWith(`/${name}`)) return false;
  return findGitFolder(repository, path) !== null || listFolder(path).length === 0;
}

/** The folder in which git keeps what it knows of a worktree; null if it does not know it. */
function findGitFolder({ commonDir }: Repository, path: string): string | null {
  const known = join(commonDir, 'worktrees');
  const link = join(path, '.git');
  const name = listFolder(known).find(
    (each) => readTextIfThere(join(known, each, 'gitdir'))?.trim() === link,
  );
  return name === undefined ? null : join(known, name);
}

/** Is the process gone that used it? False if that can't be seen from here. */
export function isLeftBehind({ holder }: OwnWorktree): boolean {
  return checkProcess(holder) === 'dead';
}

/** Is another process at work with it? False if that can't be seen from here. */
export function isUsedElsewhere({ holder }: OwnWorktree): boolean {
  return holder.pid !== identifyThisProcess().pid && checkProcess(holder) === 'alive';
}

/** Opens a worktree of orch as a repository. */
export function openWorktree({ path }: OwnWorktree): Repository {
  const found = discoverRepository(path);
  // A repository further up is another one, with files that are none of ours.
  if (found.worktree === realPath(path)) return found;
  throw new OrchError('NOT_A_REPOSITORY', `${path} is no git worktree any more`, {
    hint: 'Its files are kept. Move the folder elsewhere, then run the same command again.',
    data: { folder: path },
  });
}

/** Writes the link from a worktree to its repository again, if it was deleted and git still knows the worktree. */
export function restoreLink({ repository, disk }: WorktreePorts, { path }: OwnWorktree): void {
  const link = join(path, '.git');
  if (lstatIfThere(link) !== null) return;
  const gitFolder = findGitFolder(repository, path);
  if (gitFolder !== null) writeUnsynced(disk, link, `gitdir: ${gitFolder}\n`);
}

/** Removes the locks of a git that was killed, unless a process may still hold them. */
export function removeStaleLocks({ disk }: Pick<WorktreePorts, 'disk'>, own: OwnWorktree): void {
  if (findWorkingIn(own.path).length > 0) return;
  const { gitDir } = openWorktree(own);
  for (const lock of ['index.lock', 'HEAD.lock']) removeIfThere(disk, join(gitDir, lock));
}

/**
 * Brings the files of a worktree of orch to a commit: only those that differ are written, changes to tracked files are
 * undone, and untracked files are removed. Ignored files stay, and so does what is below the paths in `keep`. Nothing
 * else may be at work there.
 */
export async function switchWorktree(
  ports: Pick<WorktreePorts, 'disk'>,
  worktree: Repository,
  commit: Oid,
  keep: readonly string[] = [],
): Promise<void> {
  const environment = await fillWorktree(ports, worktree, commit);
  const kept = keep.flatMap((each) => ['-e', `/${each.replace(/[\\*?[\]!# ]/g, '\\$&')}`]);
  await runPlain(worktree, [], ['clean', '--quiet', '-ffd', ...kept], environment);
}

/** Writes the files of a commit into a worktree of orch, which may be empty. Returns the environment for a git there. */
export async function fillWorktree(
  { disk }: Pick<WorktreePorts, 'disk'>,
  worktree: Repository,
  commit: Oid,
): Promise<Environment> {
  const path = workFolder(worktree);
  // A command that was killed may have left these.
  for (const lock of ['index.lock', 'HEAD.lock']) removeIfThere(disk, join(worktree.gitDir, lock));
  makeIfMissing(disk, path);
  const link = join(path, '.git');
  if (lstatIfThere(link) === null) writeUnsynced(disk, link, `gitdir: ${worktree.gitDir}\n`);
  // Without these, git would look for a repository further up if a command had removed the link.
  const environment = { GIT_DIR: worktree.gitDir, GIT_WORK_TREE: path };
  const checkOut = ['checkout', '--quiet', '--force', '--detach', commit];
  await runPlain(worktree, plainCheckout, checkOut, environment);
  return environment;
}

const plainCheckout = ['submodule.recurse=false', 'core.sparseCheckout=false'].flatMap((each) => [
  '-c',
  each,
]);

/** Gives a worktree of orch another name, and the folder of that name. No process may be at work there. */
export async function moveWorktree(
  ports: WorktreePorts,
  own: OwnWorktree,
  name: string,
  reason: string,
): Promise<OwnWorktree> {
  const { repository, disk, home } = ports;
  const path = join(own.path.slice(0, -own.name.length - 1), name);
  const moved: OwnWorktree = { name, path, holder: identifyThisProcess() };
  if (name !== own.name) {
    // Both are noted until git has moved it: the one without a folder is forgotten later.
    await writeJson(ports, notePath(home, name), moved);
    await makeFolder(disk, dirname(path));
    await runPlain(repository, plainAdd, ['worktree', 'move', '--force', '--force', own.path, path]);
    removeIfThere(disk, notePath(home, own.name));
  }
  const { gitDir } = openWorktree(moved);
  writeUnsynced(disk, join(gitDir, 'locked'), reason);
  return moved;
}

/** Removes a worktree of orch with all its files, unless a process works in it: then returns these. */
export async function removeWorktree(
  { repository, disk, home }: WorktreePorts,
  { name, path }: OwnWorktree,
): Promise<readonly NamedProcess[]> {
  const working = findWorkingIn(path);
  if (working.length > 0) return working;
  // Git removes only what still looks like a worktree, or is gone.
  if (lstatIfThere(join(path, '.git')) === null) removeAll(disk, path);
  const args = ['worktree', 'remove', '--force', '--force', path];
  const result = await askGit(repository, args);
  // Git does not know one that it had no time to make.
  if (result.status !== 0 && !/is not a working tree/.test(result.stderr)) throw gitFailed(args, result);
  removeAll(disk, path);
  removeIfThere(disk, notePath(home, name));
  removeEmptyAbove(disk, path, name, worktreesFolder(repository));
  return [];
}

/** Removes what is left of a folder. Follows no links. */
function removeAll(disk: Disk, path: string): void {
  if (lstatIfThere(path) === null) return;
  for (const entry of readFolder(path)) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) removeAll(disk, inner);
    else removeIfThere(disk, inner);
  }
  removeFolderIfThere(disk, path);
}

/** Removes the folders around a worktree, if nothing else is in them; a folder that the user chose for them stays. */
function removeEmptyAbove(disk: Disk, path: string, name: string, usual: string): void {
  const top = path.slice(0, -name.length - 1);
  const isLast = (folder: string) => folder === top && top !== usual;
  for (let folder = dirname(path); folder.startsWith(top) && !isLast(folder); folder = dirname(folder)) {
    try {
      removeFolderIfThere(disk, folder);
    } catch (error) {
      if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES', 'EBUSY'].includes(systemCode(error) ?? '')) return;
      throw error;
    }
  }
}
