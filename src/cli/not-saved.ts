import type { CheckpointDocument } from '../checkpoint/document.ts';
import type { Checkpoint } from '../checkpoint/list.ts';
import { OrchError } from '../errors.ts';
import { readLeftOut } from '../git/snapshot-message.ts';
import type { Orch } from '../orch.ts';

type Made = { readonly checkpoint: Checkpoint; readonly document: CheckpointDocument };

/** All files a checkpoint's snapshot left out: a document names the first of them, the snapshot's own message the rest. */
export async function listLeftOut(
  { git }: Orch,
  { leftOut = [], leftOutTotal = leftOut.length, snapshot }: CheckpointDocument,
): Promise<readonly { readonly path: string; readonly reason: string }[]> {
  const first = leftOut.map(({ path, reason }) => ({ path, reason }));
  if (leftOutTotal <= first.length || snapshot === null) return first;
  const all = await readLeftOut(git, snapshot);
  return all === null || all.length < first.length ? first : all;
}

/** A checkpoint somebody asked for, and that has nothing of the code, is made; but the call has failed. */
export function refuseWithoutCode({ checkpoint, document }: Made): void {
  const { snapshotFailed } = document;
  if (snapshotFailed === undefined) return;
  const { seq, epicId } = checkpoint;
  throw new OrchError(
    'SNAPSHOT_FAILED',
    `checkpoint ${seq} of ${epicId} was made without the code: ${snapshotFailed}`,
    {
      hint: `What was recorded is saved. Once the cause is fixed, save the code with: orch checkpoint create -e ${epicId}`,
      data: { epicId, checkpoint, reason: snapshotFailed },
    },
  );
}
