import { type Checkpoint, walkEpic } from '../checkpoint/list.ts';
import { findCheckpoint, parseName } from '../checkpoint/names.ts';
import { isWithin } from '../checkpoint/restore.ts';
import { type Change, listChanges } from '../git/changes.ts';
import { readWorkTree } from '../git/snapshot.ts';
import type { EpicId, Oid } from '../types.ts';
import { withCode } from './lost-code.ts';
import { findCode, type RestorePorts } from './restore-target.ts';

/** One side of a comparison: the code of a checkpoint, or the files as they are. */
export type Side = {
  readonly tree: Oid;
  /** `ckpt 51`, or `now`. */
  readonly label: string;
  /** Null for now. */
  readonly checkpoint: Checkpoint | null;
  /** What is not in the tree, and so not compared. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
};

/**
 * The two sides that are meant. A session by itself stands for what it did: from its first checkpoint to its last, or
 * to now, as long as it is the newest.
 */
export async function readSides(
  ports: RestorePorts,
  epic: EpicId,
  from: string,
  to: string | null,
): Promise<readonly [older: Side, newer: Side]> {
  const isSession = to === null && parseName(from, ports.clock.now()).kind === 'session';
  const span = isSession ? await findSpan(ports, epic, from) : { from, to };
  return [await readSide(ports, epic, span.from), await readSide(ports, epic, span.to)];
}

async function findSpan(
  ports: RestorePorts,
  epic: EpicId,
  session: string,
): Promise<{ readonly from: string; readonly to: string | null }> {
  const { checkpoint: last, index } = await findCheckpoint(ports, epic, session);
  const withCode: string[] = [];
  const passOver = () => {}; // the way to the last one has told of damage
  for await (const { checkpoint } of walkEpic(ports, epic, passOver)) {
    if (checkpoint.sessionId !== last.sessionId) continue;
    if (checkpoint.snapshot !== null) withCode.push(checkpoint.id);
    if (checkpoint.trigger === 'session_start') break;
  }
  return { from: withCode.at(-1) ?? session, to: index === 0 || withCode.length < 2 ? null : session };
}

/** A checkpoint's code by its name; without a name, the files as they are now. Nothing of the user's is changed. */
async function readSide(ports: RestorePorts, epic: EpicId, name: string | null): Promise<Side> {
  if (name === null) {
    const { maxFileBytes } = await ports.readSettings();
    const { tree, leftOut } = await readWorkTree(ports, maxFileBytes);
    return { tree, label: 'now', checkpoint: null, leftOut };
  }
  const { tree, label, leftOut, source } = await findCode(ports, epic, name);
  return { tree, label, leftOut, checkpoint: source.kind === 'checkpoint' ? source.checkpoint : null };
}

/** Does something with both sides; where that fails because code is lost, the error says what. */
export function withSides<T>(
  ports: RestorePorts,
  sides: readonly Side[],
  work: () => Promise<T>,
): Promise<T> {
  const checkpoints = sides.flatMap(({ checkpoint }) => checkpoint ?? []);
  return withCode(ports, checkpoints, work);
}

/** What differs between two sides, at these paths or at all; paths are text, from the top of the working tree. */
export async function compareSides(
  ports: RestorePorts,
  from: Side,
  to: Side,
  scope: readonly string[] | null,
): Promise<Change[]> {
  const changes = await withSides(ports, [from, to], () => listChanges(ports.repository, from.tree, to.tree));
  return changes.filter(({ path }) => isWithin(path, scope));
}
