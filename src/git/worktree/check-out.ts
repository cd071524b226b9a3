import { OrchError } from '../../errors.ts';
import { removeIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';
import { openQuarantine } from '../objects/quarantine.ts';
import { editTree, formatPath, type TreeEdit } from '../objects/tree-object.ts';
import { type GitResult, gitFailed } from '../run-git.ts';
import { updateIndex } from '../snapshot/apply-changes.ts';
import { askOnIndex, listChanges, runOnIndex, writeTree } from '../snapshot/index-commands.ts';
import { copyIndex, readKeptIndex } from '../snapshot/kept-index.ts';
import type { WorkTreePorts } from '../snapshot/secret-files.ts';
import { inspectPaths } from '../snapshot/work-tree-changes.ts';
import { emptyTree } from './tree-diff.ts';

/*
 * Checks out a tree with git's own two-way merge on an index of ours, so that filters, line ends, links, modes, and
 * files that replace folders come out as in any checkout. Unchanged files are not touched.
 */

/** What to change in the working tree; paths are bytes (latin1). */
type RestoreSteps = {
  readonly write: ReadonlyMap<string, NonNullable<TreeEdit>>;
  readonly remove: ReadonlySet<string>;
  /** Files on disk that are not in the present tree and must be saved with it. */
  readonly save: ReadonlySet<string>;
};

/** An index of ours with the present files, the present tree, and the tree to restore. */
export type PreparedRestore = { readonly index: string; readonly from: Oid; readonly to: Oid };

/** Prepares the index and both trees, and syncs the trees. Changes no files yet. */
export async function prepareRestore(
  ports: WorkTreePorts,
  present: { readonly tree: Oid; readonly maxFileBytes: number },
  steps: RestoreSteps,
): Promise<PreparedRestore> {
  const { repository, git } = ports;
  const index = await openIndex(ports, present);
  try {
    const from = steps.save.size === 0 ? present.tree : await saveIgnored(ports, index, steps.save);
    const edits = new Map<string, TreeEdit>(steps.write);
    for (const path of steps.remove) edits.set(path, null);
    const { tree, objects } = await editTree(git, from, edits);
    await git.writeObjects(objects);
    // Git must not refuse because of a file with a newer time but the same bytes.
    await askOnIndex(repository, ['update-index', '-q', '--refresh'], { GIT_INDEX_FILE: index });
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
  await runOnIndex(ports.repository, ['read-tree', tree], { GIT_INDEX_FILE: path });
  return path;
}

/** Adds ignored files to the present tree. They go only into the undo, which is never pushed. */
async function saveIgnored(ports: WorkTreePorts, index: string, save: ReadonlySet<string>): Promise<Oid> {
  const { repository } = ports;
  const quarantine = await openQuarantine(ports);
  try {
    const environment = { ...quarantine.environment, GIT_INDEX_FILE: index };
    const refused = await updateIndex(repository, [...save], environment);
    const tree = refused.length === 0 ? await writeTree(repository, environment) : null;
    if (tree === null) {
      const names = refused.map(({ path }) => formatPath(path)).join(', ');
      throw new OrchError('WRITE_FAILED', `your current files could not be saved: ${names}`, {
        hint: 'Nothing was changed. Move these files elsewhere, then run the same command again.',
      });
    }
    await quarantine.release();
    return tree;
  } finally {
    quarantine.close();
  }
}

/** How many files an error names. */
const maxNamed = 5;

/** Changes the files, then checks them. Fails with `WRITE_FAILED` if some are wrong; this can be undone. */
export async function applyRestore(
  { repository }: WorkTreePorts,
  worktree: string,
  { index, from, to }: PreparedRestore,
  { write, remove }: RestoreSteps,
): Promise<void> {
  const environment = { GIT_INDEX_FILE: index };
  const moved = await moveFiles(repository, environment, from, to);
  if (moved.status !== 0 && isRefusal(moved)) throw changedMeanwhile(moved);
  if (moved.status !== 0) await expectTree(repository, to, environment);
  const { listing } = await listChanges(repository, ['changed'], environment);
  const gone = inspectPaths(worktree, remove);
  const exists = (path: string) => !['missing', 'behind link', 'folder'].includes(gone.get(path)?.kind ?? '');
  const wrong = [
    ...[...write.keys()].filter((path) => listing.changed.has(path)),
    ...[...remove].filter((path) => !write.has(path) && exists(path)),
  ];
  if (moved.status === 0 && wrong.length === 0) return;
  const names = wrong.slice(0, maxNamed).map(formatPath).join(', ');
  const more = wrong.length > maxNamed ? ` and ${wrong.length - maxNamed} more` : '';
  const reason = moved.status === 0 ? '' : ` (${gitFailed(['read-tree'], moved).message})`;
  throw new OrchError('WRITE_FAILED', `not all files were restored: ${names || 'see git'}${more}${reason}`, {
    hint: 'Get your previous files back with: orch restore --undo. Or fix the cause and run the same command again.',
    data: { files: wrong.map(formatPath), stderr: moved.stderr.slice(-2_000) },
  });
}

/** After a failure git leaves the index unchanged, so compare the files with the tree that was to be restored. */
async function expectTree(
  repository: WorkTreePorts['repository'],
  tree: Oid,
  environment: Record<string, string>,
): Promise<void> {
  await askOnIndex(repository, ['read-tree', tree], environment);
  await askOnIndex(repository, ['update-index', '-q', '--refresh'], environment);
}

/** Checks out a tree into an empty folder, without using the repository's own working tree and index. */
export async function checkOutInto(
  ports: WorkTreePorts,
  tree: Oid,
  folder: string,
  index: string,
): Promise<void> {
  const { repository, git, disk } = ports;
  const environment = { GIT_INDEX_FILE: index, GIT_DIR: repository.gitDir, GIT_WORK_TREE: folder };
  try {
    const result = await moveFiles(repository, environment, emptyTree(git.format), tree);
    if (result.status !== 0) throw notAllWritten(folder, result);
  } finally {
    removeIfThere(disk, index);
  }
}

function notAllWritten(folder: string, result: GitResult): OrchError {
  const { message } = gitFailed(['read-tree'], result);
  return new OrchError('WRITE_FAILED', `not all files could be written into ${folder} (${message})`, {
    hint: 'This folder is incomplete. Fix the cause (is the disk full?), then use another folder.',
    data: { folder, stderr: result.stderr.slice(-2_000) },
  });
}

/**
 * Runs git's two-way merge. It refuses before changing any file if one differs from the index. Sparse rules are turned
 * off, because git would remove files by them.
 */
function moveFiles(
  repository: WorkTreePorts['repository'],
  environment: Record<string, string>,
  from: Oid,
  to: Oid,
): Promise<GitResult> {
  const options = ['-m', '-u', '--no-sparse-checkout', '--no-recurse-submodules'];
  return askOnIndex(repository, ['read-tree', ...options, from, to], environment);
}

function isRefusal({ stderr }: GitResult): boolean {
  return /not uptodate|would be (overwritten|removed)|would lose untracked|Updating .* would lose/.test(
    stderr,
  );
}

function changedMeanwhile({ stderr }: GitResult): OrchError {
  const line = stderr.split('\n').find((each) => each.startsWith('error:')) ?? stderr.split('\n')[0] ?? '';
  return new OrchError('REF_CONFLICT', 'files changed just before they were restored; nothing was changed', {
    hint: 'Run the same command again.',
    data: { git: line },
  });
}
