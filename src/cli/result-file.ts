import { dirname, resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { statIfThere, writeAtomically } from '../system/files.ts';
import type { EpicId } from '../types.ts';

/** Refuses a file that cannot become one, before hours of work end with nowhere to say so. */
export function refuseUnwritable(cwd: string, file: string, option = '--result'): void {
  const path = resolve(cwd, file);
  const folder = statIfThere(dirname(path));
  const isThere = statIfThere(path);
  const problem =
    folder === null
      ? `there is no folder ${dirname(file)}`
      : !folder.isDirectory()
        ? `${dirname(file)} is not a folder`
        : isThere?.isDirectory()
          ? 'it is a folder'
          : null;
  if (problem === null) return;
  throw new OrchError('USAGE', `${option} ${file}: ${problem}`, {
    hint: 'Name a file in a folder that is there; nothing was started',
  });
}

/** Writes how a session ended to the file the user named. */
export async function writeResult(
  { disk, random }: Orch,
  file: string,
  epic: EpicId,
  document: object,
): Promise<void> {
  try {
    await writeAtomically(disk, resolve(file), Buffer.from(`${JSON.stringify(document)}\n`), random.id(8));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OrchError('WRITE_FAILED', `the session has ended; ${file} could not be written: ${why}`, {
      hint: `The same is said by: orch session status -e ${epic} --json`,
      data: { file },
      cause,
    });
  }
}
