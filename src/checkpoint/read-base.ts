import { hasCode, isOrchError, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { listPath, readCommit } from '../git/objects/read-objects.ts';
import type { TreeEntry } from '../git/objects/tree-object.ts';
import { parseOid } from '../ids.ts';
import { join } from '../state/join.ts';
import { emptyState, type State } from '../state/lists.ts';
import type { EpicId, Oid } from '../types.ts';
import { type CheckpointDocument, maxReadBytes, parseDocument } from './document/document.ts';
import { parseMessage } from './document/message.ts';
import { documentName, epicFolder, parseDocumentName } from './document/names-in-git.ts';
import { listRunPaths } from './document/run-files.ts';

/** A stored checkpoint: its commit and its document. */
export type Saved = { readonly commit: Commit; readonly document: CheckpointDocument };

/** What could not be read of a commit, and why. If the commit itself is unreadable, its parents are unknown. */
export type Damage = {
  readonly commit: Oid;
  readonly part: 'commit' | 'document';
  readonly problem: string;
  /** The damaged object, if it is one. */
  readonly object: Oid | null;
};

/** What the next checkpoint builds on. */
export type Base = {
  /** Its parents: one, unless a merge is unreadable. */
  readonly parents: readonly Commit[];
  /** The newest readable checkpoint. */
  readonly saved: Saved | null;
  readonly state: State;
  readonly seq: number;
  readonly damage: readonly Damage[];
};

/**
 * Reads the document of a commit; `INTEGRITY` if it is damaged or missing. The older checkpoints of a renamed epic are
 * under its former name, which is in each commit's message.
 */
export async function readSaved(
  git: GitEngine,
  epic: EpicId,
  commit: Commit,
  isOurs = false,
): Promise<Saved> {
  const { id, epicId = epic } = parseMessage(commit.message) ?? {};
  const entries = (await listPath(git, commit.tree, epicFolder(epicId))) ?? [];
  const entry = entries.find(({ name }) => id !== undefined && name === documentName(id));
  if (id === undefined || entry === undefined) {
    throw new OrchError(
      'INTEGRITY',
      `commit ${commit.oid} holds no checkpoint${id ? ` ${id}` : ''} of ${epicId}`,
      {
        hint: `Look at it with: git show --stat ${commit.oid}`,
        data: { commit: commit.oid },
      },
    );
  }
  await listRunPaths(git, entries); // the next checkpoint has to read these folders too
  const document = await readDocument(git, entry, commit.oid, isOurs);
  if (document.id !== id || document.epicId !== epicId) {
    throw new OrchError(
      'INTEGRITY',
      `commit ${commit.oid} is ${id} of ${epicId}, but its document is ${document.id} of ${document.epicId}`,
      {
        data: { commit: commit.oid },
      },
    );
  }
  return { commit, document };
}

export async function readCommitAndDocument(git: GitEngine, epic: EpicId, oid: Oid): Promise<Saved> {
  return readSaved(git, epic, await readCommit(git, oid));
}

async function readDocument(
  git: GitEngine,
  entry: TreeEntry,
  commit: Oid,
  isOurs = false,
): Promise<CheckpointDocument> {
  const last = lastRead.get(git);
  if (last?.oid === entry.oid) return last.document;
  const { bytes } = await git.readObject(entry.oid, maxReadBytes);
  const document = await parseDocument(bytes, `${entry.name} in ${commit.slice(0, 12)}`, isOurs);
  lastRead.set(git, { oid: entry.oid, document });
  return document;
}

/** A process that watches an epic reads the same newest document again and again. */
const lastRead = new WeakMap<GitEngine, { readonly oid: Oid; readonly document: CheckpointDocument }>();

const maxPassedOver = 200;

export const nothing: Base = { parents: [], saved: null, state: emptyState, seq: 0, damage: [] };

/**
 * Reads what to build on at a commit. A damaged checkpoint is skipped for its parents: its events come again from the
 * journals, and a history without it can be packed, pushed and garbage-collected. A newer format is an error: skipping
 * it would overwrite what a newer orch knows. `ours` are commits that this clone wrote or has checked before.
 */
export async function readBase(
  git: GitEngine,
  epic: EpicId,
  oid: Oid,
  ours: readonly Oid[] = [],
  seen: Set<Oid> = new Set(),
): Promise<Base> {
  // Deep enough for commits that others put on top; a ref that was set to a user's branch ends here.
  if (seen.has(oid) || seen.size >= maxPassedOver) return nothing;
  seen.add(oid);
  let commit: Commit;
  try {
    commit = await readCommit(git, oid);
  } catch (error) {
    return { ...nothing, damage: [damageOf(oid, 'commit', error)] };
  }
  try {
    if (parseMessage(commit.message) === null) return await readForeign(git, epic, commit, seen);
    const saved = await readSaved(git, epic, commit, ours.includes(oid));
    const { state, seq } = saved.document;
    return { parents: [commit], saved, state, seq, damage: [] };
  } catch (error) {
    const below = await readBases(git, epic, commit.parents, seen);
    return { ...below, damage: [damageOf(oid, 'document', error), ...below.damage] };
  }
}

async function readBases(git: GitEngine, epic: EpicId, oids: readonly Oid[], seen: Set<Oid>): Promise<Base> {
  let joined = nothing;
  for (const oid of oids) joined = joinBases(joined, await readBase(git, epic, oid, [], seen));
  return joined;
}

function joinBases(a: Base, b: Base): Base {
  const known = new Set(a.parents.map(({ oid }) => oid));
  return {
    parents: [...a.parents, ...b.parents.filter(({ oid }) => !known.has(oid))],
    saved: a.saved && a.seq >= b.seq ? a.saved : (b.saved ?? a.saved),
    state: join(a.state, b.state),
    seq: Math.max(a.seq, b.seq),
    damage: [...a.damage, ...b.damage],
  };
}

/** Reads a commit on our ref that orch did not make: it stays, and its parents and files say what is known. */
async function readForeign(git: GitEngine, epic: EpicId, commit: Commit, seen: Set<Oid>): Promise<Base> {
  let known = await readBases(git, epic, commit.parents, seen);
  for (const entry of (await listPath(git, commit.tree, epicFolder(epic))) ?? []) {
    if (parseDocumentName(entry.name) === null) continue;
    try {
      const document = await readDocument(git, entry, commit.oid);
      const saved = { commit, document };
      known = joinBases(known, { ...nothing, saved, state: document.state, seq: document.seq });
    } catch (error) {
      known = { ...known, damage: [...known.damage, damageOf(commit.oid, 'document', error)] };
    }
  }
  return { ...known, parents: [commit] };
}

/** Rethrows an error that is not about damage. */
function damageOf(commit: Oid, part: Damage['part'], error: unknown): Damage {
  if (!isOrchError(error) || !hasCode(error, 'INTEGRITY')) throw error;
  const { object } = error.data;
  return {
    commit,
    part,
    problem: error.message,
    object: typeof object === 'string' ? parseOid(object) : null,
  };
}

/** Reads the end of one line of history. A commit there that orch did not make stays, with what its parents say. */
export async function readEnd(git: GitEngine, epic: EpicId, oid: Oid): Promise<Saved> {
  const { parents, saved, state, seq, damage } = await readBase(git, epic, oid);
  const [commit] = parents;
  // What cannot be read must not be joined as if it did not exist: reading it again throws what is wrong.
  if (commit === undefined || saved === null || damage.length > 0)
    return readCommitAndDocument(git, epic, oid);
  return { commit, document: { ...saved.document, state, seq } };
}
