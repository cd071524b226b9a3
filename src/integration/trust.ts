import { join } from 'node:path';
import { hash } from '../digest.ts';
import { systemCode, writeFailed } from '../errors.ts';
import type { Random } from '../system/clock.ts';
import {
  type Disk,
  makeFolder,
  readTextIfThere,
  realPath,
  statIfThere,
  writeAtomically,
} from '../system/files.ts';
import { isOwnFile, machineId } from '../system/process.ts';
import type { Json } from '../types.ts';
import type { Gate } from './gate.ts';

/** What is approved of a gate: how long it may take is no matter of trust. */
export type TrustedCommand = Pick<Gate, 'name' | 'run' | 'fix'>;
/** A setting of the repository that is the user's to decide, with what it says. */
export type TrustedSetting = { readonly key: string; readonly value: Json };
type Trusted = TrustedCommand | TrustedSetting;

/** Enough for every branch of a repository; the oldest go first. */
const mostKept = 500;

/** Did the user approve every one of these, exactly as they are, in this clone? */
export function isApproved(home: string, wanted: readonly Trusted[]): boolean {
  const approved = new Set(readApproved(home));
  return wanted.every((one) => approved.has(digestOf(home, one)));
}

/** Remembers that the user approved these; earlier approvals stay, for other branches have other ones. */
export async function approve(
  disk: Disk,
  home: string,
  wanted: readonly Trusted[],
  random: Random,
): Promise<void> {
  try {
    await makeFolder(disk, home);
    const digests = wanted.map((one) => digestOf(home, one));
    const approved = [...new Set([...readApproved(home), ...digests].reverse())].slice(0, mostKept).reverse();
    const text = `${JSON.stringify({ format: 1, approved }, null, 2)}\n`;
    await writeAtomically(disk, fileIn(home), Buffer.from(text), random.id(8));
  } catch (error) {
    throw systemCode(error) ? writeFailed('the approval could not be stored', error) : error;
  }
}

function fileIn(home: string): string {
  return join(home, 'trust.json');
}

/** Bound to machine and place: a repository that is handed over with its git folder does not bring approvals along. */
function digestOf(home: string, one: Trusted): string {
  const place = statIfThere(home) === null ? home : realPath(home);
  const what =
    'key' in one
      ? ['orch trust setting', machineId(), place, one.key, one.value]
      : ['orch trust', machineId(), place, one.name, one.run, one.fix];
  return hash('sha256', JSON.stringify(what));
}

/** None where the file is missing, damaged, or another user's. */
function readApproved(home: string): string[] {
  try {
    const parsed: unknown = JSON.parse(readTextIfThere(fileIn(home)) ?? 'null');
    if (typeof parsed !== 'object' || parsed === null || !('approved' in parsed)) return [];
    const { approved } = parsed;
    if (!Array.isArray(approved) || !isOwnFile(fileIn(home))) return [];
    return approved.filter((digest) => typeof digest === 'string');
  } catch {
    return []; // damaged, or not to be read: the user is asked again
  }
}
