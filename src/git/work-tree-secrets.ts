import { readFileSync, readlinkSync } from 'node:fs';
import { hasCode, systemCode } from '../errors.ts';
import { statIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import type { GitEngine } from './engine.ts';
import type { Found } from './work-tree-changes.ts';
import { listStaged, type Staged, unstage } from './work-tree-git.ts';
import type { IndexPorts } from './work-tree-index.ts';
import { fullPath } from './work-tree-look.ts';

/*
 * The snapshot's door: a file that changed and holds a secret is not kept. What changed since the user's last commit is
 * looked at, once for each content: what is in the kept index has passed already.
 */

export type SecretPorts = IndexPorts & {
  readonly git: GitEngine;
  /** What kind of secret is in a text, or in a file; null where there is none. */
  readonly findSecret: (content: string | Buffer) => Promise<string | null>;
};

/** Looks into files that may be stored, and says of each that holds a secret what it is. */
export async function lookForSecrets(
  { findSecret }: SecretPorts,
  worktree: string,
  found: ReadonlyMap<string, Found>,
  maxFileBytes: number,
): Promise<Map<string, Found>> {
  const result = new Map(found);
  for (const [path, one] of found) {
    if (one.kind !== 'file' && one.kind !== 'link') continue;
    const name = Buffer.from(path, 'latin1').toString('utf8');
    const isRead = one.kind === 'link' || one.bytes <= maxFileBytes;
    const secret =
      (await findSecret(name)) ??
      (isRead ? await findSecret(readIfReadable(fullPath(worktree, path), one.kind)) : null);
    if (secret !== null) result.set(path, { ...one, secret });
  }
  return result;
}

/** What went away meanwhile, or cannot be read, is for git to tell. Of a link, where it leads is kept. */
function readIfReadable(path: Buffer, kind: 'file' | 'link'): Buffer {
  try {
    return kind === 'link' ? readlinkSync(path, 'buffer') : readFileSync(path);
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return Buffer.alloc(0);
  }
}

/**
 * Takes out of a copy of the user's index what they staged and what holds a secret: it becomes what their last commit
 * has. Says whether there was any.
 */
export async function unstageSecrets(ports: SecretPorts, index: string): Promise<boolean> {
  const { repository, git } = ports;
  const environment = { GIT_INDEX_FILE: index };
  if (statIfThere(index) === null) return false; // nothing was ever staged
  const { commit } = await git.readHead();
  const staged = await listStaged(repository, commit, environment);
  const secret: Staged[] = [];
  for (const one of staged) if (await isSecret(ports, one.oid)) secret.push(one);
  if (secret.length > 0) await unstage(repository, secret, environment);
  return secret.length > 0;
}

/** One that is not here was not staged here. */
async function isSecret({ git, findSecret }: SecretPorts, oid: Oid): Promise<boolean> {
  try {
    return (await findSecret((await git.readObject(oid)).bytes)) !== null;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return false;
  }
}
