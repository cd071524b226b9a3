import { readFileSync, readlinkSync } from 'node:fs';
import { hasCode, systemCode } from '../../errors.ts';
import { statIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';
import type { GitEngine } from '../engine.ts';
import { findEntry, readCommit } from '../objects/read-objects.ts';
import { formatPath } from '../objects/tree-object.ts';
import { listStaged, type Staged, unstage } from './index-commands.ts';
import type { IndexPorts } from './kept-index.ts';
import { type FoundFile, fullPath } from './work-tree-changes.ts';

/*
 * A changed file with a secret is left out of snapshots, unless the user's last commit has the same secret in the same
 * file, where everyone with the repository can see it. Each content is checked once: files in the kept index have
 * already passed.
 */

export type WorkTreePorts = IndexPorts & {
  readonly git: GitEngine;
  /** Returns the kind of secret in a text or file that is not in the published version too; null if there is none. */
  readonly findSecret: (
    content: string | Buffer,
    readPublished?: () => Promise<Buffer | null>,
  ) => Promise<string | null>;
};

/** Checks the files that may be stored, and adds the kind of secret to those that have one. */
export async function markSecrets(
  ports: WorkTreePorts,
  worktree: string,
  found: ReadonlyMap<string, FoundFile>,
  maxFileBytes: number,
): Promise<Map<string, FoundFile>> {
  const { findSecret } = ports;
  const result = new Map(found);
  for (const [path, one] of found) {
    if (one.kind !== 'file' && one.kind !== 'link') continue;
    const readPublished = () => readInHead(ports, path);
    const secret =
      (await findSecretInName(findSecret, formatPath(path), readPublished)) ??
      (one.kind === 'link' || one.bytes <= maxFileBytes
        ? await findSecret(readIfReadable(fullPath(worktree, path), one.kind), readPublished)
        : null);
    if (secret !== null) result.set(path, { ...one, secret });
  }
  return result;
}

async function findSecretInName(
  findSecret: WorkTreePorts['findSecret'],
  name: string,
  readPublished: () => Promise<Buffer | null>,
): Promise<string | null> {
  const secret = await findSecret(name);
  return secret !== null && (await readPublished()) === null ? secret : null;
}

/** Reads a file from the user's last commit; null if it has none. */
async function readInHead({ git }: WorkTreePorts, path: string): Promise<Buffer | null> {
  const { commit } = await git.readHead();
  if (commit === null) return null;
  try {
    const entry = await findEntry(git, (await readCommit(git, commit)).tree, path);
    return entry === null ? null : await readBlob(git, entry.oid);
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null; // a partial clone
  }
}

async function readBlob(git: GitEngine, oid: Oid): Promise<Buffer | null> {
  const { kind, bytes } = await git.readObject(oid);
  return kind === 'blob' ? bytes : null;
}

/** Reads a file or a link's target; empty if it is gone or unreadable, which git then reports. */
function readIfReadable(path: Buffer, kind: 'file' | 'link'): Buffer {
  try {
    return kind === 'link' ? readlinkSync(path, 'buffer') : readFileSync(path);
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return Buffer.alloc(0);
  }
}

/** Resets staged files with secrets in a copy of the user's index to the last commit. Returns whether there were any. */
export async function unstageSecrets(ports: WorkTreePorts, index: string): Promise<boolean> {
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

/** An object that is missing was not staged in this clone. */
async function isSecret(ports: WorkTreePorts, { path, oid }: Staged): Promise<boolean> {
  try {
    const { bytes } = await ports.git.readObject(oid);
    return (await ports.findSecret(bytes, () => readInHead(ports, path))) !== null;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return false;
  }
}
