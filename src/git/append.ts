import type { Millis, Oid } from '../types.ts';
import { formatCommit } from './commit.ts';
import { editTree, type TreeEdit } from './edit-tree.ts';
import type { GitEngine, GitObject, RefUpdate } from './engine.ts';
import { hashObject } from './objects.ts';
import { fileMode } from './tree.ts';

export type CommitDraft = {
  /** The folder all edits are in, as its parts. */
  readonly folder: readonly string[];
  /** The path of a file in it → what it holds from now on; null takes it away. Everything else in the tree stays. */
  readonly edits: ReadonlyMap<string, Buffer | null>;
  readonly message: string;
  readonly authoredAt: Millis;
  readonly committedAt: Millis;
};

/**
 * Writes commits, one upon the other, then moves the ref from its expected value to the last, or fails with
 * `REF_CONFLICT`. The first one stands on `parents` and edits the tree of `base`. The ref moves only once `ready` is, and
 * with it those of `also`, all or none.
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
  await git.keepObjects(objects);
  return commits;
}

/** The commits alone, on disk: no ref leads to them yet. */
export async function writeCommits(
  git: GitEngine,
  to: { readonly parents: readonly Oid[]; readonly base: Oid | null },
  drafts: readonly CommitDraft[],
  ready: Promise<void> = Promise.resolve(),
): Promise<{ readonly commits: Oid[]; readonly objects: readonly GitObject[] }> {
  const objects = new Map<Oid, GitObject>();
  const add = (object: GitObject): Oid => {
    const oid = hashObject(object, git.format);
    objects.set(oid, object);
    return oid;
  };
  // A commit stands on the tree of the one before it, which is not written yet.
  const withOurs: GitEngine = {
    ...git,
    readObject: async (oid) => objects.get(oid) ?? git.readObject(oid),
  };
  const commits: Oid[] = [];
  let { parents, base } = to;
  for (const draft of drafts) {
    const { tree, objects: trees } = await editTree(withOurs, base, placeEdits(draft, add));
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

/** Edits by their paths from the top of the tree, as bytes. */
function placeEdits({ folder, edits }: CommitDraft, add: (object: GitObject) => Oid): Map<string, TreeEdit> {
  return new Map(
    [...edits].map(([path, bytes]) => [
      Buffer.from([...folder, path].join('/')).toString('latin1'),
      bytes && { mode: fileMode, oid: add({ kind: 'blob', bytes }) },
    ]),
  );
}
