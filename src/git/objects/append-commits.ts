import type { Millis, Oid } from '../../types.ts';
import type { GitEngine, GitObject, ObjectFormat, RefUpdate } from '../engine.ts';
import { formatCommit } from './commit-object.ts';
import { hashObject } from './loose-objects.ts';
import { editTree, fileMode, folderMode, noFolder, type TreeEdit } from './tree-object.ts';

export type CommitDraft = {
  /** The path of the folder that contains all edits. */
  readonly folder: readonly string[];
  /** File path in that folder → its new content; null removes it. The rest of the tree stays. */
  readonly edits: ReadonlyMap<string, Buffer | null>;
  /** Folder path in that folder → its new tree; null removes it. */
  readonly folders?: ReadonlyMap<string, Oid | null>;
  /** Objects of these trees that are to be written. */
  readonly objects?: readonly GitObject[];
  readonly message: string;
  readonly authoredAt: Millis;
  readonly committedAt: Millis;
};

/**
 * Writes a chain of commits, then moves the ref from its expected value to the last one, or fails with `REF_CONFLICT`.
 * The first commit has these `parents` and edits the tree `base`. The ref moves once `ready` resolves, together with
 * the refs in `also`, all or none.
 */
export async function append(
  git: GitEngine,
  to: { ref: string; expected: Oid | null; parents: readonly Oid[]; base: Oid | null },
  drafts: readonly CommitDraft[],
  ready: Promise<void> = Promise.resolve(),
  also: readonly RefUpdate[] = [],
): Promise<Oid[]> {
  const { commits, objects } = await writeCommits(git, to, drafts, ready);
  const last = commits.at(-1);
  if (last === undefined) return [];
  await git.moveRefs([{ ref: to.ref, from: to.expected, to: last }, ...also]);
  await git.ensureObjects(objects);
  return commits;
}

/** Writes and syncs the commits; no ref leads to them yet. */
async function writeCommits(
  git: GitEngine,
  to: { readonly parents: readonly Oid[]; readonly base: Oid | null },
  drafts: readonly CommitDraft[],
  ready: Promise<void>,
): Promise<{ readonly commits: Oid[]; readonly objects: readonly GitObject[] }> {
  const objects = new Map<Oid, GitObject>();
  const add = (object: GitObject): Oid => {
    const oid = hashObject(object, git.format);
    objects.set(oid, object);
    return oid;
  };
  // Each commit edits the tree of the one before it, which is not written yet.
  const withOurs: GitEngine = {
    ...git,
    readObject: async (oid) => objects.get(oid) ?? git.readObject(oid),
  };
  const commits: Oid[] = [];
  let { parents, base } = to;
  for (const draft of drafts) {
    for (const object of draft.objects ?? []) add(object);
    const { tree, objects: trees } = await editTree(withOurs, base, placeEdits(draft, git.format, add));
    for (const object of trees) add(object);
    const { message, authoredAt, committedAt } = draft;
    const commit = add(formatCommit({ tree, parents, message, authoredAt, committedAt }));
    commits.push(commit);
    parents = [commit];
    base = tree;
  }
  const all = [...objects.values()];
  if (all.length > 0) await Promise.all([git.writeObjects(all), ready]);
  return { commits, objects: all };
}

/** Edits by path from the top of the tree, in bytes. */
function placeEdits(
  { folder, edits, folders = new Map() }: CommitDraft,
  format: ObjectFormat,
  add: (object: GitObject) => Oid,
): Map<string, TreeEdit> {
  const place = (path: string) => Buffer.from([...folder, path].join('/')).toString('latin1');
  const placed = new Map<string, TreeEdit>();
  for (const [path, bytes] of edits)
    placed.set(place(path), bytes && { mode: fileMode, oid: add({ kind: 'blob', bytes }) });
  for (const [path, oid] of folders)
    placed.set(place(path), oid === null ? noFolder(format) : { mode: folderMode, oid });
  return placed;
}
