import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { OrchError } from '../errors.ts';
import { nameFile } from '../ids.ts';
import { checkLive, type LiveRecord, readLive } from '../journal/live.ts';
import type { Orch } from '../orch.ts';
import { describeSession, type SessionInfo } from '../record/sessions.ts';
import { type EpicView, readView } from '../record/view.ts';
import { openRedactedStream } from '../redact/redacted-stream.ts';
import type { Redact } from '../redact/redactor.ts';
import { sleep } from '../system/clock.ts';
import { type Disk, readFrom } from '../system/disk.ts';
import { openLogFile, rotatedLogPath } from '../system/log-file.ts';
import type { Millis, SessionId } from '../types.ts';
import { findSession } from './find-session.ts';

/** A log of what a command prints, with orch's own lines. */
export type OutputLog = {
  /** Adds a line of orch's own. */
  tell(text: string): void;
  /** Adds a piece of what the command prints. */
  write(chunk: Buffer | string): void;
  /** Writes what was held back for redaction, and waits until everything is written. */
  flush(): Promise<void>;
  /** Flushes and closes the log. */
  close(): Promise<void>;
};

/** Opens a redacted log. A failed write stops no work: the log later says how many bytes are missing. */
export function openOutputLog(
  ports: { readonly disk: Disk; readonly redact: Redact },
  path: string,
): OutputLog {
  const file = openLogFile(ports.disk, path);
  const decoder = new StringDecoder('utf8');
  let missing = 0;

  function append(text: string): void {
    const note = missing > 0 ? `… ${missing} bytes could not be written here\n` : '';
    const bytes = Buffer.from(`${note}${text}`);
    try {
      file.append(bytes);
      missing = 0;
    } catch {
      missing += bytes.length;
    }
  }

  const stream = openRedactedStream(ports.redact, append);
  // A command's last line may lack its newline; the next line of the log must not continue it.
  let isMidLine = false;

  function flush(): Promise<void> {
    stream.add(`${decoder.end()}${isMidLine ? '\n' : ''}`);
    isMidLine = false;
    return stream.end();
  }

  return {
    tell: (text) => stream.pass(`${text}\n`),
    write: (chunk) => {
      const text = typeof chunk === 'string' ? chunk : decoder.write(chunk);
      if (text !== '') isMidLine = !text.endsWith('\n');
      stream.add(text);
    },
    flush,
    close: async () => {
      await flush();
      file.close();
    },
  };
}

type LogReader = {
  readonly follow: boolean;
  /** Returns whether to continue. */
  readonly onText: (bytes: Buffer) => boolean;
};

/** The file that a background session and its command print to. */
export function logPath(home: string, session: SessionId): string {
  return join(home, 'logs', nameFile(session, '.log'));
}

/** Reads a session's log; with `follow`, also what is added until the session ends or `onText` returns false. */
export async function readSessionLog(
  orch: Orch,
  view: EpicView,
  name: string | undefined,
  { follow, onText }: LogReader,
): Promise<SessionInfo> {
  const { epic } = view;
  const { id, value } = findSession(view, orch.home, name);
  const path = logPath(orch.home, id);
  const found = readFrom(path, 0);
  if (found === null)
    throw new OrchError('SESSION_NOT_FOUND', `session ${value.number} of ${epic} has no log`, {
      hint: 'Only background sessions have one; the others print to their terminal',
      data: { epicId: epic, sessionId: id },
    });
  const older = readFrom(rotatedLogPath(path), 0);
  const before = older && older.inode !== found.inode ? older.bytes : Buffer.alloc(0);
  let isRead = onText(before) && onText(found.bytes);
  let place: Place = found;
  let holder: LiveRecord | null = null;
  let quietSince = orch.clock.elapsed();
  while (follow && isRead) {
    // A supervisor prints its last lines after it has ended its session.
    holder = readLive(orch.home, id) ?? holder;
    const isOver = holder === null || checkLive(holder) !== 'alive';
    const added = readAdded(path, place);
    isRead = added.pieces.every(onText);
    place = added.place;
    if (added.pieces.some((bytes) => bytes.length > 0)) quietSince = orch.clock.elapsed();
    if (isOver && (holder !== null || orch.clock.elapsed() - quietSince >= quietTime)) break;
    await sleep(100);
  }
  const known = await readView(orch, epic);
  return describeSession(known, findSession(known, orch.home, id));
}

/** How long the log of an ended session must be quiet: its supervisor is unknown and may still be printing. */
const quietTime: Millis = 500;

/** How far the log was read, and in which file. */
type Place = { readonly size: number; readonly inode: number };

/** Reads what was added to a log; if the log was rotated, first the rest of the older file. */
function readAdded(path: string, place: Place): { pieces: Buffer[]; place: Place } {
  const next = readFrom(path, place.size);
  if (next === null) return { pieces: [], place };
  if (next.inode === place.inode && next.size >= place.size) return { pieces: [next.bytes], place: next };
  const rest = readFrom(rotatedLogPath(path), place.size);
  const fresh = readFrom(path, 0) ?? next;
  return { pieces: [...(rest?.inode === place.inode ? [rest.bytes] : []), fresh.bytes], place: fresh };
}
