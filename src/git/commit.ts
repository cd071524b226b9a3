import { isOid, parseOid } from '../ids.ts';
import type { Millis, Oid } from '../types.ts';
import { latestTime } from '../units.ts';
import { type Commit, damaged, type GitObject } from './engine.ts';

/**
 * Who every checkpoint is by. The same everywhere: it needs no configured identity, publishes nobody's
 * address, and lets two machines make the same merge commit.
 */
export const identity = { name: 'orch', email: 'orch@localhost' } as const;

export type CommitContent = {
  readonly tree: Oid;
  readonly parents: readonly Oid[];
  readonly authoredAt: Millis;
  readonly committedAt: Millis;
  readonly message: string;
};

export function formatCommit(content: CommitContent): GitObject {
  const by = `${identity.name} <${identity.email}>`;
  const seconds = (at: Millis) => `${Math.max(0, Math.floor(at / 1_000))} +0000`;
  const lines = [
    `tree ${content.tree}`,
    ...content.parents.map((parent) => `parent ${parent}`),
    `author ${by} ${seconds(content.authoredAt)}`,
    `committer ${by} ${seconds(content.committedAt)}`,
    '',
    content.message,
  ];
  return { kind: 'commit', bytes: Buffer.from(lines.join('\n')) };
}

/** A commit by anybody; `INTEGRITY` where it is none. */
export function parseCommit(oid: Oid, { kind, bytes }: GitObject): Commit {
  const text = bytes.toString('utf8');
  const split = text.indexOf('\n\n');
  const fields = new Map<string, string[]>();
  for (const line of (split < 0 ? text : text.slice(0, split)).split('\n')) {
    const space = line.indexOf(' ');
    if (space <= 0) continue; // a signature's continuation
    const name = line.slice(0, space);
    fields.set(name, [...(fields.get(name) ?? []), line.slice(space + 1)]);
  }
  const [tree] = fields.get('tree') ?? [];
  const parents = fields.get('parent') ?? [];
  if (kind !== 'commit' || tree === undefined) throw damaged(oid, `not a commit but a ${kind}`);
  if (![tree, ...parents].every(isOid)) throw damaged(oid, 'a commit with a name in it that is no object id');
  return {
    oid,
    tree: parseOid(tree),
    parents: parents.map(parseOid),
    authoredAt: timeOf(fields.get('author')),
    committedAt: timeOf(fields.get('committer')),
    message: split < 0 ? '' : text.slice(split + 2),
  };
}

/** `A Name <address> 1700000000 +0000` → its time. */
function timeOf([line = '']: readonly string[] = []): Millis {
  return toInstant(line.slice(line.lastIndexOf('>') + 2).split(' ')[0]);
}

/** Seconds since 1970, as git writes them. Git takes any number; what no calendar has becomes the nearest it has. */
export function toInstant(seconds: string | undefined): Millis {
  return Math.min(Math.max(0, (Number(seconds) || 0) * 1_000), latestTime);
}
