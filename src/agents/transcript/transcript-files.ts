import { basename, dirname, join } from 'node:path';
import { hash } from '../../digest.ts';
import { systemCode } from '../../errors.ts';
import { listFolder, readFrom, statIfThere } from '../../system/disk.ts';

/** How far a file has been read. */
export type FileMark = {
  readonly inode: number;
  /** After the last complete line. */
  readonly offset: number;
  /** Digest of the bytes before the offset, which reveals a different file in its place. */
  readonly tail: string;
};

/** Why a file can't be read on from where it was left. */
export type FileProblem = 'gone' | 'replaced' | 'truncated' | 'unreadable';

const newline = 0x0a;
const tailLength = 256;
const chunkLength = 1024 * 1024;
/** Agents write images and whole files into one line. Even longer ones say nothing about cost. */
const longestLine = 64 * 1024 * 1024;

/** Lists the transcripts of an agent's session: its own, and those of its subagents. */
export function findTranscripts(path: string): string[] {
  const folder = dirname(path);
  const session = basename(path, '.jsonl');
  const isAgents = (name: string) => /^agent-.*\.jsonl$/.test(name);
  const within = join(folder, session, 'subagents');
  const own = listFolder(within)
    .filter(isAgents)
    .map((name) => join(within, name));
  // Earlier versions put the subagents of all sessions into one folder.
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

/** Does this word appear near the end of a file? */
export function endsWithWord(path: string, word: string): boolean {
  return readEnd(path, 4 * chunkLength).includes(word);
}

/** Is this answer the last message in a Claude Code transcript? */
export function endsWithAnswer(path: string, words: string): boolean {
  const lines = readEnd(path, chunkLength).toString('utf8').split('\n');
  const last = lines.findLast((line) => /"type":"(?:user|assistant)"/.test(line)) ?? '';
  // A tool call has its own line, and its input may contain the same words.
  const isAnswer = last.includes('"type":"assistant"') && last.includes('"type":"text"');
  return isAnswer && last.includes(JSON.stringify(words).slice(1, -1));
}

function readEnd(path: string, length: number): Buffer {
  const size = statIfThere(path)?.size ?? 0;
  return readFrom(path, Math.max(0, size - length), length)?.bytes ?? Buffer.alloc(0);
}

export type FileReading = {
  /** Null if the file is gone. */
  readonly mark: FileMark | null;
  /** Null if the file only grew. */
  readonly problem: FileProblem | null;
};

/**
 * Reads the lines added to a file since it was marked, in constant memory.
 * If it is no longer the same file, `restart` is called and it is read from the start.
 * The last line may still be growing: it is passed on, and read again the next time.
 */
export function readNewLines(
  path: string,
  mark: FileMark | null,
  restart: () => void,
  onLine: (line: Buffer, offset: number) => void,
): FileReading {
  try {
    const problem = mark === null ? null : compare(path, mark);
    if (problem === 'gone') return { mark: null, problem };
    if (mark === null || problem !== null) restart();
    return { mark: readWholeLines(path, problem === null ? (mark?.offset ?? 0) : 0, onLine), problem };
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return { mark, problem: 'unreadable' };
  }
}

/** Checks that it is still the file that was marked. */
function compare(path: string, { inode, offset, tail }: FileMark): FileProblem | null {
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

function readWholeLines(
  path: string,
  from: number,
  onLine: (line: Buffer, offset: number) => void,
): FileMark | null {
  let inode: number | null = null;
  let offset = from;
  /** What was read of an incomplete line; past the limit only its length is kept. */
  let partial: Buffer[] = [];
  let partialLength = 0;
  for (;;) {
    const chunk = readFrom(path, offset + partialLength, chunkLength);
    if (chunk === null || (inode !== null && chunk.inode !== inode)) break; // replaced meanwhile: noticed next time
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
  // A line without its newline may still be complete: the last one before the agent was killed.
  if (partial.length > 0) onLine(Buffer.concat(partial), offset);
  if (inode === null) return null;
  const start = Math.max(0, offset - tailLength);
  const tail = readFrom(path, start, offset - start);
  return tail === null || tail.inode !== inode ? null : { inode, offset, tail: digestTail(tail.bytes) };
}
