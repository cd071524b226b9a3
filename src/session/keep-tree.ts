import { readTip } from '../checkpoint/tip.ts';
import { giveWay } from '../system/clock.ts';
import { cleanLine } from '../text.ts';
import type { EpicId, Millis, Oid, SessionId } from '../types.ts';
import { treeOfWork } from './orchestration.ts';
import type { SessionPorts, Target } from './record.ts';

/** The working tree as it was kept. */
export type TreeSnapshot = {
  readonly commit: Oid;
  /** Without what orch itself wrote into the user's files. */
  readonly tree: Oid;
  /** Paths that are not in it, each with the reason. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** False where the session's last snapshot is the same. */
  readonly isNew: boolean;
};

/** The same as it was taken, with the tree of the one before it on the same HEAD. */
export type TakenSnapshot = TreeSnapshot & { readonly before: Oid | null };

export type SnapshotRequest = {
  readonly epic: EpicId;
  readonly session: SessionId;
  readonly at: Millis;
  readonly maxFileBytes: number;
};

/** What goes with a checkpoint: the code, or why it could not be had; neither where it is not wanted. */
export type KeptTree = {
  readonly snapshot: TreeSnapshot | null;
  readonly snapshotFailed: string | null;
};

/** The working tree, outside the epic's lock. If it cannot be had, the checkpoint does without, and says why. */
export async function keepTree(ports: SessionPorts, target: Target): Promise<KeptTree> {
  const { epic, session, settings } = target;
  if (!settings.snapshot || ports.takeSnapshot === null) return { snapshot: null, snapshotFailed: null };
  try {
    const { maxFileBytes } = settings;
    const { before, ...taken } = await ports.takeSnapshot({
      epic,
      session,
      at: ports.clock.now(),
      maxFileBytes,
    });
    const tree = await treeOfWork(ports, taken.tree);
    const isNew = taken.isNew && (before === null || (await treeOfWork(ports, before)) !== tree);
    return { snapshot: { ...taken, tree, isNew }, snapshotFailed: null };
  } catch (error) {
    const problem = await ports.redact(error instanceof Error ? error.message : String(error));
    ports.report(`no snapshot of the files: ${problem}`);
    return { snapshot: null, snapshotFailed: cleanLine(problem, 500) };
  }
}

/** Reads the newest checkpoint while git looks through the working tree: it is remembered when its turn comes. */
export async function readAhead(ports: SessionPorts, { epic, settings }: Target): Promise<void> {
  if (!settings.snapshot || ports.takeSnapshot === null) return;
  await giveWay(); // first the snapshot gets to where it waits
  await readTip(ports, epic).catch(() => {}); // what is wrong with it is told when it is needed
}
