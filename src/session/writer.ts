import { join } from 'node:path';
import { systemCode, writeFailed } from '../errors.ts';
import { parseWriterId } from '../ids.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, readTextIfThere, realPath, statIfThere, writeAtomically } from '../system/files.ts';
import { machineId } from '../system/process.ts';
import type { WriterId } from '../types.ts';

type WriterFile = { readonly id: string; readonly machine: string; readonly path: string };

/**
 * Who writes from this clone on this machine. A clone that was copied or moved gets a new id,
 * so that no two that live have the same.
 */
export async function identifyWriter(
  disk: Disk,
  random: Random,
  home: string,
  commonDir: string,
): Promise<WriterId> {
  const file = join(home, 'writer.json');
  const here = { machine: machineId(), path: realPath(commonDir) };
  const known = parseWriter(readTextIfThere(file));
  if (known && known.machine === here.machine && known.path === here.path) return parseWriterId(known.id);
  const id = parseWriterId(`w-${random.id(8)}`);
  try {
    await writeAtomically(disk, file, Buffer.from(`${JSON.stringify({ id, ...here })}\n`), random.id(8));
  } catch (error) {
    throw systemCode(error) ? writeFailed('the writer id could not be stored', error) : error;
  }
  return id;
}

/** Who this clone says it is; nothing is written. */
export type WriterFound =
  | { readonly kind: 'none' }
  /** `own` where it was made on this machine, for this folder. */
  | { readonly kind: 'own' | 'copied' | 'moved'; readonly id: string; readonly path: string };

/** Looks at the writer id; one from another machine, or for another folder, is replaced by the next command that writes. */
export function lookAtWriter(home: string, commonDir: string): WriterFound {
  const known = parseWriter(readTextIfThere(join(home, 'writer.json')));
  if (known === null) return { kind: 'none' };
  const { id, machine, path } = known;
  if (machine === machineId() && path === realPath(commonDir)) return { kind: 'own', id, path };
  return { kind: statIfThere(path) && machine === machineId() ? 'copied' : 'moved', id, path };
}

function parseWriter(text: string | null): WriterFile | null {
  try {
    const parsed: unknown = JSON.parse(text ?? 'null');
    return isWriterFile(parsed) ? parsed : null;
  } catch {
    return null; // damaged: a new one is as good
  }
}

function isWriterFile(value: unknown): value is WriterFile {
  const fields: (keyof WriterFile)[] = ['id', 'machine', 'path'];
  return typeof value === 'object' && value !== null && fields.every((field) => field in value);
}
