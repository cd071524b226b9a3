import { OrchError } from '../errors.ts';
import { listUncommitted } from '../git/user-commit.ts';
import type { SpecTask } from '../integration/spec.ts';
import { nameTasks } from './batch-differences.ts';
import { findIdle, type Work } from './batch-evidence.ts';
import type { Since } from './batch-since.ts';
import type { BatchPorts, Situation } from './batch-situation.ts';

/** What was done since the last batch: in commits, and in files that are not committed yet. */
export async function readWork({ git, repository }: BatchPorts, { work }: Since): Promise<Work> {
  const uncommitted = git.name === 'native' ? await listUncommitted(repository) : [];
  return { commits: work ?? [], uncommitted };
}

/** The tasks for which nothing changed, as far as that can be known. */
export async function findUndone(
  ports: BatchPorts,
  situation: Situation,
  since: Since,
  tasks: readonly SpecTask[],
): Promise<SpecTask[]> {
  if (ports.git.name !== 'native' || since.work === null) return [];
  return findIdle(situation, tasks, await readWork(ports, since));
}

export function nothingChanged({ position }: Situation, tasks: readonly SpecTask[]): OrchError {
  const since = position.lastBatch === 0 ? 'the spec began' : `batch ${position.lastBatch}`;
  return new OrchError('USAGE', `nothing changed for ${nameTasks(tasks)} since ${since}`, {
    hint: 'Nothing was completed. Do the work first; if it needs no change, add --anyway',
    data: { tasks: tasks.map(({ id }) => id) },
  });
}
