import { parseOid } from '../ids.ts';
import type { Millis, Oid } from '../types.ts';
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
  const header = split < 0 ? text : text.slice(0, split);
  const field = (name: string) => new RegExp(`^${name} (.*)$`, 'm').exec(header)?.[1];
  const time = (name: string) => Number(/> (-?\d+) [+-]\d{4}$/.exec(field(name) ?? '')?.[1]) * 1_000;
  const tree = field('tree');
  if (kind !== 'commit' || tree === undefined) throw damaged(oid, `not a commit but a ${kind}`);
  return {
    oid,
    tree: parseOid(tree),
    parents: [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, parent]) => parseOid(parent ?? '')),
    authoredAt: time('author') || 0,
    committedAt: time('committer') || 0,
    message: split < 0 ? '' : text.slice(split + 2),
  };
}
