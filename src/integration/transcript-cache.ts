import { hash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { Nanos } from '../cost/fields.ts';
import type { Message } from '../cost/messages.ts';
import type { Meters } from '../cost/meters.ts';
import type { Keyed } from '../keyed.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder, makeFolder, readIfThere, removeIfThere, writeAll } from '../system/files.ts';
import type { TranscriptState } from './transcript.ts';

/** Grows when what is kept, or how a line is read, changes: then the transcripts are read anew. */
const format = 1;

/** What is remembered of a session's transcripts. */
export type CachedTranscripts = {
  readonly state: TranscriptState;
  /** What was recorded before and can no longer be read anywhere. */
  readonly lost: Meters;
};

/** The same with the file that holds its digests; null where there are none. */
export type LoadedTranscripts = CachedTranscripts & { readonly digestFile: string | null };

/** What was kept of a session's transcripts, or null: missing, torn, damaged, or another version's. */
export function loadCached(path: string): LoadedTranscripts | null {
  try {
    const text = readIfThere(path)?.toString('utf8') ?? '';
    const [sum, json = ''] = text.split('\n');
    if (sum !== hash('sha256', json)) return null;
    // Its checksum says that it is as it was written; only the version may be another.
    const {
      format: found,
      digestCount,
      digestFile,
      lost,
      settled,
      recent,
      fresh,
      ...others
    } = JSON.parse(json) as Kept;
    if (found !== format) return null;
    const digests = digestFile === null ? new Float64Array() : readDigests(join(dirname(path), digestFile));
    if (digests?.length !== digestCount) return null;
    const messages = { recent: mapKeyed(recent, (all) => all.map(unpack)), settled, digests, fresh };
    return { state: { ...others, messages }, lost, digestFile };
  } catch {
    return null; // not to be read: the transcripts are read from their beginning
  }
}

function readDigests(path: string): Float64Array | null {
  const bytes = readIfThere(path);
  // A copy, because numbers can only be looked at where they are aligned.
  return bytes === null ? null : new Float64Array(new Uint8Array(bytes).buffer);
}

/**
 * Keeps it in place of what was loaded; false where that could not be done. Nobody waits for the disk: a checksum
 * tells a torn document. The digests may be many, so they have a file of their own, written when they change.
 */
export async function storeCached(
  disk: Disk,
  path: string,
  cached: CachedTranscripts,
  loaded: LoadedTranscripts | null,
  random: Random,
): Promise<boolean> {
  const temporary = `${path}.${random.id(8)}.tmp`;
  const { digests, recent, settled, fresh } = cached.state.messages;
  try {
    await makeFolder(disk, dirname(path));
    const isNew = digests.length > 0 && digests !== loaded?.state.messages.digests;
    const digestFile = isNew ? `${basename(path)}.${random.id(8)}.seen` : (loaded?.digestFile ?? null);
    if (isNew && digestFile !== null) {
      const bytes = Buffer.from(digests.buffer, digests.byteOffset, digests.byteLength);
      await write(disk, join(dirname(path), digestFile), bytes, true);
    }
    const { messages: _, ...others } = cached.state;
    const packed = mapKeyed(recent, (all) => all.map(pack));
    const counts = { digestFile, digestCount: digestFile === null ? 0 : digests.length };
    const kept: Kept = { format, ...others, lost: cached.lost, settled, recent: packed, fresh, ...counts };
    const json = JSON.stringify(kept);
    await write(disk, temporary, Buffer.from(`${hash('sha256', json)}\n${json}`), false);
    disk.rename(temporary, path);
    // The one before stays: somebody else may be about to refer to it.
    if (isNew) removeOthers(disk, path, [digestFile, loaded?.digestFile ?? null]);
    return true;
  } catch {
    removeOthers(disk, path, [loaded?.digestFile ?? null]);
    return false; // the next reading takes longer, and is just as right
  }
}

async function write(disk: Disk, path: string, bytes: Buffer, isSynced: boolean): Promise<void> {
  const fd = disk.open(path, 'wx', 0o600);
  try {
    writeAll(disk, fd, bytes);
    // Only its length is looked at later.
    if (isSynced) await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}

/** Removes what earlier writers left beside the document. */
function removeOthers(disk: Disk, path: string, kept: readonly (string | null)[]): void {
  const isOurs = (name: string) => name.startsWith(`${basename(path)}.`) && /\.(seen|tmp)$/.test(name);
  try {
    for (const name of listFolder(dirname(path)))
      if (isOurs(name) && !kept.includes(name)) removeIfThere(disk, join(dirname(path), name));
  } catch {
    // a disk that refuses everything; what is left behind is small, and nobody reads it
  }
}

/** The document. */
type Kept = Omit<TranscriptState, 'messages'> & {
  readonly format: number;
  readonly lost: Meters;
  readonly settled: TranscriptState['messages']['settled'];
  readonly recent: Keyed<Packed[]>;
  readonly fresh: readonly number[];
  readonly digestFile: string | null;
  readonly digestCount: number;
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
