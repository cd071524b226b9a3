import { join } from 'node:path';
import { hasCode, OrchError } from '../errors.ts';
import { waitForRefLock } from '../git/ref-wait.ts';
import { nameFile } from '../ids.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Oid } from '../types.ts';
import { type Merged, mergeHistory } from './merge.ts';
import { readBase } from './read.ts';
import type { StorePorts } from './tip.ts';

/**
 * Brings what another clone has of an epic into ours. What this orch cannot read is not taken: with it on our ref,
 * sessions that run here could save nothing more.
 */
export async function joinEpic(ports: StorePorts, epic: EpicId, theirs: Oid): Promise<Merged> {
  const { saved, damage } = await readBase(ports.git, epic, theirs);
  const problem = damage[0]?.problem ?? (saved === null ? 'there is no checkpoint in it' : null);
  if (problem !== null) throw notTaken(epic, theirs, problem);
  const lock = join(ports.home, 'locks', nameFile(epic, '.lock'));
  return withLock(ports, lock, () => mergePatiently(ports, epic, theirs));
}

async function mergePatiently(ports: StorePorts, epic: EpicId, theirs: Oid): Promise<Merged> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await mergeHistory(ports.git, epic, theirs);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || attempt >= 5) throw error;
      const { lock } = error.data;
      if (typeof lock === 'string' && !(await waitForRefLock(ports, lock))) throw error;
    }
  }
}

function notTaken(epic: EpicId, commit: Oid, problem: string): OrchError {
  return new OrchError('INTEGRITY', `what the remote has of ${epic} is damaged: ${problem}`, {
    hint: 'Yours is as it was. A clone that has it whole can make a checkpoint on it, and sync.',
    data: { epicId: epic, commit },
  });
}
