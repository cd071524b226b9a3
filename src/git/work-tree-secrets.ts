import { readFileSync, readlinkSync } from 'node:fs';
import { hasCode, systemCode } from '../errors.ts';
import { statIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import type { GitEngine } from './engine.ts';
import { findEntry, readCommit } from './read.ts';
import type { Found } from './work-tree-changes.ts';
import { listStaged, type Staged, unstage } from './work-tree-git.ts';
import type { IndexPorts } from './work-tree-index.ts';
import { fullPath } from './work-tree-look.ts';

/*
 * The snapshot's door: a file that changed and holds a secret is not kept, unless the user's last commit has the same
 * secret in the same file: then it is known to all who have the repository. What changed since that commit is looked
 * at, once for each content: what is in the kept index has passed already.
 */

export type SecretPorts = IndexPorts & {
  readonly git: GitEngine;
  /** What kind of secret is in a text, or in a file, that is not also in what is published; null where none is. */
  readonly findSecret: (
    content: string | Buffer,
    readPublished?: () => Promise<Buffer | null>,
  ) => Promise<string | null>;
};

/** Looks into files that may be stored, and says of each that holds a secret what it is. */
export async function lookForSecrets(
  ports: SecretPorts,
  worktree: string,
  found: ReadonlyMap<string, Found>,
  maxFileBytes: number,
): Promise<Map<string, Found>> {
  const { findSecret } = ports;
  const result = new Map(found);
  for (const [path, one] of found) {
    if (one.kind !== 'file' && one.kind !== 'link') continue;
    const readPublished = () => readInHead(ports, path);
    const name = Buffer.from(path, 'latin1').toString('utf8');
    const secret =
      (await findSecretInName(findSecret, name, readPublished)) ??
      (one.kind === 'link' || one.bytes <= maxFileBytes
        ? await findSecret(readIfReadable(fullPath(worktree, path), one.kind), readPublished)
        : null);
    if (secret !== null) result.set(path, { ...one, secret });
  }
  return result;
}

async function findSecretInName(
  findSecret: SecretPorts['findSecret'],
  name: string,
  readPublished: () => Promise<Buffer | null>,
): Promise<string | null> {
  const secret = await findSecret(name);
  return secret !== null && (await readPublished()) === null ? secret : null;
}

/** What the user's last commit has at a path; null where it has no file there. */
async function readInHead({ git }: SecretPorts, path: string): Promise<Buffer | null> {
  const { commit } = await git.readHead();
  if (commit === null) return null;
  try {
    const entry = await findEntry(git, (await readCommit(git, commit)).tree, path);
    return entry === null ? null : await readBlob(git, entry.oid);
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null; // a clone without all objects
  }
}

async function readBlob(git: GitEngine, oid: Oid): Promise<Buffer | null> {
  const { kind, bytes } = await git.readObject(oid);
  return kind === 'blob' ? bytes : null;
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
  for (const one of staged) if (await isSecret(ports, one)) secret.push(one);
  if (secret.length > 0) await unstage(repository, secret, environment);
  return secret.length > 0;
}

/** One that is not here was not staged here. */
async function isSecret(ports: SecretPorts, { path, oid }: Staged): Promise<boolean> {
  try {
    const { bytes } = await ports.git.readObject(oid);
    return (await ports.findSecret(bytes, () => readInHead(ports, path))) !== null;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return false;
  }
}
