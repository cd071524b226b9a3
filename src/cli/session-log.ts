import { StringDecoder } from 'node:string_decoder';
import type { Orch } from '../orch.ts';
import { openRedactedStream } from '../session/redacted-stream.ts';
import { openLogFile } from '../system/log-file.ts';
import type { SessionId } from '../types.ts';
import { logPath } from './background.ts';

/** What a session in the background says, and what its command prints. */
export type SessionLog = {
  /** A line of orch's own. */
  tell(text: string): void;
  /** A piece of what the command prints. */
  write(chunk: Buffer): void;
  /** Writes what is held back, and waits until all is written. */
  flush(): Promise<void>;
};

/**
 * Opens the log of a session, which keeps no secrets. A log that cannot be written stops nobody's work; how much is
 * missing is said in it later.
 */
export function openSessionLog(orch: Orch, session: SessionId): SessionLog {
  const file = openLogFile(orch.disk, logPath(orch.home, session));
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

  const stream = openRedactedStream(orch.redact, append);
  // The last line of a command may have no end; what is said after it begins a line of its own.
  let isMidLine = false;

  return {
    tell: (text) => stream.pass(`${text}\n`),
    write: (chunk) => {
      const text = decoder.write(chunk);
      if (text !== '') isMidLine = !text.endsWith('\n');
      stream.add(text);
    },
    flush: () => {
      stream.add(`${decoder.end()}${isMidLine ? '\n' : ''}`);
      isMidLine = false;
      return stream.end();
    },
  };
}
