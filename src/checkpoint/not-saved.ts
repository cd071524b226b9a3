import { cleanLine } from '../text.ts';
import type { CheckpointDocument } from './document.ts';

/*
 * What of the code is not in a checkpoint. Pure: the message, the brief and the terminal say the same.
 */

export type NotSaved = Pick<CheckpointDocument, 'leftOut' | 'leftOutTotal' | 'snapshotFailed'>;

/** How many files that were left out of a snapshot a document names; its snapshot's message names them all. */
export const mostInDocument = 100;

const mostNamed = 3;

/** The first few files that were left out, and how many more there are. */
export function nameLeftOut(
  { leftOut = [], leftOutTotal = leftOut.length }: NotSaved,
  say: (path: string, reason: string) => string,
): string | null {
  if (leftOut.length === 0) return null;
  const named = leftOut.slice(0, mostNamed).map(({ path, reason }) => say(path, reason));
  const more = Math.max(0, leftOutTotal - named.length);
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The same on one line of text; null where everything was saved. */
export function describeNotSaved(document: NotSaved): string | null {
  const { snapshotFailed } = document;
  if (snapshotFailed !== undefined) return `all of the code: ${cleanLine(snapshotFailed, 160)}`;
  return nameLeftOut(
    document,
    (path, reason) => `${shortenPath(cleanLine(path))} (${cleanLine(reason, 40)})`,
  );
}

const longestPath = 40;

/** A file is known by the end of its path. */
function shortenPath(path: string): string {
  return path.length <= longestPath ? path : `…${path.slice(1 - longestPath)}`;
}
