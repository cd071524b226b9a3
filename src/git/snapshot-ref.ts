import { isEpicId, parseEpicId, parseSessionId } from '../ids.ts';
import type { EpicId, SessionId } from '../types.ts';

export const snapshotsPrefix = 'refs/orchestration/snapshots/';

/** Where a session's snapshots are. */
export function snapshotRef(epic: EpicId, session: SessionId): string {
  return `${snapshotsPrefix}${epic}/${session}`;
}

/** Whose snapshots a ref holds; null where it is somebody else's ref. */
export function parseSnapshotRef(ref: string): { epic: EpicId; session: SessionId } | null {
  const [epic = '', session = '', ...more] = ref.slice(snapshotsPrefix.length).split('/');
  if (!ref.startsWith(snapshotsPrefix) || more.length > 0) return null;
  if (!isEpicId(epic) || !/^sess-[a-z0-9]{4,32}$/.test(session)) return null;
  return { epic: parseEpicId(epic), session: parseSessionId(session) };
}
