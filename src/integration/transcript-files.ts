import { basename, dirname, join } from 'node:path';
import { hash } from '../digest.ts';
import { systemCode } from '../errors.ts';
import { listFolder, readFrom, statIfThere } from '../system/files.ts';

/** How far a file was read. */
export type FileMark = {
  readonly inode: number;
  /** Behind the last whole line. */
  readonly offset: number;
  /** Of the bytes in front of it: another file in its place has others. */
  readonly tail: string;
};

/** What happened to a file that is not as it was left. */
export type Fate = 'gone' | 'replaced' | 'truncated' | 'unreadable';

const newline = 0x0a;
const tailLength = 256;
const chunkLength = 1024 * 1024;
/** Agents write pictures and whole files into one line. What is longer still has nothing to say of cost. */
const longestLine = 64 * 1024 * 1024;

/** The files of an agent's session: its own, and those of the agents it started itself. */
export function findTranscripts(path: string): string[] {
  const folder = dirname(path);
  const session = basename(path, '.jsonl');
  const isAgents = (name: string) => /^agent-.*\.jsonl$/.test(name);
  const within = join(folder, session, 'subagents');
  const own = listFolder(within)
    .filter(isAgents)
    .map((name) => join(within, name));
  // Earlier versions put those of all sessions into one folder.
  const shared = [folder, join(folder, 'subagents')].flatMap((place) =>
    listFolder(place)
      .filter(isAgents)
      .map((name) => join(place, name))
      .filter((file) => file !== path && isOfSession(file, session)),
  );
  return [path, ...own.sort(), ...shared.sort()];
}

function isOfSession(path: string, session: string): boolean {
  const start = readFrom(path, 0, 16 * 1024)?.bytes.toString('utf8') ?? '';
  return start.replaceAll(' ', '').includes(`"sessionId":${JSON.stringify(session)}`);
}

/** How much of a file's end is searched. */
const searchedLength = 4 * chunkLength;

/** Is this word among the last that were written to a file? */
export function endsWithWord(path: string, word: string): boolean {
  return readEnd(path, searchedLength).includes(word);
}

/** Is an answer of these words the last that was said in Claude Code's transcript? */
export function endsWithAnswer(path: string, words: string): boolean {
  const lines = readEnd(path, chunkLength).toString('utf8').split('\n');
  const last = lines.findLast((line) => /"type":"(?:user|assistant)"/.test(line)) ?? '';
  // A tool that is used has a line of its own, and may be given the same words.
  const isSaid = last.includes('"type":"assistant"') && last.includes('"type":"text"');
  return isSaid && last.includes(JSON.stringify(words).slice(1, -1));
}

function readEnd(path: string, length: number): Buffer {
  const size = statIfThere(path)?.size ?? 0;
  return readFrom(path, Math.max(0, size - length), length)?.bytes ?? Buffer.alloc(0);
}

export type FileReading = {
  /** Null where there is no file any more. */
  readonly mark: FileMark | null;
  /** What became of it since it was last read; null where it only grew. */
  readonly fate: Fate | null;
};

/**
 * Reads the lines that were added to a file since it was marked, in little memory however many they are.
 * A file that is not the one it was is read from its beginning: `restart` is called first.
 * The last line may still be growing: it is tried, and read again the next time.
 */
export function readNewLines(
  path: string,
  mark: FileMark | null,
  restart: () => void,
  onLine: (line: Buffer, offset: number) => void,
): FileReading {
  try {
    const fate = mark === null ? null : compare(path, mark);
    if (fate === 'gone') return { mark: null, fate };
    if (mark === null || fate !== null) restart();
    return { mark: readLines(path, fate === null ? (mark?.offset ?? 0) : 0, onLine), fate };
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return { mark, fate: 'unreadable' };
  }
}

/** Is it still the file that was marked? */
function compare(path: string, { inode, offset, tail }: FileMark): Fate | null {
  const start = Math.max(0, offset - tailLength);
  const found = readFrom(path, start, offset - start);
  if (found === null) return 'gone';
  if (found.inode !== inode) return 'replaced';
  if (found.size < offset) return 'truncated';
  return digestTail(found.bytes) === tail ? null : 'replaced';
}

function digestTail(bytes: Buffer): string {
  return hash('sha256', bytes).slice(0, 16);
}

function readLines(
  path: string,
  from: number,
  onLine: (line: Buffer, offset: number) => void,
): FileMark | null {
  let inode: number | null = null;
  let offset = from;
  /** What was read behind the offset; empty, and only measured, where it is past all bounds. */
  let partial: Buffer[] = [];
  let partialLength = 0;
  for (;;) {
    const chunk = readFrom(path, offset + partialLength, chunkLength);
    if (chunk === null || (inode !== null && chunk.inode !== inode)) break; // replaced meanwhile: seen the next time
    inode = chunk.inode;
    if (chunk.bytes.length === 0) break;
    let start = 0;
    for (let end = chunk.bytes.indexOf(newline); end >= 0; end = chunk.bytes.indexOf(newline, start)) {
      const length = partialLength + end - start;
      const last = chunk.bytes.subarray(start, end);
      if (length <= longestLine)
        onLine(partial.length === 0 ? last : Buffer.concat([...partial, last]), offset);
      offset += length + 1;
      partial = [];
      partialLength = 0;
      start = end + 1;
    }
    const rest = chunk.bytes.subarray(start);
    partialLength += rest.length;
    partial = partialLength <= longestLine ? [...partial, rest] : [];
  }
  // Without its newline a line may be whole nevertheless, and the last one an agent wrote before it was killed.
  if (partial.length > 0) onLine(Buffer.concat(partial), offset);
  if (inode === null) return null;
  const start = Math.max(0, offset - tailLength);
  const tail = readFrom(path, start, offset - start);
  return tail === null || tail.inode !== inode ? null : { inode, offset, tail: digestTail(tail.bytes) };
}
