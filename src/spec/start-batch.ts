import { OrchError } from '../errors.ts';
import type { Destination } from '../record/which/which-session.ts';
import { recordTo } from '../session/calls.ts';
import type { Fact } from '../state/facts.ts';
import { formatInstant } from '../units.ts';
import { chooseNamed, listCompleted } from './batches.ts';
import { findDifferences } from './differences.ts';
import { markTasks } from './evidence.ts';
import { conflictError, writeCheckpoint, writeTasks } from './progress-files.ts';
import type { SpecTask } from './read-spec.ts';
import { type BatchPorts, readSince, readSituation, type Situation, withSpecLock } from './situation.ts';

/**
 * Starts tasks of a spec: marks them in progress in tasks.yaml, then in checkpoint.yaml if there is one, then in the
 * epic. Each follows from the one before it, so repeating a call that was killed completes it.
 */
export function startBatch(
  ports: BatchPorts,
  place: Destination,
  { folder, tasks }: { readonly folder: string; readonly tasks: readonly string[] | null },
) {
  return withSpecLock(ports, folder, async () => {
    const situation = await readSituation(ports, folder);
    const chosen = chooseToStart(situation, tasks);
    const newly = chosen.filter(({ status }) => status === 'pending');
    const rows = newly.map((task) => ({ task, evidence: { commits: [], files: [] } }));
    if (rows.length > 0 && !(await writeTasks(ports, situation, rows, 'in_progress')))
      throw conflictError(folder);
    const after = markTasks(situation, newly, 'in_progress');
    const { checkpoint, spec, position } = after;
    const timestamp = formatInstant(ports.clock.now());
    // Everything else still describes the last batch; only the status of the tasks is new.
    const progress = checkpoint && {
      name: spec.name,
      folder,
      timestamp,
      checkpoint,
      tasks: spec.tasks,
      next: position.batch,
    };
    if (progress && newly.length > 0 && !(await writeCheckpoint(ports, after, progress)))
      throw conflictError(folder);
    const outcome =
      newly.length === 0 ? null : await recordTo(ports, place, newly.map(makeStartedFact), null);
    const already = chosen.filter((task) => !newly.includes(task)).map(({ id }) => id);
    const differences = findDifferences(after, await readSince(ports, after));
    return { situation: after, newly, already, differences, outcome };
  });
}

function chooseToStart({ spec, position }: Situation, names: readonly string[] | null): readonly SpecTask[] {
  if (names === null) return position.batch?.tasks ?? [];
  const { newly, already } = chooseNamed(spec.tasks, listCompleted(spec.tasks), [...new Set(names)]);
  if (already.length === 0) return newly;
  throw new OrchError('USAGE', `already completed: ${already.join(', ')}`, {
    hint: 'Nothing was changed. To redo a task, set its status in tasks.yaml to pending',
    data: { tasks: already },
  });
}

function makeStartedFact({ id, name, files }: SpecTask): Fact {
  return {
    kind: 'issue',
    id,
    title: name,
    status: 'in_progress',
    severity: null,
    location: files[0] ?? null,
  };
}
