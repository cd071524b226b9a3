import { join } from 'node:path';
import { OrchError, systemCode } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import { readIfThere, readTextIfThere } from '../../system/disk.ts';
import { listFilesBelow } from '../../system/files-in-bulk.ts';
import type { Millis, Oid } from '../../types.ts';
import type { Head } from '../engine.ts';
import type { Repository } from '../repository.ts';

const oidShape = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * Reads a ref from its own file, else from packed-refs.
 * In this order, because packing writes the line before it removes the file.
 */
export function readFileRef(commonDir: string, ref: string): Oid | null {
  const text = readLooseRef(commonDir, ref);
  if (text === null) return readPackedRefs(commonDir, (name) => name === ref).get(ref) ?? null;
  if (oidShape.test(text)) return parseOid(text);
  const content = JSON.stringify(text.slice(0, 80));
  throw new OrchError('INTEGRITY', `${ref} contains ${content} instead of a commit id`, {
    hint: `Look at it with: git for-each-ref ${ref}`,
    data: { ref },
  });
}

function readLooseRef(commonDir: string, ref: string): string | null {
  try {
    return readTextIfThere(join(commonDir, ref));
  } catch (error) {
    // A folder with this name contains other refs, so there is no ref with this name.
    if (systemCode(error) === 'EISDIR') return null;
    throw error;
  }
}

function readPackedRefs(commonDir: string, isWanted: (name: string) => boolean): Map<string, Oid> {
  const found = new Map<string, Oid>();
  const text = readIfThere(join(commonDir, 'packed-refs'))?.toString('latin1') ?? '';
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#') || line.startsWith('^')) continue;
    const space = line.indexOf(' ');
    const name = line.slice(space + 1);
    if (isWanted(name)) found.set(name, parseOid(line.slice(0, space)));
  }
  return found;
}

/** Lists the refs below a prefix whose own file holds no commit id: a power loss can leave one empty. */
export function listBrokenRefs(commonDir: string, prefix: string): string[] {
  return listFilesBelow(join(commonDir, prefix))
    .filter((path) => !path.endsWith('.lock'))
    .map((path) => toRefName(commonDir, path))
    .filter((ref) => isBrokenRef(commonDir, ref));
}

export function isBrokenRef(commonDir: string, ref: string): boolean {
  const text = readLooseRef(commonDir, ref);
  return text !== null && !oidShape.test(text) && !text.startsWith('ref: ');
}

/** Lists the refs below a prefix that ends with a slash, sorted by name. Skips symbolic and broken ones. */
export function listFileRefs(commonDir: string, prefix: string): Map<string, Oid> {
  const names = new Set(readPackedRefs(commonDir, (name) => name.startsWith(prefix)).keys());
  for (const path of listFilesBelow(join(commonDir, prefix)))
    if (!path.endsWith('.lock')) names.add(toRefName(commonDir, path));
  const refs = new Map<string, Oid>();
  for (const name of [...names].sort()) {
    const oid = resolveFileRef(commonDir, name, 0);
    if (oid !== null) refs.set(name, oid);
  }
  return refs;
}

function toRefName(commonDir: string, path: string): string {
  return path.slice(commonDir.length + 1).replaceAll('\\', '/');
}

/** Reads the commit and branch of a worktree's HEAD. */
export function readFileHead(repository: Repository): Head {
  const text = readTextIfThere(join(repository.gitDir, 'HEAD')) ?? '';
  const target = /^ref: (refs\/\S+)$/.exec(text)?.[1];
  if (target === undefined) return { commit: oidShape.test(text) ? parseOid(text) : null, branch: null };
  const branch = target.startsWith('refs/heads/') ? target.slice('refs/heads/'.length) : null;
  return { commit: resolveFileRef(repository.commonDir, target, 5), branch };
}

/** Resolves one of the user's refs, which may be symbolic. Null if it is broken: only they can fix it. */
function resolveFileRef(commonDir: string, ref: string, depth: number): Oid | null {
  const text = readLooseRef(commonDir, ref);
  if (text === null || oidShape.test(text)) return readFileRef(commonDir, ref);
  const target = /^ref: (refs\/\S+)$/.exec(text)?.[1];
  return target === undefined || depth === 0 ? null : resolveFileRef(commonDir, target, depth - 1);
}

/** Where git puts the lock of a ref. */
export function lockPathOf(commonDir: string, ref: string): string {
  return join(commonDir, `${ref}.lock`);
}

/** Tells whether a branch is the default one: the remote's HEAD, or a usual name if that is unknown. */
export function isDefaultBranch(commonDir: string, branch: string): boolean {
  const target = readRemoteHead(commonDir);
  return target === null ? usualNames.includes(branch) : branch === target;
}

const usualNames: readonly string[] = ['main', 'master', 'trunk'];

function readRemoteHead(commonDir: string): string | null {
  const remote = readTextIfThere(join(commonDir, 'refs/remotes/origin/HEAD'));
  return /^ref: refs\/remotes\/origin\/(\S+)$/.exec(remote ?? '')?.[1] ?? null;
}

/** Finds the name of the default branch; null if unknown. */
export async function findDefaultBranch(
  { commonDir }: Repository,
  git: { readRef(ref: string): Promise<Oid | null> },
): Promise<string | null> {
  const remote = readRemoteHead(commonDir);
  if (remote !== null) return remote;
  for (const name of usualNames) if (await git.readRef(`refs/heads/${name}`)) return name;
  return null;
}

/** Reads from its reflog when a branch was made in this clone; null if unknown. */
export function branchMadeAt(commonDir: string, branch: string): Millis | null {
  const first = readTextIfThere(join(commonDir, 'logs/refs/heads', branch))?.split('\n')[0] ?? '';
  const seconds = /^0+ .*> (\d{1,12}) [+-]\d{4}\t/.exec(first)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/** Finds the branch that a rebase or bisection will return to; HEAD is detached until then. */
export function branchInProgress(gitDir: string): string | null {
  const names = ['rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START'].map((file) =>
    readTextIfThere(join(gitDir, file))?.trim(),
  );
  const [rebased] = names.flatMap((name) => /^refs\/heads\/(\S+)$/.exec(name ?? '')?.[1] ?? []);
  const bisected = names.at(-1) ?? '';
  return rebased ?? (bisected === '' || oidShape.test(bisected) ? null : bisected);
}
