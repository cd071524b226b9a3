import { hasCode } from '../errors.ts';
import { cleanLine } from '../text.ts';
import type { EpicId, Oid, SessionId } from '../types.ts';
import { count } from '../units.ts';
import type { GitEngine } from './engine.ts';
import { readCommit } from './read.ts';
import type { LeftOut } from './work-tree-changes.ts';

export type SnapshotContent = {
  readonly epic: EpicId;
  readonly session: SessionId;
  /** Whose it is, in the subject: `session 7`. */
  readonly label: string;
  /** The user's HEAD; null where there is no commit yet. */
  readonly head: Oid | null;
  readonly leftOut: readonly LeftOut[];
};

/** The most a message lists: a document names the first of them, and all can be read here. */
const maxListed = 5_000;
/** And so many characters of them, so that the commit can always be read. */
const maxListedLength = 500_000;

/** The subject, what was left out, and the trailers as the last paragraph. File names cannot forge one. */
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

/** What a message says was left out, each on one line; reasons have no parentheses in them. */
function parseLeftOut(message: string): { path: string; reason: string }[] {
  const list = /\n\nLeft out:\n(.*?)\n\n/s.exec(message)?.[1] ?? '';
  return [...list.matchAll(/^- (.*) \(([^()]*?)(?:, [\d.]+ MB)?\)$/gm)].map(([, path = '', reason = '']) => ({
    path,
    reason,
  }));
}

/** All that a snapshot left out, as far as its message lists it; null where the snapshot is not here. */
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

/** Do two messages name the same files as left out? */
export function leaveOutTheSame(a: string, b: string): boolean {
  // One that only grew is still the same file.
  const list = (message: string) =>
    /\n\nLeft out:\n.*?\n\n/s.exec(message)?.[0].replace(/, [\d.]+ MB\)$/gm, ')');
  return list(a) === list(b);
}

/** The HEAD a snapshot was taken on, as its message says; undefined where it is not ours. */
export function headOf(message: string): string | null | undefined {
  const said = /\nOrch-Head: (none|[0-9a-f]+)\n$/.exec(message)?.[1];
  return said === 'none' ? null : said;
}
