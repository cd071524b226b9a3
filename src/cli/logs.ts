import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import type { KnownSession } from '../session/fate.ts';
import { checkLive, type LiveRecord, readLive } from '../session/live.ts';
import { sleep } from '../system/clock.ts';
import { readFrom } from '../system/files.ts';
import { olderPart } from '../system/log-file.ts';
import type { EpicId, Millis } from '../types.ts';
import { logPath } from './background.ts';

export type LogReader = {
  readonly follow: boolean;
  /** Answers whether more is wanted. */
  readonly onText: (bytes: Buffer) => boolean;
};

/** Hands on a session's log, and with `follow` what is added to it until the session ends, or nobody reads it. */
export async function passLog(
  orch: Orch,
  epic: EpicId,
  { id, value }: KnownSession,
  { follow, onText }: LogReader,
): Promise<void> {
  const path = logPath(orch.home, id);
  const found = readFrom(path, 0);
  if (found === null)
    throw new OrchError('SESSION_NOT_FOUND', `session ${value.number} of ${epic} has no log`, {
      hint: 'Only sessions in the background have one; the others print on their terminal',
      data: { epicId: epic, sessionId: id },
    });
  const older = readFrom(olderPart(path), 0);
  const before = older && older.inode !== found.inode ? older.bytes : Buffer.alloc(0);
  let isRead = onText(before) && onText(found.bytes);
  let place: Place = found;
  let holder: LiveRecord | null = null;
  let quietSince = orch.clock.elapsed();
  while (follow && isRead) {
    // A supervisor that has ended its session still has its last lines to print.
    holder = readLive(orch.home, id) ?? holder;
    const isOver = holder === null || checkLive(holder) !== 'alive';
    const added = readAdded(path, place);
    isRead = added.pieces.every(onText);
    place = added.place;
    if (added.pieces.some((bytes) => bytes.length > 0)) quietSince = orch.clock.elapsed();
    if (isOver && (holder !== null || orch.clock.elapsed() - quietSince >= lastWords)) break;
    await sleep(100);
  }
}

/** How long a log is watched whose session was over before anybody looked: who printed it cannot be asked any more. */
const lastWords: Millis = 500;

/** How far which file was read. */
type Place = { readonly size: number; readonly inode: number };

/** What came to a log since; where it was begun anew, first the rest of the part that was read. */
function readAdded(path: string, place: Place): { pieces: Buffer[]; place: Place } {
  const next = readFrom(path, place.size);
  if (next === null) return { pieces: [], place };
  if (next.inode === place.inode && next.size >= place.size) return { pieces: [next.bytes], place: next };
  const rest = readFrom(olderPart(path), place.size);
  const anew = readFrom(path, 0) ?? next;
  return { pieces: [...(rest?.inode === place.inode ? [rest.bytes] : []), anew.bytes], place: anew };
}
