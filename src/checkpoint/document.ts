import type { infer as Infer } from 'zod/mini';
import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { canonicalJson } from '../state/canonical.ts';
import { emptyState, type State } from '../state/lists.ts';
import type { documentShape } from './shape.ts';

const format = 1;
/** The most a document takes, as it is stored. */
export const maxDocumentBytes = 256 * 1024;
/** The most that is read: money, marks and sessions are stored even where they take more than that. */
export const maxReadBytes = 4 * maxDocumentBytes;
/** The most that is joined from elsewhere: our own next checkpoints add to it, and have to be read again. */
export const maxJoinedBytes = 2 * maxDocumentBytes;
/** How deep values may be nested; orch's own never go past ten. */
const maxDepth = 64;

/** A checkpoint, as it is stored. */
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

/** One field a line, so that `git show` and `git diff` can be read. */
export function formatDocument(document: CheckpointDocument): Buffer {
  return Buffer.from(`${JSON.stringify(document, null, 1)}\n`);
}

/**
 * Reads a document: first its format (a newer one is refused, never half-read), then, unless this clone wrote it or
 * checked it before, its checksum and its shape. Fields it does not know stay in it.
 */
export async function parseDocument(
  bytes: Buffer,
  where: string,
  isOurs = false,
): Promise<CheckpointDocument> {
  const broken = (problem: string, cause?: unknown) =>
    new OrchError('INTEGRITY', `${where} is damaged: ${problem}`, {
      hint: 'The other checkpoints are not affected. See them with: orch checkpoint verify',
      data: { where },
      cause,
    });
  if (bytes.length > maxReadBytes)
    throw broken(`it has ${bytes.length} bytes; at most ${maxReadBytes} are read`);
  if (!isOurs && depthOf(bytes) > maxDepth) throw broken('its values are nested too deep');
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
  if (isOurs) return withLists(parsed as CheckpointDocument); // its object id was checked, and it was written or checked here
  let expected: string;
  try {
    expected = integrityOf(content);
  } catch (error) {
    throw broken('it has a number that is too large', error); // `1e999` is read as infinity, which is not JSON
  }
  if (integrity !== expected) throw broken('its checksum does not match');
  const problem = (await import('./shape.ts')).findProblem(content);
  if (problem !== null) throw broken(problem);
  return withLists(parsed as CheckpointDocument); // checked just above; the parsed copy would lack the unknown fields
}

/** An older document lacks the lists that came later: they are empty. */
function withLists(document: CheckpointDocument): CheckpointDocument {
  return { ...document, state: { ...emptyState, ...document.state } };
}

/** How deep JSON is nested, before anything is made of it: what walks through values does so by recursion. */
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
      hint: 'Update orch, then run the same command again',
      data: { where, format: found, supported: format },
    },
  );
}
