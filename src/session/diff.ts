import { isWithin } from '../checkpoint/restore.ts';
import { type Change, listChanges } from '../git/changes.ts';
import { readWorkTree } from '../git/snapshot.ts';
import type { EpicId, Oid } from '../types.ts';
import { findCode, type RestorePorts } from './restore-target.ts';

/** One side of a comparison: the code of a checkpoint, or the files as they are. */
export type Side = {
  readonly tree: Oid;
  /** `ckpt 51`, or `now`. */
  readonly label: string;
  /** The checkpoint's id; null for now. */
  readonly id: string | null;
  /** What is not in the tree, and so not compared. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
};

/** A checkpoint's code by its name; without a name, the files as they are now. Nothing of the user's is changed. */
export async function readSide(ports: RestorePorts, epic: EpicId, name: string | null): Promise<Side> {
  if (name === null) {
    const { maxFileBytes } = await ports.readSettings();
    const { tree, leftOut } = await readWorkTree(ports, maxFileBytes);
    return { tree, label: 'now', id: null, leftOut };
  }
  const { tree, label, leftOut, source } = await findCode(ports, epic, name);
  return { tree, label, leftOut, id: source.kind === 'checkpoint' ? source.checkpoint.id : null };
}

/** What differs between two sides, at these paths or at all; paths are text, from the top of the working tree. */
export async function compareSides(
  { repository }: RestorePorts,
  from: Side,
  to: Side,
  scope: readonly string[] | null,
): Promise<Change[]> {
  const changes = await listChanges(repository, from.tree, to.tree);
  return changes.filter(({ path }) => isWithin(path, scope));
}
