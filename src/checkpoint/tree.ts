import { formatSeq, isEpicId, nameFile, parseCheckpointId, parseEpicId, seqOf } from '../ids.ts';
import type { CheckpointId, EpicId, Millis } from '../types.ts';

const refPrefix = 'refs/orchestration/epics/';
const trashPrefix = 'refs/orchestration-local/trash/';

/** The ref an epic's checkpoints are on. */
export function epicRef(epic: EpicId): string {
  return `${refPrefix}${epic}`;
}

/** Where a deleted epic goes, so that it can come back. */
export function trashRef(epic: EpicId, instant: string, random: string): string {
  return `${trashPrefix}${epic}/${instant.replace(/[^0-9TZ]/g, '')}-${random}`;
}

export { refPrefix as epicsPrefix, trashPrefix };

/** What is in the trash under a ref, and since when; null where it is somebody else's ref. */
export function parseTrashRef(ref: string): { epic: EpicId; at: Millis } | null {
  const match = /^([^/]+)\/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[a-z0-9]+$/.exec(
    ref.slice(trashPrefix.length),
  );
  const [, epic = '', year, month, day, hours, minutes, seconds] = match ?? [];
  if (!ref.startsWith(trashPrefix) || match === null || !isEpicId(epic)) return null;
  const at = Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(at) ? null : { epic: parseEpicId(epic), at };
}

/** The folder of an epic's checkpoints in the tree of its commits. */
export function epicFolder(epic: EpicId): string[] {
  return ['.orchestration', 'checkpoints', epic];
}

/** `00000058-ckpt-00000058-k3f9qz.json` */
export function documentName(id: CheckpointId): string {
  return nameFile(`${formatSeq(seqOf(id))}-${id}`, '.json');
}

/** The brief beside the documents, for people who look with git. */
export const briefName = 'brief.md';

/** What runs keep, a folder each, beside the documents. */
export const artifactsFolder = 'artifacts';

/** The checkpoint a file in that folder holds, or null where it is some other file. */
export function parseDocumentName(name: string): CheckpointId | null {
  const id = /^\d{8,15}-(ckpt-\d{8,15}-[a-z0-9]{4,64})\.json$/.exec(name)?.[1];
  return id !== undefined && documentName(parseCheckpointId(id)) === name ? parseCheckpointId(id) : null;
}
