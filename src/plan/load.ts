import { isUtf8 } from 'node:buffer';
import { OrchError } from '../errors.ts';
import { readIfThere, statIfThere } from '../system/files.ts';
import { parsePlan } from './parse.ts';
import type { Plan } from './types.ts';

/** More than any plan that could be recorded. */
const maxFileBytes = 1024 * 1024;

/** Reads a plan's file; `shown` is how the user calls it. */
export function loadPlan(path: string, shown = path): Plan {
  const found = statIfThere(path);
  if (found === null)
    throw new OrchError('PLAN_INVALID', `there is no file ${shown}`, {
      hint: 'Name the file a plan is in, such as: orch run release.yaml',
      data: { file: shown },
    });
  if (!found.isFile())
    throw new OrchError('PLAN_INVALID', `${shown} is not a file`, {
      hint: 'Name the file a plan is in, such as: orch run release.yaml',
      data: { file: shown },
    });
  if (found.size > maxFileBytes)
    throw new OrchError(
      'PLAN_INVALID',
      `${shown} has ${found.size} bytes; a plan has at most ${maxFileBytes}`,
      {
        hint: 'Part it into several plans',
        data: { file: shown, bytes: found.size },
      },
    );
  const bytes = readIfThere(path) ?? Buffer.alloc(0);
  // Read all the same, it would run something else than what is written there.
  if (!isUtf8(bytes))
    throw new OrchError('PLAN_INVALID', `${shown} is not written in UTF-8`, {
      hint: 'Save it as UTF-8, then run the same command again',
      data: { file: shown },
    });
  return parsePlan(bytes.toString('utf8'), shown);
}
