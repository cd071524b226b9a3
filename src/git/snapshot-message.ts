import { cleanLine } from '../text.ts';
import type { EpicId, Oid, SessionId } from '../types.ts';
import { count } from '../units.ts';
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

/** The most a message lists; a folder of large files must not make a large message. */
const maxListed = 100;

/** The subject, what was left out, and the trailers as the last paragraph. File names cannot forge one. */
export function formatSnapshotMessage({ epic, session, label, head, leftOut }: SnapshotContent): string {
  const lines = leftOut.slice(0, maxListed).map((one) => `- ${formatLeftOut(one)}`);
  const more = leftOut.length - lines.length;
  if (more > 0) lines.push(`- and ${count(more, 'other')}`);
  const paragraphs = [
    `snapshot of ${epic}, ${cleanLine(label, 100)}`,
    ...(lines.length > 0 ? [['Left out:', ...lines].join('\n')] : []),
    [`Orch-Epic: ${epic}`, `Orch-Session: ${session}`, `Orch-Head: ${head ?? 'none'}`].join('\n'),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

function formatLeftOut({ path, reason, bytes }: LeftOut): string {
  const size = bytes === null ? '' : `, ${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${cleanLine(path, 500)} (${reason}${size})`;
}

/** The HEAD a snapshot was taken on, as its message says; undefined where it is not ours. */
export function headOf(message: string): string | null | undefined {
  const said = /\nOrch-Head: (none|[0-9a-f]+)\n$/.exec(message)?.[1];
  return said === 'none' ? null : said;
}
