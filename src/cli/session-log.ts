import { StringDecoder } from 'node:string_decoder';
import type { Orch } from '../orch.ts';
import { openLogFile } from '../system/log-file.ts';
import type { SessionId } from '../types.ts';
import { logPath } from './background.ts';

/** What a session in the background says, and what its command prints. */
export type SessionLog = {
  /** A line of orch's own. */
  tell(text: string): void;
  /** A piece of what the command prints. */
  write(chunk: Buffer): void;
  /** Writes what is held back. */
  flush(): void;
};

/** A line that gets longer than this is written in pieces. */
const longestLine = 64 * 1024;

/**
 * Opens the log of a session. What the command prints is written in whole lines: a piece may end in the middle of a
 * letter, or of a secret. A log that cannot be written stops nobody's work; how much is missing is said in it later.
 */
export function openSessionLog(orch: Orch, session: SessionId): SessionLog {
  const file = openLogFile(orch.disk, logPath(orch.home, session));
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

  return {
    tell: (text) => append(`${text}\n`),
    write: (chunk) => {
      held += decoder.write(chunk);
      const end = held.length > longestLine ? held.length : held.lastIndexOf('\n') + 1;
      if (end > 0) append(orch.redact(held.slice(0, end)));
      held = held.slice(end);
    },
    flush: () => {
      held += decoder.end();
      if (held !== '') append(`${orch.redact(held)}\n`);
      held = '';
    },
  };
}
