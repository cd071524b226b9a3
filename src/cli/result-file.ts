import { resolve } from 'node:path';
import { writeFailed } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { writeAtomically } from '../system/files.ts';

/** Writes a document to the file the user named. */
export async function writeResult({ disk, random }: Orch, file: string, document: object): Promise<void> {
  try {
    await writeAtomically(disk, resolve(file), Buffer.from(`${JSON.stringify(document)}\n`), random.id(8));
  } catch (error) {
    throw writeFailed(`${file} could not be written`, error);
  }
}
