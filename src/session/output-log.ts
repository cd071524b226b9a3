import { StringDecoder } from 'node:string_decoder';
import type { Redact } from '../redact.ts';
import type { Disk } from '../system/files.ts';
import { openLogFile } from '../system/log-file.ts';

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

/** A line that gets longer than this is written in pieces. */
const longestLine = 64 * 1024;

/**
 * Opens a log. What the command prints is written in whole lines: a piece may end in the middle of a
 * letter, or of a secret. A log that cannot be written stops nobody's work; how much is missing is said in it later.
 */
export function openOutputLog(
  ports: { readonly disk: Disk; readonly redact: Redact },
  path: string,
): OutputLog {
  const file = openLogFile(ports.disk, path);
  const decoder = new StringDecoder('utf8');
  let held = '';
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

  async function flush(): Promise<void> {
    held += decoder.end();
    if (held !== '') append(`${ports.redact(held)}\n`);
    held = '';
  }

  return {
    tell: (text) => append(`${text}\n`),
    write: (chunk) => {
      held += typeof chunk === 'string' ? chunk : decoder.write(chunk);
      const end = held.length > longestLine ? held.length : held.lastIndexOf('\n') + 1;
      if (end > 0) append(ports.redact(held.slice(0, end)));
      held = held.slice(end);
    },
    flush,
    close: async () => {
      await flush();
      file.close();
    },
  };
}
