import { hasCode } from '../../errors.ts';
import { isEpicId, parseEpicId, parseSessionId } from '../../ids.ts';
import { cleanLine } from '../../text.ts';
import type { EpicId, Oid, SessionId } from '../../types.ts';
import { count } from '../../units.ts';
import type { GitEngine } from '../engine.ts';
import { readCommit } from '../objects/read-objects.ts';
import type { LeftOut } from './work-tree-changes.ts';

type SnapshotContent = {
  readonly epic: EpicId;
  readonly session: SessionId;
  /** For the subject: `session 7`. */
  readonly label: string;
  /** The user's HEAD; null if there is no commit yet. */
  readonly head: Oid | null;
  readonly leftOut: readonly LeftOut[];
};

/** The checkpoint document lists only the first few. */
const maxListed = 5_000;
/** Keeps the commit small enough to be read. */
const maxListedLength = 500_000;

/** Formats the subject, the files left out, and the trailers. File names cannot forge a trailer. */
export function formatSnapshotMessage({ epic, session, label, head, leftOut }: SnapshotContent): string {
  const lines = listLines(leftOut);
  const more = leftOut.length - lines.length;
  if (more > 0) lines.push(`and ${count(more, 'other')}`);
  const paragraphs = [
    `snapshot of ${epic}, ${cleanLine(label, 100)}`,
    ...(lines.length > 0 ? [['Left out:', ...lines].join('\n')] : []),
    [`Orch-Epic: ${epic}`, `Orch-Session: ${session}`, `Orch-Head: ${head ?? 'none'}`].join('\n'),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

function listLines(leftOut: readonly LeftOut[]): string[] {
  const lines: string[] = [];
  let length = 0;
  for (const one of leftOut.slice(0, maxListed)) {
    const line = `- ${formatLeftOut(one)}`;
    length += line.length;
    if (length > maxListedLength) break;
    lines.push(line);
  }
  return lines;
}

function formatLeftOut({ path, reason, bytes }: LeftOut): string {
  const size = bytes === null ? '' : `, ${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${cleanLine(path, 500)} (${reason}${size})`;
}

/** Parses the files left out, one per line; reasons contain no parentheses. */
function parseLeftOut(message: string): { path: string; reason: string }[] {
  const list = /\n\nLeft out:\n(.*?)\n\n/s.exec(message)?.[1] ?? '';
  return [...list.matchAll(/^- (.*) \(([^()]*?)(?:, [\d.]+ MB)?\)$/gm)].map(([, path = '', reason = '']) => ({
    path,
    reason,
  }));
}

/** Reads what a snapshot left out from its message; null if the snapshot is missing. */
export async function readLeftOut(
  git: GitEngine,
  commit: Oid,
): Promise<{ path: string; reason: string }[] | null> {
  try {
    return parseLeftOut((await readCommit(git, commit)).message);
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null;
  }
}

/** Tells whether two messages list the same files as left out. */
export function haveSameOmissions(a: string, b: string): boolean {
  // Sizes are ignored: a large file that grows is still left out.
  const list = (message: string) =>
    /\n\nLeft out:\n.*?\n\n/s.exec(message)?.[0].replace(/, [\d.]+ MB\)$/gm, ')');
  return list(a) === list(b);
}

/** Reads the user's HEAD from a snapshot's message; undefined if the message is not ours. */
export function readSnapshotHead(message: string): string | null | undefined {
  const head = /\nOrch-Head: (none|[0-9a-f]+)\n$/.exec(message)?.[1];
  return head === 'none' ? null : head;
}

export const snapshotsPrefix = 'refs/orchestration/snapshots/';

/** The ref with a session's snapshots. */
export function snapshotRef(epic: EpicId, session: SessionId): string {
  return `${snapshotsPrefix}${epic}/${session}`;
}

/** Parses the ref of a session's snapshots; null if it is another kind of ref. */
export function parseSnapshotRef(ref: string): { epic: EpicId; session: SessionId } | null {
  const [epic = '', session = '', ...more] = ref.slice(snapshotsPrefix.length).split('/');
  if (!ref.startsWith(snapshotsPrefix) || more.length > 0) return null;
  if (!isEpicId(epic) || !/^sess-[a-z0-9]{4,32}$/.test(session)) return null;
  return { epic: parseEpicId(epic), session: parseSessionId(session) };
}
