import type { infer as Infer } from 'zod/mini';
import { hash } from '../../digest.ts';
import { OrchError } from '../../errors.ts';
import { canonicalJson } from '../../state/canonical.ts';
import { emptyState, type State } from '../../state/lists.ts';
import { cleanLine } from '../../text.ts';
import type { documentShape } from './document-shape.ts';

/** The newest format this orch reads. */
const format = 2;
/** The most bytes a stored document takes. */
export const maxDocumentBytes = 256 * 1024;
/** The most that is read: money, marks and sessions are stored even if they take more than that. */
export const maxReadBytes = 4 * maxDocumentBytes;
/** The most that is joined from elsewhere: our next checkpoints add to it, and must stay readable. */
export const maxJoinedBytes = 2 * maxDocumentBytes;
/** How deep values may nest; orch's own never exceed ten. */
const maxDepth = 64;

/** A checkpoint as stored. */
export type CheckpointDocument = Omit<Infer<typeof documentShape>, 'state'> & {
  state: State;
  integrity: string;
};
export type DocumentContent = Omit<CheckpointDocument, 'integrity'>;

function integrityOf(content: object): string {
  return `sha256-${hash('sha256', canonicalJson(content))}`;
}

/** Adds the checksum. */
export function sealDocument(content: DocumentContent): CheckpointDocument {
  return { ...content, integrity: integrityOf(content) };
}

/** One field per line, so that `git show` and `git diff` are readable. */
export function formatDocument(document: CheckpointDocument): Buffer {
  return Buffer.from(`${JSON.stringify(document, null, 1)}\n`);
}

/**
 * Parses a document: first its format (a newer one is refused, never half-read), then, unless this clone wrote or
 * checked it before, its checksum and its shape. Unknown fields stay in it.
 */
export async function parseDocument(
  bytes: Buffer,
  where: string,
  isOurs = false,
): Promise<CheckpointDocument> {
  const broken = (problem: string, cause?: unknown) =>
    new OrchError('INTEGRITY', `${where} is damaged: ${problem}`, {
      hint: 'The other checkpoints are not affected. Check them with: orch checkpoint verify',
      data: { where },
      cause,
    });
  if (bytes.length > maxReadBytes)
    throw broken(`it has ${bytes.length} bytes; orch reads at most ${maxReadBytes}`);
  if (!isOurs && depthOf(bytes) > maxDepth) throw broken('its values are nested too deeply');
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw broken('it is not JSON', error);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw broken('it is not an object');
  const { integrity, ...content } = parsed as { integrity?: unknown; format?: unknown };
  if (typeof content.format === 'number' && content.format > format) throw tooNew(where, content.format);
  if (isOurs) return withLists(parsed as CheckpointDocument); // git checked its object id, and this clone wrote or checked it
  let expected: string;
  try {
    expected = integrityOf(content);
  } catch (error) {
    throw broken('it has a number that is too large', error); // `1e999` is read as infinity, which is not JSON
  }
  if (integrity !== expected) throw broken('its checksum does not match');
  const problem = (await import('./document-shape.ts')).findProblem(content);
  if (problem !== null) throw broken(problem);
  return withLists(parsed as CheckpointDocument); // just checked; zod's copy would lack the unknown fields
}

/** Adds the lists that an older document lacks. */
function withLists(document: CheckpointDocument): CheckpointDocument {
  return { ...document, state: { ...emptyState, ...document.state } };
}

/** How deep JSON is nested, measured before parsing: code that walks values is recursive. */
function depthOf(json: Uint8Array): number {
  const [quote, backslash] = [0x22, 0x5c];
  let [depth, deepest, inText] = [0, 0, false];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (inText) {
      if (byte === backslash) at++;
      else if (byte === quote) inText = false;
    } else if (byte === quote) inText = true;
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return deepest;
}

function tooNew(where: string, found: number): OrchError {
  return new OrchError(
    'FORMAT_UNSUPPORTED',
    `${where} has format ${found}; this orch reads up to ${format}`,
    {
      hint: 'Update orch, then run the same command again.',
      data: { where, format: found, supported: format },
    },
  );
}

/* What a checkpoint's snapshot lacks, in the same words in the message, the brief and the terminal. */

export type NotSaved = Pick<CheckpointDocument, 'leftOut' | 'leftOutTotal' | 'snapshotFailed'>;

/** How many of the left-out files a document lists; the snapshot's message lists them all. */
export const mostInDocument = 100;

const mostNamed = 3;

/** The first few files that were left out, and how many more. */
export function nameLeftOut(
  { leftOut = [], leftOutTotal = leftOut.length }: NotSaved,
  format: (path: string, reason: string) => string,
): string | null {
  if (leftOut.length === 0) return null;
  const named = leftOut.slice(0, mostNamed).map(({ path, reason }) => format(path, reason));
  const more = Math.max(0, leftOutTotal - named.length);
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What the snapshot lacks in one line; null if it is complete. */
export function describeNotSaved(document: NotSaved): string | null {
  const { snapshotFailed } = document;
  if (snapshotFailed !== undefined) return `all of the code: ${cleanLine(snapshotFailed, 160)}`;
  return nameLeftOut(
    document,
    (path, reason) => `${shortenPath(cleanLine(path))} (${cleanLine(reason, 40)})`,
  );
}

const longestPath = 40;

/** The end of a path identifies a file best. */
function shortenPath(path: string): string {
  return path.length <= longestPath ? path : `…${path.slice(1 - longestPath)}`;
}
