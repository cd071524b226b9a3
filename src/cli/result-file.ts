import { dirname, resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import type { Orch } from '../index.ts';
import { statIfThere, writeAtomically } from '../system/disk.ts';
import type { EpicId } from '../types.ts';

/** Refuses a file that cannot be written, before hours of work end without a result. */
export function refuseUnwritable(cwd: string, file: string, option = '--result'): void {
  const path = resolve(cwd, file);
  const folder = statIfThere(dirname(path));
  const problem =
    folder === null
      ? `there is no folder ${dirname(file)}`
      : !folder.isDirectory()
        ? `${dirname(file)} is not a folder`
        : statIfThere(path)?.isDirectory()
          ? 'it is a folder'
          : null;
  if (problem === null) return;
  throw new OrchError('USAGE', `${option} ${file}: ${problem}`, {
    hint: 'Name a file in an existing folder. Nothing was started.',
  });
}

/** Writes how a session ended to the file the user named. */
export async function writeResult(orch: Orch, file: string, epic: EpicId, document: object): Promise<void> {
  try {
    await writeAtomically(orch, file, `${JSON.stringify(document)}\n`);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OrchError('WRITE_FAILED', `the session has ended, but ${file} could not be written: ${why}`, {
      hint: `Read the result with: orch session status -e ${epic} --json`,
      data: { file },
      cause,
    });
  }
}
