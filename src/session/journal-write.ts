import { constants, fstatSync } from 'node:fs';
import { OrchError, systemCode, unconfirmed, writeFailed } from '../errors.ts';
import { sleep } from '../system/clock.ts';
import { type Disk, makeFolder, removeIfThere, statIfThere, syncFolder, writeAll } from '../system/files.ts';
import type { SessionId } from '../types.ts';
import { journalPath, restoreHalfReleased } from './journal.ts';
import {
  formatGroup,
  formatRecord,
  type JournalHeader,
  type JournalRecord,
  journalFormat,
} from './journal-record.ts';

/** One record holds a few texts; more than this is a mistake of the caller. */
const maxRecordBytes = 1024 * 1024;

/** Begins a session's journal with its first facts; both are on disk when this returns. */
export async function createJournal(
  disk: Disk,
  folder: string,
  header: JournalHeader,
  records: readonly JournalRecord[],
): Promise<void> {
  await (await beginJournal(disk, folder, header, records)).durable;
}

/** The same for a caller with something to do meanwhile: the facts can be read now, and are on disk once `durable` is. */
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
      throw unconfirmed('the session', error);
    },
  );
  durable.catch(() => {}); // whoever moves the ref awaits it; nobody does if the draft itself fails
  return { durable };
}

/** What is left of a journal that was not written whole counts for nothing, and is in the way. */
function forgetUnbegun(disk: Disk, path: string): void {
  try {
    removeIfThere(disk, path);
  } catch {
    // The disk takes nothing any more; the failure itself is told.
  }
}

/** A file whose bytes are on disk, or known not to be, has nothing to say when it is closed. */
function closeQuietly(disk: Disk, fd: number): void {
  try {
    disk.close(fd);
  } catch {
    // An error here would read as "not recorded", and the caller would record it twice.
  }
}

/**
 * Appends facts with one write; they are on disk when this returns. `missing` bytes are filled up before them: where a
 * power loss took the end of a journal that a checkpoint had read already, what follows must stand behind its mark.
 *
 * Once the write is whole, the facts count: other processes may have folded them already. So an error after that
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
      throw unconfirmed('the event', error);
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
 * Was the journal released while it was appended to? Then it is put back, so that what was appended counts; if it is
 * removed for good, nothing of it ever will. Waiting for its releaser to put it back is not enough: that one may be
 * stopped or dead, and a later process would bring back what the caller was told is not recorded.
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
      throw unconfirmed('the event', error);
    }
    if (!isThere()) await sleep(5);
  }
  throw unconfirmed('the event', new Error('its journal was moved away meanwhile'));
}

function journalGone(session: SessionId): OrchError {
  return new OrchError('SESSION_NOT_FOUND', `session ${session} has no journal here: it has ended`, {
    hint: 'Start or resume a session, then record it again',
    data: { sessionId: session },
  });
}
