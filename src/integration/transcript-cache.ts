import { basename, dirname, join } from 'node:path';
import type { Nanos } from '../cost/fields.ts';
import type { Message } from '../cost/messages.ts';
import type { Meters } from '../cost/meters.ts';
import { hash } from '../digest.ts';
import type { Keyed } from '../keyed.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder, makeFolder, readIfThere, removeIfThere, writeAll } from '../system/files.ts';
import type { TranscriptState } from './transcript.ts';

/** Grows when what is kept, or how a line is read, changes: then the transcripts are read anew. */
const format = 4;

/** What is remembered of a session's transcripts. */
export type CachedTranscripts = {
  readonly state: TranscriptState;
  /** What was recorded before and can no longer be read anywhere. */
  readonly lost: Meters;
};

/** The same as it was found. */
export type LoadedTranscripts = CachedTranscripts & {
  /** Holds the digests; null where there are none. */
  readonly digestFile: string | null;
  /** Grows with each one that is stored. */
  readonly edition: number;
};

/** What was kept of a session's transcripts, or null: missing, torn, damaged, or another version's. */
export function loadCached(path: string): LoadedTranscripts | null {
  const slots = [readSlot(`${path}.0`), readSlot(`${path}.1`)];
  for (const slot of slots.sort((a, b) => b.edition - a.edition)) {
    const kept = parseSlot(slot);
    const loaded = kept && unfold(kept, slot.edition, dirname(path));
    if (loaded !== null) return loaded;
  }
  return null;
}

/** A document as it is written: a line with its edition and its checksum, and a line of JSON. */
type Slot = { readonly edition: number; readonly sum: string; readonly json: string };

function readSlot(path: string): Slot {
  try {
    const [head = '', json = ''] = readIfThere(path)?.toString('utf8').split('\n') ?? [];
    const [edition = '', sum = ''] = head.split(' ');
    return { edition: Number.parseInt(edition, 10) || 0, sum, json };
  } catch {
    return { edition: 0, sum: '', json: '' }; // not to be read: the transcripts are read from their beginning
  }
}

function formatSlot(edition: number, json: string): Buffer {
  return Buffer.from(`${edition} ${sumOf(edition, json)}\n${json}`);
}

function sumOf(edition: number, json: string): string {
  return hash('sha256', `${edition}\n${json}`);
}

function parseSlot({ edition, sum, json }: Slot): Kept | null {
  if (sum !== sumOf(edition, json)) return null;
  // Its checksum says that it is as it was written; only the version may be another.
  const kept = JSON.parse(json) as Kept;
  return kept.format === format ? kept : null;
}

function unfold(kept: Kept, edition: number, folder: string): LoadedTranscripts | null {
  const { format: _, digestCount, digestFile, lost, settled, recent, fresh, ...others } = kept;
  const digests = digestFile === null ? new Float64Array() : readDigests(join(folder, digestFile));
  if (digests?.length !== digestCount) return null;
  const messages = { recent: mapKeyed(recent, (all) => all.map(unpack)), settled, digests, fresh };
  return { state: { ...others, messages }, lost, digestFile, edition };
}

function readDigests(path: string): Float64Array | null {
  try {
    const bytes = readIfThere(path);
    if (bytes === null) return null;
    // Numbers can only be looked at where they are aligned.
    const { buffer, byteOffset, length } = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
    return length % 8 === 0 ? new Float64Array(buffer, byteOffset, length / 8) : null;
  } catch {
    return null; // not to be read
  }
}

/**
 * Keeps it instead of what was loaded; false where that could not be done. Nobody waits for the disk: a checksum tells
 * a torn document, and it is written beside the last one, in turns, because some file systems make whoever replaces a
 * file wait. The digests may be many, so they have a file of their own, written when they change.
 */
export async function storeCached(
  disk: Disk,
  path: string,
  cached: CachedTranscripts,
  loaded: LoadedTranscripts | null,
  random: Random,
): Promise<boolean> {
  const edition = (loaded?.edition ?? 0) + 1;
  const slot = `${path}.${edition % 2}`;
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
    const kept = { format, ...others, lost: cached.lost, settled, recent: packed, fresh, ...counts };
    const json = JSON.stringify(kept satisfies Kept);
    removeIfThere(disk, slot);
    await write(disk, slot, formatSlot(edition, json), false);
    // The one before stays: somebody else may be about to refer to it.
    if (isNew) removeOthers(disk, path, [digestFile, loaded?.digestFile ?? null]);
    return true;
  } catch {
    return false; // the next reading takes longer, and is just as right
  }
}

/** Removes all that was kept of a session's transcripts. */
export function removeCached(disk: Disk, path: string): void {
  for (const slot of [0, 1]) removeIfThere(disk, `${path}.${slot}`);
  removeOthers(disk, path, []);
}

async function write(disk: Disk, path: string, bytes: Buffer, isSynced: boolean): Promise<void> {
  const fd = disk.open(path, 'wx', 0o600);
  try {
    writeAll(disk, fd, bytes);
    // Only its length is looked at later.
    if (isSynced) await disk.sync(fd);
  } catch (error) {
    removeIfThere(disk, path);
    throw error;
  } finally {
    disk.close(fd);
  }
}

/** Removes what earlier writers left beside the document. */
function removeOthers(disk: Disk, path: string, kept: readonly (string | null)[]): void {
  const isOurs = (name: string) => name.startsWith(`${basename(path)}.`) && name.endsWith('.seen');
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
