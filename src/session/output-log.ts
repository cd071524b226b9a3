import { StringDecoder } from 'node:string_decoder';
import type { Redact } from '../redact.ts';
import type { Disk } from '../system/files.ts';
import { openLogFile } from '../system/log-file.ts';
import { openRedactedStream } from './redacted-stream.ts';

/** A log of what a command prints, and of what orch has to say of it. */
export type OutputLog = {
  /** A line of orch's own. */
  tell(text: string): void;
  /** A piece of what the command prints. */
  write(chunk: Buffer | string): void;
  /** Writes what is held back, and waits until all is written. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Opens a log, which keeps no secrets. A log that cannot be written stops nobody's work; how much is missing is said
 * in it later.
 */
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
  // The last line of a command may have no end; what is said after it begins a line of its own.
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
