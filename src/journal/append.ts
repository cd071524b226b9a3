import { constants, fstatSync } from 'node:fs';
import { OrchError, systemCode, unconfirmedWrite, writeFailed } from '../errors.ts';
import { sleep } from '../system/clock.ts';
import { type Disk, makeFolder, removeIfThere, statIfThere, syncFolder, writeAll } from '../system/disk.ts';
import type { SessionId } from '../types.ts';
import {
  formatGroup,
  formatRecord,
  type JournalHeader,
  type JournalRecord,
  journalFormat,
} from './journal-format.ts';
import { journalPath, restoreHalfReleased } from './read.ts';

/** A record holds a few texts; anything larger is the caller's mistake. */
const maxRecordBytes = 1024 * 1024;

/** Creates a session's journal with its first facts; both are on disk when this returns. */
export async function createJournal(
  disk: Disk,
  folder: string,
  header: JournalHeader,
  records: readonly JournalRecord[],
): Promise<void> {
  await (await beginJournal(disk, folder, header, records)).durable;
}

/** The same for a caller that can work meanwhile: the facts are readable now, and on disk once `durable` resolves. */
export async function beginJournal(
  disk: Disk,
  folder: string,
  header: JournalHeader,
  records: readonly JournalRecord[],
): Promise<{ durable: Promise<void> }> {
  const what = 'the session could not be recorded';
  const path = journalPath(folder, header.session);
  const text = formatRecord({ format: journalFormat, ...header }) + formatChecked(records);
  let fd: number;
  try {
    await makeFolder(disk, folder);
    const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
    fd = disk.open(path, O_APPEND | O_CREAT | O_EXCL | O_WRONLY, 0o644);
  } catch (error) {
    throw writeFailed(what, error);
  }
  try {
    writeAll(disk, fd, Buffer.from(text));
  } catch (error) {
    closeQuietly(disk, fd);
    forgetUnbegun(disk, path);
    throw writeFailed(what, error);
  }
  const durable = Promise.all([
    disk.sync(fd).finally(() => closeQuietly(disk, fd)),
    syncFolder(disk, folder),
  ]).then(
    () => {},
    (error) => {
      throw unconfirmedWrite('the session', error);
    },
  );
  durable.catch(() => {}); // the code that moves the ref awaits it; if the draft fails, nothing does
  return { durable };
}

/** Removes a journal that was not written in full: it counts for nothing, and would be in the way. */
function forgetUnbegun(disk: Disk, path: string): void {
  try {
    removeIfThere(disk, path);
  } catch {
    // The disk accepts nothing any more; the caller reports the write error itself.
  }
}

/** Closes a file whose bytes are known to be on disk, or known not to be. */
function closeQuietly(disk: Disk, fd: number): void {
  try {
    disk.close(fd);
  } catch {
    // An error here would read as "not recorded", and the caller would record it twice.
  }
}

/**
 * Appends facts with one write; they are on disk when this returns. `missing` bytes are filled in before them: if a
 * power loss took the end of a journal that a checkpoint had already read, new records must come after its mark.
 *
 * Once the write is complete, the facts count: other processes may have folded them already. So an error after that
 * never asks to record them again, and an error that does leaves nothing that could count.
 */
export async function appendToJournal(
  disk: Disk,
  folder: string,
  session: SessionId,
  records: readonly JournalRecord[],
  missing = 0,
): Promise<void> {
  const path = journalPath(folder, session);
  const text = '\n'.repeat(missing) + formatChecked(records);
  let fd: number;
  try {
    fd = disk.open(path, constants.O_APPEND | constants.O_WRONLY);
  } catch (error) {
    throw systemCode(error) === 'ENOENT'
      ? journalGone(session)
      : writeFailed('the event could not be recorded', error);
  }
  try {
    try {
      writeAll(disk, fd, Buffer.from(text));
    } catch (error) {
      throw writeFailed('the event could not be recorded', error);
    }
    try {
      await disk.sync(fd);
    } catch (error) {
      throw unconfirmedWrite('the event', error);
    }
    await keepReleased(disk, folder, session, fd);
  } finally {
    closeQuietly(disk, fd);
  }
}

function formatChecked(records: readonly JournalRecord[]): string {
  const text = formatGroup(records);
  const longest =
    text.length > maxRecordBytes ? Math.max(...text.split('\n').map(({ length }) => length)) : 0;
  if (longest > maxRecordBytes)
    throw new OrchError('USAGE', `an event of ${longest} bytes is too long to record`);
  return text;
}

/**
 * Puts the journal back if it was released while it was appended to, so that the new facts count; if it is gone for
 * good, they never will. Waiting for the releasing process to put it back is not enough: it may be stopped or dead, and
 * a later process would bring back what the caller was told is not recorded.
 */
async function keepReleased(disk: Disk, folder: string, session: SessionId, fd: number): Promise<void> {
  const path = journalPath(folder, session);
  const isThere = () => statIfThere(path)?.ino === fstatSync(fd).ino;
  for (let attempt = 0; attempt < 20; attempt++) {
    if (isThere()) return;
    if (fstatSync(fd).nlink === 0) throw journalGone(session);
    try {
      restoreHalfReleased(disk, folder);
    } catch (error) {
      throw unconfirmedWrite('the event', error);
    }
    if (!isThere()) await sleep(5);
  }
  throw unconfirmedWrite('the event', new Error('its journal was moved away'));
}

function journalGone(session: SessionId): OrchError {
  return new OrchError('SESSION_NOT_FOUND', `session ${session} has ended: it has no journal here`, {
    hint: 'Start or resume a session, then record it again.',
    data: { sessionId: session },
  });
}
