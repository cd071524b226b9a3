import { join } from 'node:path';
import { listOf, text, withFields } from '../checks.ts';
import { hash } from '../digest.ts';
import { explainWrites } from '../errors.ts';
import { makeFolder, realPath, statIfThere, type WritePorts } from '../system/disk.ts';
import { tryReadJson, writeJson } from '../system/json-file.ts';
import { isOwnFile, machineId } from '../system/process/identity.ts';
import type { Json } from '../types.ts';
import { type Claim, type Config, findClaims, type Gate, withoutClaims } from './load.ts';

/** A gate's command (its timeout needs no approval), or a setting with its value. */
type Trusted = Pick<Gate, 'name' | 'run' | 'fix'> | { readonly key: string; readonly value: Json };

/** Enough for every branch of a repository; the oldest are dropped first. */
const mostKept = 500;

/** Did the user approve all of these, exactly as they are, in this clone? */
export function isApproved(home: string, wanted: readonly Trusted[]): boolean {
  const approved = new Set(readApproved(home));
  return wanted.every((one) => approved.has(digestOf(home, one)));
}

/** Stores the user's approval. Earlier ones stay, because other branches have other settings. */
export async function approve(
  ports: WritePorts & { readonly home: string },
  wanted: readonly Trusted[],
): Promise<void> {
  const { home } = ports;
  await explainWrites('the approval could not be stored', async () => {
    // An approval is bound to the folder's real path, so the folder must exist first.
    await makeFolder(ports.disk, home);
    const digests = wanted.map((one) => digestOf(home, one));
    const approved = [...new Set([...readApproved(home), ...digests].reverse())].slice(0, mostKept).reverse();
    await writeJson(ports, fileIn(home), { format: 1, approved });
  });
}

function fileIn(home: string): string {
  return join(home, 'trust.json');
}

/** Bound to machine and path: a repository passed on with its git folder brings no approvals along. */
function digestOf(home: string, one: Trusted): string {
  const place = statIfThere(home) === null ? home : realPath(home);
  const what =
    'key' in one
      ? ['orch trust setting', machineId(), place, one.key, one.value]
      : ['orch trust', machineId(), place, one.name, one.run, one.fix];
  return hash('sha256', JSON.stringify(what));
}

const isTrustFile = withFields<{ readonly approved: readonly string[] }>({ approved: listOf(text) });

/** Empty if the file is missing, damaged or another user's: the user is asked again. */
function readApproved(home: string): readonly string[] {
  if (!isOwnFile(fileIn(home))) return [];
  return tryReadJson(fileIn(home), isTrustFile)?.approved ?? [];
}

type TrustPorts = {
  readonly home: string;
  /** Does the caller vouch for the repository's files? */
  readonly isTrusted: boolean;
};

/** Returns the settings that count in this clone: unapproved ones are replaced by the defaults. */
export function honourConfig(ports: TrustPorts, config: Config): Config {
  return withoutClaims(config, listUnapproved(ports, config));
}

/** Lists the settings that wait for the user's approval. `isRemote` knows the remotes in git's own config. */
export function listUnapproved(
  { home, isTrusted }: TrustPorts,
  config: Config,
  isRemote?: (name: string) => boolean,
): Claim[] {
  if (isTrusted) return [];
  return findClaims(config, isRemote).filter((claim) => !isApproved(home, [claim]));
}
