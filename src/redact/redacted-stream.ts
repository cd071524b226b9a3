import { messageOf } from '../errors.ts';
import type { Redact } from './redactor.ts';

/** The output of a process on its way to storage. */
export type RedactedStream = {
  /** Adds a piece, which may end in the middle of a line or a secret. */
  add(text: string): void;
  /** Adds a complete text. */
  pass(text: string): void;
  /** Passes on what is held back, and waits until everything is emitted. */
  end(): Promise<void>;
};

/** A longer line is passed on in pieces. */
const longestLine = 64 * 1024;
/** At most this much of it is held back for the end of a word. */
const longestWord = 8 * 1024;
/** A private key spans lines, so it is held back until it is complete, or longer than any key. */
const keyHeading = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|Private-Lines: [0-9]/g;
const keyEnd = /-----END |Private-MAC: /;
const longestKey = 32 * 1024;

/** Passes a stream on in whole lines, in order and without secrets. */
export function openRedactedStream(redact: Redact, emit: (text: string) => void): RedactedStream {
  let held = '';
  let work = Promise.resolve();

  function pass(text: string): void {
    work = work.then(async () => {
      try {
        emit(await redact(text));
      } catch (error) {
        // A text that can't be checked is not kept, but the gap is noted.
        emit(`… ${Buffer.byteLength(text)} bytes left out: ${messageOf(error)}\n`);
      }
    });
  }

  return {
    pass,
    add: (text) => {
      held += text;
      // Nothing can be passed on yet, and a long line may arrive one character at a time.
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

/** Finds the end of the part that can't contain the start of an incomplete secret. */
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
  // An endless word is not a secret, so it may be cut anywhere.
  return held.length - tail.length + word;
}
