import { dirname } from 'node:path';
import { formatYaml } from '../config/yaml/yaml-list.ts';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { parsePlan } from '../plan/parse-plan.ts';
import { resolveEpic } from '../record/which/which-epic.ts';
import type { Spec, SpecTask } from '../spec/read-spec.ts';
import { readSituation } from '../spec/situation.ts';
import { findSpec } from '../spec/spec-api.ts';
import { makeFolder, readTextIfThere, writeAtomically } from '../system/disk.ts';
import { ownPlanPath } from './find-convoy.ts';
import type { OwnPlan } from './own-plan.ts';

/* A spec as a convoy: each of its open tasks is a prompt. */

type SpecRequest = {
  /** The spec's folder, or its name. */
  readonly spec: string;
  readonly cwd: string;
  /** The epic; by default the one of the spec, named after its folder. */
  readonly epic: string | undefined;
  readonly agent: string | undefined;
  readonly isDryRun: boolean;
};

/** Makes the plan of a convoy from what is open in a spec. It is made again when the spec has changed. */
export async function makeSpecPlan(orch: Orch, request: SpecRequest): Promise<OwnPlan> {
  const { path: folder, name } = findSpec(orch, request.spec, request.cwd);
  const { spec } = await readSituation(orch, folder);
  const { epic } = await resolveEpic(orch, { given: request.epic, name, create: true });
  const path = ownPlanPath(orch, epic);
  const text = formatSpecPlan(epic, folder, spec, request.agent);
  const plan = parsePlan(text, path);
  if (!request.isDryRun && readTextIfThere(path) !== text) {
    await makeFolder(orch.disk, dirname(path));
    await writeAtomically(orch, path, text);
  }
  return { epic, path, plan };
}

/** Writes the open tasks of a spec as a plan. What they depend on and is completed is waited for no more. */
export function formatSpecPlan(
  name: string,
  folder: string,
  { name: title, tasks }: Spec,
  agent?: string,
): string {
  const open = tasks.filter(({ status }) => status !== 'completed');
  if (open.length === 0)
    throw new OrchError('USAGE', `every task of ${folder} is completed`, {
      hint: `See them: orch batch status --spec ${folder}`,
    });
  const ids = new Set(open.map(({ id }) => id));
  return formatYaml({
    name,
    spec: folder,
    ...(agent !== undefined && { worker: { agent } }),
    tasks: open.map((task) => ({
      id: task.id,
      name: task.name,
      needs: task.needs.filter((need) => ids.has(need)),
      ...(task.files.length > 0 && { files: task.files }),
      prompt: describe(task, folder, title),
    })),
  });
}

function describe({ id, name }: SpecTask, folder: string, title: string): string {
  return `${name}\n\nThis is task ${id} of the spec "${title}" in ${folder}. Read what is there before you begin. Leave its tasks.yaml as it is.`;
}
