import { dirname } from 'node:path';
import { OrchError } from '../errors.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { loadConvoyPlan, parsePlan } from '../plan/parse-plan.ts';
import type { Plan } from '../plan/plan.ts';
import { listAllEpics } from '../record/which/which-epic.ts';
import { makeFolder, readTextIfThere, writeAtomically } from '../system/disk.ts';
import type { EpicId } from '../types.ts';
import { type KnownConvoy, ownPlanPath, readConvoy } from './find-convoy.ts';
import { addPrompts, formatPlan, makeTaskId, type NewTask } from './plan-text.ts';
import { giveOrder } from './steer/steer-api.ts';

/* Convoys without a plan of the user's: orch keeps one for them. */

export type OwnPlan = { readonly epic: EpicId; readonly path: string; readonly plan: Plan };

export type OwnPlanRequest = {
  /** What is to be done, a task each. */
  readonly texts: readonly string[];
  /** The epic; by default named after the first task. */
  readonly epic: string | undefined;
  readonly agent: string | undefined;
  readonly isDryRun: boolean;
};

/** Makes the plan of a convoy from texts. The same texts again mean the same convoy, as long as it is not done. */
export async function makeOwnPlan(orch: Orch, request: OwnPlanRequest): Promise<OwnPlan> {
  const { texts, agent, isDryRun } = request;
  const epic = request.epic === undefined ? await chooseName(orch, request) : parseEpicId(request.epic);
  const path = ownPlanPath(orch, epic);
  const text = formatPlan(epic, texts, agent).trim();
  const plan = parsePlan(text, path);
  const known = readTextIfThere(path);
  if (known !== null && known !== text && (await isOpen(orch, epic)))
    throw new OrchError('RESUME_NEEDED', `${epic} is not done, and has other tasks`, {
      hint: `Add to it: orch convoy add "text" -e ${epic}. Or start another one: --epic NAME`,
      data: { epicId: epic },
    });
  if (!isDryRun && known !== text) {
    await makeFolder(orch.disk, dirname(path));
    await writeAtomically(orch, path, `${text}\n`);
  }
  return { epic, path, plan };
}

/** Is there a convoy that is not done? */
async function isOpen(orch: Orch, epic: EpicId): Promise<boolean> {
  const status = (await readConvoy(orch, epic))?.run.head.status;
  return status !== undefined && status !== 'succeeded';
}

async function chooseName(orch: Orch, { texts, agent }: OwnPlanRequest): Promise<EpicId> {
  const first = parseEpicId(makeTaskId(texts[0] ?? '', new Set()));
  // The convoy that these texts have started is continued, not done twice.
  const before = readTextIfThere(ownPlanPath(orch, first));
  if (before === formatPlan(first, texts, agent).trim() && (await isOpen(orch, first))) return first;
  return parseEpicId(makeTaskId(texts[0] ?? '', new Set<string>(await listAllEpics(orch))));
}

/** Adds tasks to the plan of a convoy, and has its scheduler read it. Without tasks, it only reads it again. */
export async function addTasks(
  orch: Orch,
  convoy: KnownConvoy,
  tasks: readonly NewTask[],
): Promise<{ readonly ids: readonly string[]; readonly isTaken: boolean }> {
  const { epic, path, run } = convoy;
  if (path === null)
    throw new OrchError('PLAN_INVALID', `the plan of ${epic} is gone: ${run.head.file ?? 'its file'}`, {
      hint: 'Bring the file back, then run the same command again',
      data: { epicId: epic },
    });
  const changed = tasks.length === 0 ? null : addPrompts(readTextIfThere(path) ?? '', path, tasks);
  if (changed === null)
    loadConvoyPlan(path); // a scheduler would only report that it cannot read it
  else await writeAtomically(orch, path, changed.text);
  return { ids: changed?.ids ?? [], isTaken: await giveOrder(orch, convoy, { kind: 'reload' }) };
}
