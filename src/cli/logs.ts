import { writeSync } from 'node:fs';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import type { KnownSession } from '../session/fate.ts';
import { checkLive, readLive } from '../session/live.ts';
import { sleep } from '../system/clock.ts';
import { readFrom } from '../system/files.ts';
import { olderPart } from '../system/log-file.ts';
import type { EpicId } from '../types.ts';
import { logPath } from './background.ts';

/** Prints a session's log, and with `follow` what is added to it until the session ends. */
export async function printLog(
  orch: Orch,
  epic: EpicId,
  { id, value }: KnownSession,
  follow: boolean,
): Promise<number> {
  const path = logPath(orch.home, id);
  const found = readFrom(path, 0);
  if (found === null)
    throw new OrchError('SESSION_NOT_FOUND', `session ${value.number} of ${epic} has no log`, {
      hint: 'Only sessions in the background have one; the others print on their terminal',
      data: { epicId: epic, sessionId: id },
    });
  const older = readFrom(olderPart(path), 0);
  if (older) writeSync(1, older.bytes);
  if (found.bytes.length > 0) writeSync(1, found.bytes);
  let { size, inode } = found;
  while (follow) {
    const isOver = !isRunning(orch, id);
    const next = readFrom(path, size);
    const isAnother = next !== null && (next.inode !== inode || next.size < size);
    const added = isAnother ? readFrom(path, 0) : next;
    if (added) {
      if (added.bytes.length > 0) writeSync(1, added.bytes);
      ({ size, inode } = added);
    }
    if (isOver) break;
    await sleep(100);
  }
  return 0;
}

function isRunning(orch: Orch, session: KnownSession['id']): boolean {
  const live = readLive(orch.home, session);
  return live !== null && checkLive(live) === 'alive';
}
