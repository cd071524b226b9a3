import { OrchError } from '../errors.ts';
import type { SpecTask } from '../integration/spec.ts';
import { type Place, recordIn } from '../session/here.ts';
import type { Outcome } from '../session/record.ts';
import type { Fact } from '../state/facts.ts';
import { formatInstant } from '../units.ts';
import { withSpec } from './batch.ts';
import { chooseNamed } from './batch-choice.ts';
import { type Difference, findDifferences } from './batch-differences.ts';
import { markTasks } from './batch-evidence.ts';
import { writeCheckpoint, writeTasks } from './batch-files.ts';
import { readSince } from './batch-since.ts';
import { type BatchPorts, readSituation, type Situation } from './batch-situation.ts';
import { completedOf } from './batches.ts';

export type StartedTasks = {
  /** As it is now. */
  readonly situation: Situation;
  readonly newly: readonly SpecTask[];
  /** In progress before. */
  readonly already: readonly string[];
  readonly differences: readonly Difference[];
  /** Null where nothing was new. */
  readonly outcome: Outcome | null;
};

/**
 * Begins tasks of a spec: they are in progress in tasks.yaml, and in checkpoint.yaml where there is one, and the epic
 * knows of it. Each can be made from the one before it, so that the same call finishes after a death.
 */
export function startBatch(
  ports: BatchPorts,
  place: Place,
  { folder, tasks }: { readonly folder: string; readonly tasks: readonly string[] | null },
): Promise<StartedTasks> {
  return withSpec(ports, folder, async () => {
    const situation = await readSituation(ports, folder);
    const chosen = chooseToStart(situation, tasks);
    const newly = chosen.filter(({ status }) => status === 'pending');
    const rows = newly.map((task) => ({ task, evidence: { commits: [], files: [] } }));
    if (rows.length > 0 && !(await writeTasks(ports, situation, rows, 'in_progress')))
      throw writtenMeanwhile(folder);
    const after = markTasks(situation, newly, 'in_progress');
    const { checkpoint, spec, position } = after;
    const timestamp = formatInstant(ports.clock.now());
    // What was true after the last batch stays as it is: only where the tasks stand is new.
    const progress = checkpoint && {
      name: spec.name,
      folder,
      timestamp,
      checkpoint,
      tasks: spec.tasks,
      next: position.batch,
    };
    if (progress && newly.length > 0 && !(await writeCheckpoint(ports, after, progress)))
      throw writtenMeanwhile(folder);
    const outcome = newly.length === 0 ? null : await recordIn(ports, place, newly.map(sayBegun), null);
    const already = chosen.filter((task) => !newly.includes(task)).map(({ id }) => id);
    const differences = findDifferences(after, await readSince(ports, after));
    return { situation: after, newly, already, differences, outcome };
  });
}

function chooseToStart({ spec, position }: Situation, names: readonly string[] | null): readonly SpecTask[] {
  if (names === null) return position.batch?.tasks ?? [];
  const { newly, already } = chooseNamed(spec.tasks, completedOf(spec.tasks), [...new Set(names)]);
  if (already.length === 0) return newly;
  throw new OrchError('USAGE', `${already.join(', ')}: completed already`, {
    hint: 'Nothing was changed. To do it again, set its status in tasks.yaml to pending',
    data: { tasks: already },
  });
}

function sayBegun({ id, name, files }: SpecTask): Fact {
  return {
    kind: 'issue',
    id,
    title: name,
    status: 'in_progress',
    severity: null,
    location: files[0] ?? null,
  };
}

function writtenMeanwhile(folder: string): OrchError {
  return new OrchError('REF_CONFLICT', `another process wrote the files of ${folder} meanwhile`, {
    hint: 'Nothing of it was overwritten. Run the same command again.',
  });
}
