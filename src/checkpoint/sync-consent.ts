import { join } from 'node:path';
import { hash } from '../digest.ts';
import { systemCode, writeFailed } from '../errors.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, readTextIfThere, writeAtomically } from '../system/files.ts';

/*
 * To which addresses the user lets this clone publish. It is kept here and not in git's config, which is the user's; by
 * address and not by name, because a name can be pointed elsewhere. Addresses may hold passwords: only digests are kept.
 */

/** A yes to sharing checkpoints is none to sharing copies of files. */
export type Shared = 'checkpoints' | 'snapshots';

type ConsentPorts = { readonly disk: Disk; readonly random: Random; readonly home: string };

function fileIn(home: string): string {
  return join(home, 'sync-allowed');
}

function digestsOf(urls: readonly string[], what: readonly Shared[]): string[] {
  return urls.flatMap((url) => what.map((kind) => hash('sha256', `orch sync ${kind} ${url}`)));
}

function readAllowed(home: string): string[] {
  const lines = readTextIfThere(fileIn(home))?.split('\n') ?? [];
  return lines.filter((line) => /^[0-9a-f]{64}$/.test(line));
}

/** Did the user say yes to every one of these? */
export function isAllowed(home: string, urls: readonly string[], what: readonly Shared[]): boolean {
  const allowed = new Set(readAllowed(home));
  return digestsOf(urls, what).every((digest) => allowed.has(digest));
}

export async function allow(
  { disk, random, home }: ConsentPorts,
  urls: readonly string[],
  what: readonly Shared[],
): Promise<void> {
  const all = new Set([...readAllowed(home), ...digestsOf(urls, what)]);
  try {
    await writeAtomically(disk, fileIn(home), Buffer.from(`${[...all].join('\n')}\n`), random.id(8));
  } catch (error) {
    throw systemCode(error) ? writeFailed('your answer could not be stored', error) : error;
  }
}
