import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { OrchError } from '../errors.ts';
import { canonicalJson } from '../state/canonical.ts';
import type { Event } from '../state/facts.ts';
import { type State, stateShape } from '../state/lists.ts';
import {
  type CheckpointId,
  type EpicId,
  type Oid,
  type SessionId,
  triggers,
  type WriterId,
} from '../types.ts';

const format = 1;
/** The most a document takes, as it is stored. */
export const maxDocumentBytes = 256 * 1024;

const id = <Id extends string>() => z.custom<Id>((value) => typeof value === 'string');

const event = z.object({
  at: z.number(),
  by: id<WriterId>(),
  session: id<SessionId>(),
  offset: z.number(),
  end: z.number(),
  // Facts of later versions of orch are kept as they are.
  fact: z.custom<Event['fact']>((value) => typeof value === 'object' && value !== null && 'kind' in value),
});

const shape = z.object({
  format: z.literal(format),
  id: id<CheckpointId>(),
  seq: z.int().check(z.positive()),
  epicId: id<EpicId>(),
  sessionId: id<SessionId>(),
  sessionNumber: z.number(),
  writer: id<WriterId>(),
  /** ISO 8601, UTC. */
  timestamp: z.string(),
  trigger: z.enum(triggers),
  reason: z.nullable(z.string()),
  summary: z.string(),
  /** The user's HEAD, and the branch it was on. */
  gitCommit: z.nullable(id<Oid>()),
  branch: z.nullable(z.string()),
  snapshot: z.nullable(id<Oid>()),
  /** All that the epic has cost up to here. */
  costUsd: z.number(),
  /** What was folded into this checkpoint. */
  events: z.array(event),
  state: stateShape,
  /** Checkpoints that could not be read when this one was made from what was left. */
  rebuiltOver: z.optional(z.array(z.object({ commit: z.string(), problem: z.string() }))),
});

/** A checkpoint, as it is stored. */
export type CheckpointDocument = Omit<z.infer<typeof shape>, 'state'> & { state: State; integrity: string };
export type DocumentContent = Omit<CheckpointDocument, 'integrity'>;

function integrityOf(content: object): string {
  return `sha256-${createHash('sha256').update(canonicalJson(content)).digest('hex')}`;
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
 * Reads a document: first its format (a newer one is refused, never half-read), then its checksum, then its shape.
 * Fields it does not know stay in it.
 */
export function parseDocument(bytes: Buffer, where: string): CheckpointDocument {
  const broken = (problem: string, cause?: unknown) =>
    new OrchError('INTEGRITY', `${where} is damaged: ${problem}`, {
      hint: 'The other checkpoints are not affected. See them with: orch checkpoint verify',
      data: { where },
      cause,
    });
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
  if (integrity !== integrityOf(content)) throw broken('its checksum does not match');
  const checked = z.safeParse(shape, content);
  if (!checked.success) {
    const { path, message } = checked.error.issues[0] ?? { path: [], message: 'wrong shape' };
    throw broken(`${path.join('.') || 'document'}: ${message}`);
  }
  return parsed as CheckpointDocument; // checked just above; the parsed copy would lack the unknown fields
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
