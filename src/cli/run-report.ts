import { resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { describeRun, figuresOfKnown, type RunInfo } from '../plan/describe.ts';
import { formatRunReport } from '../plan/report.ts';
import { findRun } from '../plan/runs.ts';
import type { Plan } from '../plan/types.ts';
import { readView } from '../session/context.ts';
import { writeAtomically } from '../system/files.ts';
import type { EpicId } from '../types.ts';

/** The newest run of a plan, as scripts see it. */
export async function describeLastRun(orch: Orch, plan: Plan, epic: EpicId): Promise<RunInfo | null> {
  const { state } = await readView(orch, epic);
  const run = findRun(state, plan.name);
  return run && describeRun(plan, figuresOfKnown(epic, run));
}

/** Writes a run's report to the file the user named. */
export async function writeReport(orch: Orch, file: string, plan: Plan, epic: EpicId): Promise<void> {
  const { disk, random, redact } = orch;
  const { state } = await readView(orch, epic);
  const run = findRun(state, plan.name);
  if (run === null) return;
  const text = await redact(formatRunReport({ epic, run, plan }));
  try {
    await writeAtomically(disk, resolve(file), Buffer.from(text), random.id(8));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OrchError('WRITE_FAILED', `the run has ended; ${file} could not be written: ${why}`, {
      hint: `What became of it is said by: orch run --list -e ${epic}`,
      data: { file, run: run.id, status: run.head.status },
      cause,
    });
  }
}
