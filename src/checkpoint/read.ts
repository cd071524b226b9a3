import { hasCode, isOrchError, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { listPath, readCommit } from '../git/read.ts';
import type { TreeEntry } from '../git/tree.ts';
import { parseOid } from '../ids.ts';
import { join } from '../state/join.ts';
import { emptyState, type State } from '../state/lists.ts';
import type { EpicId, Oid } from '../types.ts';
import { listRunPaths } from './beside.ts';
import { type CheckpointDocument, maxReadBytes, parseDocument } from './document.ts';
import { parseMessage } from './message.ts';
import { documentName, epicFolder, parseDocumentName } from './tree.ts';

/** A checkpoint that is stored: its commit and its document. */
export type Saved = { readonly commit: Commit; readonly document: CheckpointDocument };

/** What of a commit could not be read, and why. Without the commit itself its parents are unknown too. */
export type Damage = {
  readonly commit: Oid;
  readonly part: 'commit' | 'document';
  readonly problem: string;
  /** The object that is damaged, where it is one. */
  readonly object: Oid | null;
};

/** What the next checkpoint stands on. */
export type Base = {
  /** Its parents; one, unless a merge is unreadable. */
  readonly parents: readonly Commit[];
  /** The newest checkpoint that can be read. */
  readonly saved: Saved | null;
  readonly state: State;
  readonly seq: number;
  readonly damage: readonly Damage[];
};

/**
 * The document a commit of ours was made for; `INTEGRITY` where it is damaged or gone. An epic that was renamed has its
 * older checkpoints under its former name, which each of them says itself.
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
  await listRunPaths(git, entries); // whoever builds on it has to read these folders too
  const document = await readDocument(git, entry, commit.oid, isOurs);
  if (document.id !== id || document.epicId !== epicId) {
    throw new OrchError(
      'INTEGRITY',
      `commit ${commit.oid} says ${id} of ${epicId}, its document ${document.id} of ${document.epicId}`,
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

/** Whoever watches an epic reads the same newest document again and again. */
const lastRead = new WeakMap<GitEngine, { readonly oid: Oid; readonly document: CheckpointDocument }>();

const maxPassedOver = 200;

export const nothing: Base = { parents: [], saved: null, state: emptyState, seq: 0, damage: [] };

/**
 * What can be built on at a commit. A damaged checkpoint is passed over for its parents: what was in it comes again
 * from the journals, and a history that leaves it out can be packed, pushed and collected again.
 * A newer format is an error: passing it over would write over what a newer orch knows.
 * `ours` are commits that this clone wrote or has checked before.
 */
export async function readBase(
  git: GitEngine,
  epic: EpicId,
  oid: Oid,
  ours: readonly Oid[] = [],
  seen: Set<Oid> = new Set(),
): Promise<Base> {
  // Far enough for what others may have put on top; a ref that was set to a branch of the user's ends here.
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

/** Somebody else's commit on our ref: it stays, and what is known is what its parents and its files say. */
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

/** Passes on what is no damage at all. */
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

/** What one line of the history says at its end. A commit there that is not orch's stays, with what its parents say. */
export async function readEnd(git: GitEngine, epic: EpicId, oid: Oid): Promise<Saved> {
  const { parents, saved, state, seq, damage } = await readBase(git, epic, oid);
  const [commit] = parents;
  // What cannot be read must not be joined as if it were not there: reading it again says what is wrong.
  if (commit === undefined || saved === null || damage.length > 0)
    return readCommitAndDocument(git, epic, oid);
  return { commit, document: { ...saved.document, state, seq } };
}
