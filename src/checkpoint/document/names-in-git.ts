import { hash } from '../../digest.ts';
import {
  formatSeq,
  isEpicId,
  nameFile,
  parseCheckpointId,
  parseEpicId,
  parseSessionId,
  seqOf,
  slugOf,
} from '../../ids.ts';
import type { CheckpointId, EpicId, Millis, SessionId } from '../../types.ts';

const refPrefix = 'refs/orchestration/epics/';
const trashPrefix = 'refs/orchestration-local/trash/';

/** The ref of an epic's checkpoints. */
export function epicRef(epic: EpicId): string {
  return `${refPrefix}${epic}`;
}

/** The ref of a deleted epic, so that it can be restored. */
export function trashRef(epic: EpicId, instant: string, random: string): string {
  return `${trashPrefix}${epic}/${instant.replace(/[^0-9TZ]/g, '')}-${random}`;
}

export { refPrefix as epicsPrefix, trashPrefix };

/** The epic under a trash ref, and when it was deleted; null if the ref is not ours. */
export function parseTrashRef(ref: string): { epic: EpicId; at: Millis } | null {
  const match = /^([^/]+)\/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[a-z0-9]+$/.exec(
    ref.slice(trashPrefix.length),
  );
  const [, epic = '', year, month, day, hours, minutes, seconds] = match ?? [];
  if (!ref.startsWith(trashPrefix) || match === null || !isEpicId(epic)) return null;
  const at = Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(at) ? null : { epic: parseEpicId(epic), at };
}

/** The folder of an epic's checkpoints in its commits. */
export function epicFolder(epic: EpicId): string[] {
  return ['.orchestration', 'checkpoints', epic];
}

/** `00000058-ckpt-00000058-k3f9qz.json` */
export function documentName(id: CheckpointId): string {
  return nameFile(`${formatSeq(seqOf(id))}-${id}`, '.json');
}

/** The brief beside the documents, for people who use git. */
export const briefName = 'brief.md';

/** The files of runs, one folder per run, beside the documents. */
export const artifactsFolder = 'artifacts';

/** The checkpoint of a file in that folder; null for other files. */
export function parseDocumentName(name: string): CheckpointId | null {
  const id = /^\d{8,15}-(ckpt-\d{8,15}-[a-z0-9]{4,64})\.json$/.exec(name)?.[1];
  return id !== undefined && documentName(parseCheckpointId(id)) === name ? parseCheckpointId(id) : null;
}

/** Refs that are shared between clones. */
export const sharedPrefix = 'refs/orchestration/';
/** Refs as last seen on remotes; never pushed. */
export const remotesPrefix = 'refs/orchestration-local/remotes/';

/** Where a remote's refs are stored here. */
export function trackedPrefix(remote: string): string {
  return `${remotesPrefix}${remote}/`;
}

/** `refs/orchestration/epics/x` → `refs/orchestration-local/remotes/origin/epics/x`. */
export function trackedRef(remote: string, ref: string): string {
  return `${trackedPrefix(remote)}${ref.slice(sharedPrefix.length)}`;
}

/** The reverse: the name of a tracked ref on its remote; null for any other ref. */
export function parseTrackedRef(ref: string): string | null {
  const [, shared] = /^.+\/(epics\/[^/]+|snapshots\/[^/]+\/[^/]+)$/.exec(ref) ?? [];
  return shared !== undefined && ref.startsWith(remotesPrefix) ? `${sharedPrefix}${shared}` : null;
}

/** The name for an address that has none in the user's config. */
export function nameAddress(url: string): string {
  const end =
    slugOf(
      url
        .replace(/[/\\]+$/, '')
        .split(/[/\\:]/)
        .at(-1) ?? '',
    ) ?? 'remote';
  return `${end}-${hash('sha256', url).slice(0, 8)}`;
}

/** Parses a shared ref: an epic's checkpoints, or a session's snapshots; null for anything else. */
export function parseSharedRef(
  ref: string,
): { readonly epic: EpicId; readonly session: SessionId | null } | null {
  const [, kind, epic = '', session] =
    /^refs\/orchestration\/(epics|snapshots)\/([^/]+)(?:\/([^/]+))?$/.exec(ref) ?? [];
  if (kind === undefined || !isEpicId(epic)) return null;
  if (kind === 'epics') return session === undefined ? { epic: parseEpicId(epic), session: null } : null;
  if (session === undefined || !/^sess-[a-z0-9]{4,32}$/.test(session)) return null;
  return { epic: parseEpicId(epic), session: parseSessionId(session) };
}
