import type { Millis, Oid } from '../types.ts';
import { formatCommit } from './commit.ts';
import type { GitEngine, GitObject } from './engine.ts';
import { hashObject } from './objects.ts';
import { readTree } from './read.ts';
import { fileMode, folderMode, formatTree, type TreeEntry } from './tree.ts';

export type CommitDraft = {
  /** The folder all edits are in, as its parts. */
  readonly folder: readonly string[];
  /** File name → what it holds from now on; null takes it away. Everything else in the tree stays. */
  readonly edits: ReadonlyMap<string, Buffer | null>;
  readonly message: string;
  readonly authoredAt: Millis;
  readonly committedAt: Millis;
};

/** A tree on the way down to the folder that is edited. */
type Level = { readonly entries: readonly TreeEntry[] };

async function readLevels(git: GitEngine, tree: Oid | null, folder: readonly string[]): Promise<Level[]> {
  const levels: Level[] = [{ entries: tree === null ? [] : await readTree(git, tree) }];
  for (const name of folder) {
    const next = levels.at(-1)?.entries.find((entry) => entry.name === name && entry.mode === folderMode);
    levels.push({ entries: next === undefined ? [] : await readTree(git, next.oid) });
  }
  return levels;
}

function put(entries: readonly TreeEntry[], name: string, entry: TreeEntry | null): TreeEntry[] {
  const others = entries.filter((other) => other.name !== name);
  return entry === null ? others : [...others, entry];
}

/**
 * Writes commits, one upon the other, then moves the ref from its expected value to the last, or fails with
 * `REF_CONFLICT`. The first one stands on `parents` and edits the tree of `base`. The ref moves only once `ready` is.
 */
export async function append(
  git: GitEngine,
  to: { ref: string; expected: Oid | null; parents: readonly Oid[]; base: Oid | null },
  drafts: readonly CommitDraft[],
  ready: Promise<void> = Promise.resolve(),
): Promise<Oid[]> {
  const objects: GitObject[] = [];
  const add = (object: GitObject): Oid => {
    objects.push(object);
    return hashObject(object, git.format);
  };
  const commits: Oid[] = [];
  let parents = to.parents;
  let levels: Level[] | null = null;
  for (const draft of drafts) {
    levels ??= await readLevels(git, to.base, draft.folder);
    const tree = writeLevels(levels, draft, add);
    levels = tree.levels;
    const { message, authoredAt, committedAt } = draft;
    const commit = add(formatCommit({ tree: tree.oid, parents, message, authoredAt, committedAt }));
    commits.push(commit);
    parents = [commit];
  }
  const last = commits.at(-1);
  if (last === undefined) return [];
  await Promise.all([git.writeObjects(objects), ready]);
  await git.moveRefs([{ ref: to.ref, from: to.expected, to: last }]);
  return commits;
}

/** Edits the deepest folder, and puts each new tree into the one above it. */
function writeLevels(levels: readonly Level[], draft: CommitDraft, add: (object: GitObject) => Oid) {
  const next: Level[] = [];
  let entries = [...(levels.at(-1)?.entries ?? [])];
  for (const [name, bytes] of draft.edits) {
    const edited = bytes && { mode: fileMode, name, oid: add({ kind: 'blob', bytes }) };
    entries = put(entries, name, edited);
  }
  let oid = add(formatTree(entries));
  next.unshift({ entries });
  for (let depth = draft.folder.length - 1; depth >= 0; depth--) {
    const name = draft.folder[depth] ?? '';
    entries = put(levels[depth]?.entries ?? [], name, { mode: folderMode, name, oid });
    oid = add(formatTree(entries));
    next.unshift({ entries });
  }
  return { oid, levels: next };
}
