import { hash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Nanos } from '../cost/fields.ts';
import type { Message } from '../cost/messages.ts';
import type { Meters } from '../cost/meters.ts';
import type { Keyed } from '../keyed.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, makeFolder, readIfThere, removeIfThere, writeAll } from '../system/files.ts';
import type { TranscriptState } from './transcript.ts';

/** Grows when what is kept, or how a line is read, changes: then the transcripts are read anew. */
const format = 1;

export type CachedTranscripts = {
  readonly state: TranscriptState;
  /** What was recorded before and can no longer be read anywhere. */
  readonly lost: Meters;
};

/** What was kept of a session's transcripts, or null: missing, torn, damaged, or another version's. */
export function loadCached(path: string): CachedTranscripts | null {
  try {
    const bytes = readIfThere(path);
    return bytes === null ? null : decode(bytes);
  } catch {
    return null; // not to be read, or not JSON: the transcripts are read from their beginning
  }
}

/** Keeps it, in one step and without waiting for the disk: its checksum tells a torn one. False where it could not. */
export async function storeCached(
  disk: Disk,
  path: string,
  cached: CachedTranscripts,
  random: Random,
): Promise<boolean> {
  const temporary = `${path}.${random.id(8)}`;
  try {
    await makeFolder(disk, dirname(path));
    const fd = disk.open(temporary, 'wx', 0o600);
    try {
      writeAll(disk, fd, encode(cached));
    } finally {
      disk.close(fd);
    }
    disk.rename(temporary, path);
    return true;
  } catch {
    removeQuietly(disk, temporary);
    return false; // the next reading takes longer, and is just as right
  }
}

function removeQuietly(disk: Disk, path: string): void {
  try {
    removeIfThere(disk, path);
  } catch {
    // a disk that refuses everything; what is left behind is small, and nobody reads it
  }
}

/** A line with the checksum of the rest, a line of JSON, and the digests as they are: there may be many. */
function encode({ state, lost }: CachedTranscripts): Buffer {
  const { messages, ...others } = state;
  const { digests, recent, settled } = messages;
  const kept: Kept = { format, ...others, lost, settled, recent: mapKeyed(recent, (all) => all.map(pack)) };
  const json = JSON.stringify(kept);
  const numbers = Buffer.from(digests.buffer, digests.byteOffset, digests.byteLength);
  const body = Buffer.concat([Buffer.from(`${json}\n`), numbers]);
  return Buffer.concat([Buffer.from(`${hash('sha256', body)}\n`), body]);
}

function decode(bytes: Buffer): CachedTranscripts | null {
  const body = bytes.subarray(bytes.indexOf('\n') + 1);
  if (bytes.toString('latin1', 0, bytes.length - body.length) !== `${hash('sha256', body)}\n`) return null;
  const end = body.indexOf('\n');
  const parsed: unknown = JSON.parse(body.toString('utf8', 0, end));
  // Its checksum says that it is as `encode` left it; only the version may be another.
  const { format: found, lost, recent, settled, ...others } = parsed as Kept;
  if (found !== format) return null;
  // A copy, because numbers can only be looked at where they are aligned.
  const digests = new Float64Array(Uint8Array.from(body.subarray(end + 1)).buffer);
  const messages = { recent: mapKeyed(recent, (all) => all.map(unpack)), settled, digests };
  return { state: { ...others, messages }, lost };
}

/** What the line of JSON holds. */
type Kept = Omit<TranscriptState, 'messages'> & {
  readonly format: number;
  readonly lost: Meters;
  readonly settled: TranscriptState['messages']['settled'];
  readonly recent: Keyed<Packed[]>;
};

/** Without the names of its fields: most of the document are these. */
type Packed = [
  digest: number,
  model: string,
  ...tokens: [number, number, number, number, number],
  nanos: Nanos | null,
];

function pack([digest, { model, tokens, nanos }]: readonly [number, Message]): Packed {
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = tokens;
  return [digest, model, input, output, cacheRead, cacheWrite5m, cacheWrite1h, nanos];
}

function unpack(packed: Packed): readonly [number, Message] {
  const [digest, model, input, output, cacheRead, cacheWrite5m, cacheWrite1h, nanos] = packed;
  return [digest, { model, tokens: { input, output, cacheRead, cacheWrite5m, cacheWrite1h }, nanos }];
}

function mapKeyed<T, U>(map: Keyed<T>, change: (value: T) => U): Keyed<U> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}
