import type { Commit, GitEngine } from '../git/engine.ts';
import { listPath, readCommit } from '../git/read.ts';
import { readTrailers } from '../git/trailers.ts';
import type { Oid } from '../types.ts';
import { readTaskId } from '../yaml-values.ts';

/* Which tasks the commits of a branch say they completed, by their `Tasks:` trailers. */

/** `Tasks: T001, T002` */
export function readTaskTrailers(message: string): string[] {
  return readTrailers(message)
    .filter(({ name }) => name.toLowerCase() === 'tasks')
    .flatMap(({ value }) => value.split(/[\s,]+/))
    .flatMap((word) => readTaskId(word) ?? []);
}

/** Was it made for a batch: its work, or the spec's own files? */
export function isBatchCommit(message: string): boolean {
  return readTrailers(message).some(({ name }) => ['tasks', 'batch'].includes(name.toLowerCase()));
}

/** The tasks of a spec that the history of a commit completed, each with the newest commit that says so. */
export async function readTaskHistory(git: GitEngine, from: Oid, folder: string): Promise<Map<string, Oid>> {
  const found = new Map<string, Oid>();
  const reverted = new Set<string>();
  for await (const commit of git.walk(from)) {
    // Newest first, so whoever takes a commit back is seen before it; a revert that was reverted takes nothing back.
    if (reverted.has(commit.oid)) continue;
    const [, undone] = /^This reverts commit ([0-9a-f]{40,64})\b/m.exec(commit.message) ?? [];
    if (undone !== undefined) reverted.add(undone);
    const ids = readTaskTrailers(commit.message).filter((id) => !found.has(id));
    if (ids.length === 0 || !(await isAbout(git, commit, folder))) continue;
    for (const id of ids) found.set(id, commit.oid);
  }
  return found;
}

/**
 * Is a commit about this spec? Ids are the same in every spec: it must have the spec's folder, and must not be one
 * that changed other specs beside it and left this one alone.
 */
async function isAbout(git: GitEngine, commit: Commit, folder: string): Promise<boolean> {
  const beside = folder.split('/').slice(0, -1);
  const own = folder.split('/').at(-1);
  const readSpecs = async (tree: Oid) =>
    new Map(((await listPath(git, tree, beside)) ?? []).map(({ name, oid }) => [name, oid]));
  const now = await readSpecs(commit.tree);
  if (own === undefined || !now.has(own)) return false;
  const [parent] = commit.parents;
  const before = parent ? await readSpecs((await readCommit(git, parent)).tree) : new Map<string, Oid>();
  if (now.get(own) !== before.get(own)) return true;
  return [...now].every(([name, oid]) => before.get(name) === oid);
}
