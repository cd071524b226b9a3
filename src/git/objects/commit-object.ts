import { isOid, parseOid } from '../../ids.ts';
import type { Millis, Oid } from '../../types.ts';
import { latestTime } from '../../units.ts';
import { type Commit, damaged, type GitObject } from '../engine.ts';

/**
 * The author of every checkpoint. Always the same: it needs no configured identity, publishes no one's address, and
 * lets two machines make the same merge commit.
 */
export const orchIdentity = { name: 'orch', email: 'orch@localhost' } as const;

export function formatCommit(content: Omit<Commit, 'oid'>): GitObject {
  const by = `${orchIdentity.name} <${orchIdentity.email}>`;
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

/** Parses any commit; `INTEGRITY` if the object is not one. */
export function parseCommit(oid: Oid, { kind, bytes }: GitObject): Commit {
  const text = bytes.toString('utf8');
  const split = text.indexOf('\n\n');
  const fields = new Map<string, string[]>();
  for (const line of (split < 0 ? text : text.slice(0, split)).split('\n')) {
    const space = line.indexOf(' ');
    if (space <= 0) continue; // a continuation line of a signature
    const name = line.slice(0, space);
    fields.set(name, [...(fields.get(name) ?? []), line.slice(space + 1)]);
  }
  const [tree] = fields.get('tree') ?? [];
  const parents = fields.get('parent') ?? [];
  if (kind !== 'commit' || tree === undefined) throw damaged(oid, `not a commit but a ${kind}`);
  if (![tree, ...parents].every(isOid)) throw damaged(oid, 'a commit with an invalid object id');
  return {
    oid,
    tree: parseOid(tree),
    parents: parents.map(parseOid),
    authoredAt: timeOf(fields.get('author')),
    committedAt: timeOf(fields.get('committer')),
    message: split < 0 ? '' : text.slice(split + 2),
  };
}

/** `A Name <address> 1700000000 +0000` → its time */
function timeOf([line = '']: readonly string[] = []): Millis {
  return parseGitTime(line.slice(line.lastIndexOf('>') + 2).split(' ')[0]);
}

/** Parses git's seconds since 1970. Git accepts any number, so it is limited to valid dates. */
export function parseGitTime(seconds: string | undefined): Millis {
  return Math.min(Math.max(0, (Number(seconds) || 0) * 1_000), latestTime);
}

export type Trailer = { readonly name: string; readonly value: string };

/** Reads the trailers in the last paragraph of a commit message, which is never the subject. */
export function readTrailers(message: string): Trailer[] {
  const [, ...paragraphs] = message.trimEnd().split('\n\n');
  const trailers: { name: string; value: string }[] = [];
  for (const line of (paragraphs.at(-1) ?? '').split('\n')) {
    const found = /^([A-Za-z][A-Za-z0-9-]*): ?(.*)$/.exec(line);
    const last = trailers.at(-1);
    if (found) trailers.push({ name: found[1] ?? '', value: found[2] ?? '' });
    else if (/^\s/.test(line) && last) last.value += `\n${line}`;
  }
  return trailers;
}
