import { readDeletedRefs } from '../checkpoint/deleted-refs.ts';
import type { CheckpointDocument } from '../checkpoint/document/document.ts';
import { type Checkpoint, type Found, walkEpic } from '../checkpoint/list.ts';
import { findRemade } from '../checkpoint/lost-objects.ts';
import { findCheckpoint, findWork, parseName } from '../checkpoint/names.ts';
import { readSaved } from '../checkpoint/read-base.ts';
import { hasCode, OrchError } from '../errors.ts';
import { readCommit, readTree } from '../git/objects/read-objects.ts';
import type { Repository } from '../git/repository.ts';
import { listRemotes } from '../git/repository-facts.ts';
import { snapshotRef } from '../git/snapshot/snapshot-message.ts';
import { type FoundUndo, listUndos, nothingToUndo, readUndoCommit } from '../git/worktree/undo-refs.ts';
import { parseOid } from '../ids.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import type { SessionPorts } from '../record/ports.ts';
import type { FindSecret } from '../redact/redactor.ts';
import type { EpicId, Oid } from '../types.ts';
import { describeLostCode } from './missing-code.ts';
import { chooseUndo } from './plan-restore.ts';

export type RestorePorts = SessionPorts & {
  readonly repository: Repository;
  readonly findSecret: FindSecret;
  readonly readSettings: () => Promise<SessionSettings>;
};

/** The code to restore. */
export type RestoreTarget = {
  readonly epic: EpicId;
  readonly tree: Oid;
  /** `ckpt 51`, or `your files before restoring ckpt 51`. */
  readonly label: string;
  /** Files that were on disk then but are not in the tree. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** The paths to restore, as latin1 bytes; null for all. */
  readonly scope: readonly string[] | null;
  readonly source:
    | { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint; readonly document: CheckpointDocument }
    | ({ readonly kind: 'undo' } & FoundUndo);
};

/** Finds the code of a checkpoint by its name. */
export async function findCheckpointCode(
  ports: RestorePorts,
  epic: EpicId,
  name: string,
): Promise<RestoreTarget> {
  const { checkpoint, commit } = await findWithCode(ports, epic, name);
  const { document } = await readSaved(ports.git, epic, commit);
  const { snapshot, leftOut = [] } = document;
  if (snapshot === null) throw await savedWithoutCode(ports, checkpoint);
  const tree = await readSnapshotTree(ports, checkpoint, snapshot);
  const label = `ckpt ${checkpoint.seq}`;
  return { epic, tree, label, leftOut, scope: null, source: { kind: 'checkpoint', checkpoint, document } };
}

/** `latest`, `s7` and a run mean the newest saved code, so a recovery checkpoint, which has none, is skipped. */
async function findWithCode(ports: RestorePorts, epic: EpicId, name: string): Promise<Found> {
  const found = await findCheckpoint(ports, epic, name);
  const { snapshot, trigger, sessionId } = found.checkpoint;
  const { kind } = parseName(name, ports.clock.now());
  const isExact = kind === 'number' || kind === 'prefix';
  if (snapshot !== null || trigger !== 'recovery' || isExact) return found;
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
    const lost = await describeLostCode(ports, checkpoint, error);
    if (lost) throw lost;
    if (readDeletedRefs(home).has(ref)) throw await cleanedUpHere(ports, checkpoint, ref);
    throw codeNotHere(checkpoint.seq, { snapshot }, error);
  }
}

/** A sync does not bring back what was cleaned up here, so the hint gives the fetch to run by hand. */
async function cleanedUpHere(
  ports: RestorePorts,
  { seq, epicId }: Checkpoint,
  ref: string,
): Promise<OrchError> {
  const remote = await suggestRemote(ports);
  return new OrchError(
    'CHECKPOINT_NOT_FOUND',
    `the code of ckpt ${seq} of ${epicId} was cleaned up in this clone`,
    {
      hint:
        remote === undefined
          ? `List the checkpoints: orch checkpoint list --epic ${epicId}`
          : `If it was shared, fetch it and run the same command again: git fetch ${remote} ${ref}`,
      data: { epicId, seq },
    },
  );
}

/** The remote to name in a hint; undefined if there is none. */
export async function suggestRemote({
  git,
  repository,
}: Pick<RestorePorts, 'git' | 'repository'>): Promise<string | undefined> {
  const remotes = git.name === 'native' ? await listRemotes(repository) : [];
  return remotes.includes('origin') ? 'origin' : remotes[0];
}

export function needsGit(): OrchError {
  return new OrchError('REPOSITORY_UNSUPPORTED', 'restoring needs git, and orch is running without it', {
    hint: 'Nothing was changed. Install git, or leave ORCH_ENGINE unset.',
  });
}

export function codeNotHere(seq: number | null, data: Record<string, unknown>, cause?: unknown): OrchError {
  const whose = seq === null ? 'your previous files' : `ckpt ${seq}`;
  return new OrchError('INTEGRITY', `the code of ${whose} is not, or not completely, in this clone`, {
    hint: 'Nothing was changed. Fetch it from the clone that saved it: orch sync',
    data,
    cause,
  });
}

async function savedWithoutCode(ports: RestorePorts, { seq, epicId, id }: Checkpoint): Promise<OrchError> {
  let isOlder = false;
  let nearest: Checkpoint | null = null;
  for await (const { checkpoint } of walkEpic(ports, epicId, () => {})) {
    if (isOlder && checkpoint.snapshot !== null) {
      nearest = checkpoint;
      break;
    }
    isOlder ||= checkpoint.id === id;
  }
  return new OrchError('CHECKPOINT_NOT_FOUND', `ckpt ${seq} of ${epicId} was saved without the code`, {
    hint: nearest
      ? `The nearest older checkpoint with code: orch restore ${nearest.seq} --epic ${epicId} --dry-run`
      : 'No older checkpoint has code either. List them all: orch checkpoint list',
    data: { epicId, seq, nearest: nearest?.seq ?? null },
  });
}

/** Finds the files from before the newest restore in this worktree. If an undo was interrupted, it is continued. */
export async function findUndo(ports: RestorePorts): Promise<RestoreTarget> {
  const undos = await listUndos(ports);
  const choice = chooseUndo(undos.map((kept) => ({ ...kept, ...kept.undo })));
  if (choice.kind === 'nothing') throw nothingToUndo();
  return describeUndoTarget(
    choice.kind === 'before' ? choice.of : await readUndoCommit(ports.git, parseOid(choice.undoes)),
  );
}

/** The target that brings back the files from before a restore. */
export function describeUndoTarget({ undo, commit, at }: FoundUndo): RestoreTarget {
  const { epic, tree, leftOut, scope, over } = undo;
  const source = { kind: 'undo', undo, commit, at } as const;
  return { epic, tree, label: `your files before ${over}`, leftOut, scope, source };
}
