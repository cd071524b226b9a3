import { OrchError } from '../errors.ts';
import { removeIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import { editTree, type TreeEdit } from './edit-tree.ts';
import { openQuarantine } from './quarantine.ts';
import { type Finished, gitFailed } from './spawn.ts';
import { emptyTree } from './tree-diff.ts';
import type { WorkTreePorts } from './work-tree-apply.ts';
import { listChanges, runOnIndex, writeTree } from './work-tree-git.ts';
import { copyIndex, readKeptIndex } from './work-tree-index.ts';
import { lookAt } from './work-tree-look.ts';
import { updateIndex } from './work-tree-store.ts';

/*
 * Bringing a tree into the working tree, with git's own two-way merge on an index of ours: filters, line ends, links,
 * modes, and files that take the place of folders come out as git checks them out; what is the same is not touched.
 */

/** What to do to the working tree; paths are bytes, one to a character. */
export type Carrying = {
  readonly write: ReadonlyMap<string, NonNullable<TreeEdit>>;
  readonly remove: ReadonlySet<string>;
  /** Files on disk that the present tree has not, and that have to be saved with it. */
  readonly save: ReadonlySet<string>;
};

/** An index of ours that holds the working tree, and the two trees between which it is moved. */
export type Prepared = { readonly index: string; readonly from: Oid; readonly to: Oid };

/**
 * Makes ready: an index that knows the present files, the present tree with what else has to be saved, and the tree
 * they are to become. Both are on disk to stay; no file has changed yet.
 */
export async function prepareRestore(
  ports: WorkTreePorts,
  present: { readonly tree: Oid; readonly maxFileBytes: number },
  carrying: Carrying,
): Promise<Prepared> {
  const { repository, git } = ports;
  const index = await openIndex(ports, present);
  try {
    const from = carrying.save.size === 0 ? present.tree : await saveBesides(ports, index, carrying.save);
    const edits = new Map<string, TreeEdit>(carrying.write);
    for (const path of carrying.remove) edits.set(path, null);
    const { tree, objects } = await editTree(git, from, edits);
    await git.writeObjects(objects);
    // What only looks changed (a newer time, the same bytes) must not stop git.
    await runOnIndex(repository, ['update-index', '-q', '--refresh'], { GIT_INDEX_FILE: index });
    return { index, from, to: tree };
  } catch (error) {
    removeIfThere(ports.disk, index);
    throw error;
  }
}

async function openIndex(
  ports: WorkTreePorts,
  { tree, maxFileBytes }: { readonly tree: Oid; readonly maxFileBytes: number },
): Promise<string> {
  const kept = readKeptIndex(ports, maxFileBytes);
  if (kept?.tree === tree) {
    const { path, copied } = await copyIndex(ports, kept);
    if (copied === kept.mark) return path;
    removeIfThere(ports.disk, path);
  }
  const { path } = await copyIndex(ports, null);
  const args = ['read-tree', tree];
  const result = await runOnIndex(ports.repository, args, { GIT_INDEX_FILE: path });
  if (result.status !== 0) throw gitFailed(args, result);
  return path;
}

/** The present tree with files that are ignored; they go into the undo, which is never pushed, and nowhere else. */
async function saveBesides(ports: WorkTreePorts, index: string, save: ReadonlySet<string>): Promise<Oid> {
  const { repository } = ports;
  const quarantine = await openQuarantine(ports);
  try {
    const environment = { ...quarantine.environment, GIT_INDEX_FILE: index };
    const refused = await updateIndex(repository, [...save], environment);
    const tree = refused.length === 0 ? await writeTree(repository, environment) : null;
    if (tree === null) {
      const names = refused.map(({ path }) => showPath(path)).join(', ');
      throw new OrchError('WRITE_FAILED', `what is there now could not be saved: ${names}`, {
        hint: 'Nothing was changed. Move it out of the way, then run the same command again.',
      });
    }
    await quarantine.release();
    return tree;
  } finally {
    quarantine.close();
  }
}

/** So much of what went wrong is said. */
const mostNamed = 5;

/** Changes the files, then reads them back. What of it was not done is `WRITE_FAILED`, and can be undone. */
export async function carryOut(
  { repository }: WorkTreePorts,
  worktree: string,
  { index, from, to }: Prepared,
  { write, remove }: Carrying,
): Promise<void> {
  const environment = { GIT_INDEX_FILE: index };
  const moved = await moveFiles({ repository, environment }, from, to);
  if (moved.status !== 0 && isRefusal(moved)) throw changedMeanwhile(moved);
  if (moved.status !== 0) await expectTree(repository, to, environment);
  const { listing } = await listChanges(repository, ['changed'], environment);
  const gone = lookAt(worktree, remove);
  const there = (path: string) => !['missing', 'behind link', 'folder'].includes(gone.get(path)?.kind ?? '');
  const undone = [
    ...[...write.keys()].filter((path) => listing.changed.has(path)),
    ...[...remove].filter((path) => !write.has(path) && there(path)),
  ];
  if (moved.status === 0 && undone.length === 0) return;
  const names = undone.slice(0, mostNamed).map(showPath).join(', ');
  const more = undone.length > mostNamed ? ` and ${undone.length - mostNamed} more` : '';
  const said = moved.status === 0 ? '' : ` (${gitFailed(['read-tree'], moved).message})`;
  throw new OrchError(
    'WRITE_FAILED',
    `not all files are as they should be: ${names || 'see git'}${more}${said}`,
    {
      hint: 'Bring back what was there with: orch restore --undo. Or fix the cause, and run the same command again.',
      data: { files: undone.map(showPath), stderr: moved.stderr.slice(-2_000) },
    },
  );
}

/** Git left the index as it was: what it did of its work is found by comparing with what was wanted. */
async function expectTree(
  repository: WorkTreePorts['repository'],
  tree: Oid,
  environment: Record<string, string>,
): Promise<void> {
  for (const args of [
    ['read-tree', tree],
    ['update-index', '-q', '--refresh'],
  ])
    await runOnIndex(repository, args, environment);
}

/** Puts a tree into an empty folder. The repository's working tree and index have no part in it. */
export async function checkOutInto(
  ports: WorkTreePorts,
  tree: Oid,
  folder: string,
  index: string,
): Promise<void> {
  const { repository, git, disk } = ports;
  const environment = {
    GIT_INDEX_FILE: index,
    GIT_DIR: repository.gitDir,
    GIT_WORK_TREE: folder,
  };
  try {
    const result = await moveFiles({ repository, environment }, emptyTree(git.format), tree);
    if (result.status !== 0) throw notAllWritten(folder, result);
  } finally {
    removeIfThere(disk, index);
  }
}

function notAllWritten(folder: string, result: Finished): OrchError {
  const { message } = gitFailed(['read-tree'], result);
  return new OrchError('WRITE_FAILED', `not all files could be written into ${folder} (${message})`, {
    hint: 'Fix the cause (is the disk full?), then name another folder; what is in this one is not all of it.',
    data: { folder, stderr: result.stderr.slice(-2_000) },
  });
}

/**
 * Git's own two-way merge. It refuses before the first file where one is not as the index says; and it takes the
 * user's sparse rules for an order to remove files, so they are kept from it.
 */
function moveFiles(
  {
    repository,
    environment,
  }: { repository: WorkTreePorts['repository']; environment: Record<string, string> },
  from: Oid,
  to: Oid,
): Promise<Finished> {
  const options = ['-m', '-u', '--no-sparse-checkout', '--no-recurse-submodules'];
  return runOnIndex(repository, ['read-tree', ...options, from, to], environment);
}

function isRefusal({ stderr }: Finished): boolean {
  return /not uptodate|would be (overwritten|removed)|would lose untracked|Updating .* would lose/.test(
    stderr,
  );
}

function changedMeanwhile({ stderr }: Finished): OrchError {
  const said = stderr.split('\n').find((line) => line.startsWith('error:')) ?? stderr.split('\n')[0] ?? '';
  return new OrchError(
    'REF_CONFLICT',
    'files changed while they were about to be restored; nothing was changed',
    {
      hint: 'Run the same command again.',
      data: { git: said },
    },
  );
}

/** A path for people: as text, where it is text. */
export function showPath(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}
