import { isRecord, number, text, withFields } from '../../checks.ts';
import { hash } from '../../digest.ts';
import type { WritePorts } from '../../system/disk.ts';
import { tryReadJson, writeJson } from '../../system/json-file.ts';
import type { KeptMessages } from './messages.ts';
import type { Meters } from './meters.ts';
import type { TranscriptState } from './transcript.ts';

/** Increase it when the stored data or the reading of lines changes: transcripts are then read from the start. */
const format = 5;

/** What is remembered about a session's transcripts. */
type CachedTranscripts = {
  readonly state: TranscriptState;
  /** Usage that was recorded earlier and is in no transcript any more. */
  readonly lost: Meters;
};

type Kept = {
  readonly state: Omit<TranscriptState, 'messages'>;
  readonly lost: Meters;
  /** There may be a hundred thousand digests, so they are stored as bytes, in base64. */
  readonly messages: Omit<KeptMessages, 'digests'> & { readonly digests: string };
};

/** If the checksum matches, `kept` needs no further checks. */
type CacheFile = { readonly format: number; readonly sum: string; readonly kept: Kept };

const isCacheFile = withFields<CacheFile>({ format: number, sum: text, kept: isRecord });

/** Loads what is remembered; null if it is missing, damaged or from another version. */
export function loadCached(path: string): CachedTranscripts | null {
  const file = tryReadJson(path, isCacheFile);
  if (file === null || file.format !== format || file.sum !== sumOf(file.kept)) return null;
  const { state, lost, messages } = file.kept;
  // Copied, because a Float64Array needs aligned bytes.
  const bytes = new Uint8Array(Buffer.from(messages.digests, 'base64'));
  const digests = new Float64Array(bytes.buffer);
  return { state: { ...state, messages: { ...messages, digests } }, lost };
}

/** Stores it for the next reading. If that fails, the next reading is slower but just as correct. */
export async function storeCached(
  ports: WritePorts,
  path: string,
  { state: { messages, ...state }, lost }: CachedTranscripts,
): Promise<void> {
  const { buffer, byteOffset, byteLength } = messages.digests;
  const digests = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
  const kept: Kept = { state, lost, messages: { ...messages, digests } };
  const file: CacheFile = { format, sum: sumOf(kept), kept };
  try {
    // A torn file is recognized by its checksum, so nothing waits for the disk.
    await writeJson(ports, path, file, { isDurable: false, mode: 0o600 });
  } catch {
    // disk full or read-only
  }
}

function sumOf(kept: Kept): string {
  return hash('sha256', JSON.stringify(kept));
}
