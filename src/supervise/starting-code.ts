import type { Checkpoint } from '../checkpoint/list.ts';
import { nameUniquely } from '../checkpoint/names.ts';
import { isOrchError, type OrchError } from '../errors.ts';
import { readCommit } from '../git/objects/read-objects.ts';
import { readLive, writeLive } from '../journal/live.ts';
import type { Orch } from '../orch.ts';
import type { RunningSession } from '../record/ports.ts';
import { findCheckpointCode } from '../restore/find-target.ts';
import { changesNothing } from '../restore/plan-restore.ts';
import {
  type Proposal,
  proposeRestore,
  type RestoreSetting,
  readSetting,
} from '../restore/propose-restore.ts';
import { type Restored, restoreFiles } from '../restore/restore-files.ts';
import type { SessionCode } from '../session/handover.ts';
import { fetchSnapshot } from '../sync/fetch-epic.ts';

/** A checkpoint whose code belongs to the session, and the name that `orch restore` knows it by. */
export type NamedCode = { readonly checkpoint: Checkpoint; readonly name: string };

/** The code that a session may want to continue from. */
export type CodeOffer = NamedCode & {
  /** Did this clone save it? Then the files here are what it left, and nothing is offered. */
  readonly isOwn: boolean;
  /** What restoring it would do; null where it is this clone's own, or is not available. */
  readonly change: CodeChange | null;
  /** Why it is not available. */
  readonly problem: OrchError | null;
  /** The code of sessions that worked at the same time. */
  readonly others: readonly (NamedCode & { readonly isHere: boolean })[];
};

export type CodeChange = {
  /** How many files would change; 0 where the files are the same. */
  readonly files: number;
  /** Are the files here exactly those of HEAD? */
  readonly isClean: boolean;
  readonly target: Proposal['target'];
  readonly setting: RestoreSetting;
};

export type CodeEvent =
  | { readonly kind: 'code_restored'; readonly restored: Restored }
  | { readonly kind: 'code_unavailable'; readonly offer: CodeOffer; readonly problem: OrchError };

/**
 * Offers the code of the checkpoint that a session continues from, if it is an older one or another clone's, and
 * restores it if the caller chooses it. The session continues either way.
 */
export async function offerCode(
  orch: Orch,
  session: RunningSession,
  [newest, ...rest]: readonly SessionCode[],
  { choose, onEvent }: { choose(offer: CodeOffer): Promise<boolean>; onEvent(event: CodeEvent): void },
): Promise<void> {
  if (newest === undefined) return;
  const { checkpoint, isOwn } = newest;
  const proposed = isOwn ? null : await catchProblem(() => proposeCode(orch, checkpoint));
  const proposal = proposed !== null && 'plan' in proposed ? proposed : null;
  const offer: CodeOffer = {
    checkpoint,
    name: await nameUniquely(orch, checkpoint),
    isOwn,
    change: proposal && (await describeChange(orch, session, proposal)),
    problem: isOrchError(proposed) ? proposed : null,
    others: await Promise.all(
      rest.map(async (other) => ({
        checkpoint: other.checkpoint,
        name: await nameUniquely(orch, other.checkpoint),
        isHere: await ensureCode(orch, other.checkpoint),
      })),
    ),
  };
  const isChosen = await choose(offer);
  if (!isChosen || proposal === null || changesNothing(proposal.plan)) return;
  const restored = await catchProblem(() => startFromCode(orch, session, proposal, checkpoint.snapshot));
  if (isOrchError(restored)) onEvent({ kind: 'code_unavailable', offer, problem: restored });
  else onEvent({ kind: 'code_restored', restored });
}

/** Makes sure that a checkpoint's code is here, and fetches it if it is not. False if it cannot be found. */
async function ensureCode(orch: Orch, checkpoint: Checkpoint): Promise<boolean> {
  const { epicId: epic, sessionId: session, snapshot: commit } = checkpoint;
  if (commit === null) return false;
  return fetchSnapshot(orch, { epic, session, commit }, (await orch.readConfig()).sync.remote);
}

async function proposeCode(orch: Orch, checkpoint: Checkpoint): Promise<Proposal> {
  await ensureCode(orch, checkpoint);
  return proposeRestore(orch, await findCheckpointCode(orch, checkpoint.epicId, checkpoint.id));
}

/** Restores the code and notes it as the session's base, so that only later changes count as its work. */
async function startFromCode(
  orch: Orch,
  { session }: RunningSession,
  { target }: Proposal,
  base: Checkpoint['snapshot'],
): Promise<Restored> {
  const restored = await restoreFiles(orch, target);
  const live = readLive(orch.home, session);
  if (live) await writeLive(orch, { ...live, base });
  return restored;
}

async function describeChange(
  orch: Orch,
  { session }: RunningSession,
  proposal: Proposal,
): Promise<CodeChange> {
  const { plan, target, present } = proposal;
  const { commit } = await orch.git.readHead();
  const isClean = commit !== null && (await readCommit(orch.git, commit)).tree === present.tree;
  const setting = await readSetting(orch, target, session);
  return { files: plan.write.size + plan.remove.size, isClean, target, setting };
}

async function catchProblem<T>(work: () => Promise<T>): Promise<T | OrchError> {
  try {
    return await work();
  } catch (error) {
    if (!isOrchError(error)) throw error;
    return error;
  }
}
