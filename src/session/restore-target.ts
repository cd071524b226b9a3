import type { CheckpointDocument } from '../checkpoint/document.ts';
import { readForgotten } from '../checkpoint/forgotten.ts';
import { type Checkpoint, type Found, walkEpic } from '../checkpoint/list.ts';
import { findRemade } from '../checkpoint/lost.ts';
import { findCheckpoint, findWork, parseName } from '../checkpoint/names.ts';
import { readSaved } from '../checkpoint/read.ts';
import { chooseUndo } from '../checkpoint/undo.ts';
import { hasCode, OrchError } from '../errors.ts';
import { readCommit, readTree } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { snapshotRef } from '../git/snapshot-ref.ts';
import { listRemotes } from '../git/surroundings.ts';
import { type FoundUndo, listUndos, nothingToUndo, readUndoCommit } from '../git/undo.ts';
import { parseOid } from '../ids.ts';
import type { FindSecret } from '../redact.ts';
import type { EpicId, Oid } from '../types.ts';
import { explainLostCode } from './lost-code.ts';
import type { SessionPorts } from './record.ts';
import type { SessionSettings } from './settings.ts';

export type RestorePorts = SessionPorts & {
  readonly repository: Repository;
  readonly findSecret: FindSecret;
  readonly readSettings: () => Promise<SessionSettings>;
};

/** What is to be brought back. */
export type RestoreTarget = {
  readonly epic: EpicId;
  readonly tree: Oid;
  /** In words: `ckpt 51`. */
  readonly label: string;
  /** What was on disk then and is not in the tree. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** The paths it is about, in bytes, one to a character; null: all. */
  readonly scope: readonly string[] | null;
  readonly source:
    | { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint; readonly document: CheckpointDocument }
    | ({ readonly kind: 'undo' } & FoundUndo);
};

/** The code of a checkpoint, by its name. */
export async function findCode(ports: RestorePorts, epic: EpicId, name: string): Promise<RestoreTarget> {
  const { checkpoint, commit } = await findNamed(ports, epic, name);
  const { document } = await readSaved(ports.git, epic, commit);
  const { snapshot, leftOut = [] } = document;
  if (snapshot === null) throw await hasNoCode(ports, checkpoint);
  const tree = await readSnapshotTree(ports, checkpoint, snapshot);
  const label = `ckpt ${checkpoint.seq}`;
  return { epic, tree, label, leftOut, scope: null, source: { kind: 'checkpoint', checkpoint, document } };
}

/** `latest`, `s7` and a run mean the code that was last saved: a recovery, which saves none, is passed over. */
async function findNamed(ports: RestorePorts, epic: EpicId, name: string): Promise<Found> {
  const found = await findCheckpoint(ports, epic, name);
  const { snapshot, trigger, sessionId } = found.checkpoint;
  const { kind } = parseName(name, ports.clock.now());
  const isTheOneMeant = kind === 'number' || kind === 'prefix';
  if (snapshot !== null || trigger !== 'recovery' || isTheOneMeant) return found;
  const behind = found.index;
  const isOfSession = kind === 'session' || kind === 'run';
  const own = isOfSession ? await findWork(ports, epic, { session: sessionId, behind }) : null;
  return own ?? (await findWork(ports, epic, { session: null, behind })) ?? found;
}

async function readSnapshotTree(ports: RestorePorts, checkpoint: Checkpoint, snapshot: Oid): Promise<Oid> {
  const { git, home } = ports;
  try {
    const { tree } = await readCommit(git, findRemade(home, snapshot));
    await readTree(git, tree);
    return tree;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    const ref = snapshotRef(checkpoint.epicId, checkpoint.sessionId);
    const lost = await explainLostCode(ports, checkpoint, error);
    if (lost) throw lost;
    if (readForgotten(home).has(ref)) throw await hasExpired(ports, checkpoint, ref);
    throw codeNotHere(checkpoint.seq, { snapshot }, error);
  }
}

/** A sync does not bring back what was cleaned up here; whoever wants it fetches it by hand. */
async function hasExpired(
  { git, repository }: RestorePorts,
  { seq, epicId }: Checkpoint,
  ref: string,
): Promise<OrchError> {
  const remotes = git.name === 'native' ? await listRemotes(repository) : [];
  const remote = remotes.includes('origin') ? 'origin' : remotes[0];
  return new OrchError('CHECKPOINT_NOT_FOUND', `the code of ckpt ${seq} of ${epicId} was cleaned up here`, {
    hint:
      remote === undefined
        ? `See what there is with: orch checkpoint list --epic ${epicId}`
        : `If it was shared, fetch it, and run the same command again: git fetch ${remote} ${ref}`,
    data: { epicId, seq },
  });
}

export function needsGit(): OrchError {
  return new OrchError(
    'REPOSITORY_UNSUPPORTED',
    'restoring needs the git program, and it is not in use here',
    {
      hint: 'Nothing was changed. Install git, or leave ORCH_ENGINE unset',
    },
  );
}

/** Its snapshot, or a part of it, is in another clone only. */
export function codeNotHere(seq: number | null, data: Record<string, unknown>, cause?: unknown): OrchError {
  const whose = seq === null ? 'what was there' : `ckpt ${seq}`;
  return new OrchError('INTEGRITY', `the code of ${whose} is not in this clone, or not all of it`, {
    hint: 'Nothing was changed. Fetch it from where it was saved with: orch sync',
    data,
    cause,
  });
}

async function hasNoCode(ports: RestorePorts, { seq, epicId, id }: Checkpoint): Promise<OrchError> {
  let passed = false;
  let nearest: Checkpoint | null = null;
  for await (const { checkpoint } of walkEpic(ports, epicId, () => {})) {
    if (passed && checkpoint.snapshot !== null) {
      nearest = checkpoint;
      break;
    }
    passed ||= checkpoint.id === id;
  }
  return new OrchError('CHECKPOINT_NOT_FOUND', `ckpt ${seq} of ${epicId} was saved without the code`, {
    hint: nearest
      ? `The nearest older one with code: orch restore ${nearest.seq} --epic ${epicId} --dry-run`
      : 'No older one has code either. See what there is with: orch checkpoint list',
    data: { epicId, seq, nearest: nearest?.seq ?? null },
  });
}

/** What was there before the newest restore in this worktree; an undo that was interrupted is continued. */
export async function findUndo(ports: RestorePorts): Promise<RestoreTarget> {
  const undos = await listUndos(ports);
  const choice = chooseUndo(undos.map((kept) => ({ ...kept, ...kept.undo })));
  if (choice.kind === 'nothing') throw nothingToUndo();
  const found =
    choice.kind === 'before' ? choice.of : await readUndoCommit(ports.git, parseOid(choice.undoes));
  const { undo, commit, at } = found;
  const { epic, tree, leftOut, scope, over } = undo;
  return {
    epic,
    tree,
    label: `what was there before ${over}`,
    leftOut,
    scope,
    source: { kind: 'undo', undo, commit, at },
  };
}
