import type { Redact } from '../redact.ts';

/** What a process prints, on its way to where it is kept. */
export type RedactedStream = {
  /** A piece; it may end in the middle of a line, or of a secret. */
  add(text: string): void;
  /** A text that is whole by itself. */
  pass(text: string): void;
  /** Lets go of what is held back, and waits until all is through. */
  end(): Promise<void>;
};

/** A line that gets longer than this is passed on in pieces. */
const longestLine = 64 * 1024;
/** And so much of it is held back, where no word ends. */
const longestWord = 8 * 1024;
/** A private key, which goes over lines, is held back until it is whole, or longer than any is. */
const keyHeading = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|Private-Lines: [0-9]/g;
const keyEnd = /-----END |Private-MAC: /;
const longestKey = 32 * 1024;

/** Passes a stream on in whole lines, in their order, without what must not be kept. */
export function openRedactedStream(redact: Redact, emit: (text: string) => void): RedactedStream {
  let held = '';
  let work = Promise.resolve();

  function pass(text: string): void {
    work = work.then(async () => {
      try {
        emit(await redact(text));
      } catch (error) {
        // What cannot be looked at is not kept; that it is missing is.
        const why = error instanceof Error ? error.message : error;
        emit(`… ${Buffer.byteLength(text)} bytes are not kept here: ${why}\n`);
      }
    });
  }

  return {
    pass,
    add: (text) => {
      held += text;
      // Nothing can be let go of yet, and a long line may come character by character.
      if (held.length <= longestLine && !text.includes('\n')) return;
      const end = findCut(held);
      if (end > 0) pass(held.slice(0, end));
      held = held.slice(end);
    },
    end: async () => {
      if (held !== '') pass(held);
      held = '';
      await work;
    },
  };
}

/** Up to where nothing can be the beginning of a secret that goes on. */
export function findCut(held: string): number {
  const line = held.lastIndexOf('\n') + 1;
  const end = line === 0 && held.length > longestLine ? findWordEnd(held) : line;
  const key = [...held.matchAll(keyHeading)].at(-1)?.index;
  const isOpen = key !== undefined && !keyEnd.test(held.slice(key)) && held.length - key < longestKey;
  return isOpen ? Math.min(end, key) : end;
}

function findWordEnd(held: string): number {
  const tail = held.slice(-longestWord);
  const word = /[^\s"'`,;<>()]*$/.exec(tail)?.index ?? 0;
  // A word without end is no secret; it is cut anywhere.
  return held.length - tail.length + word;
}
