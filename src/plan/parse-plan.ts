import { isUtf8 } from 'node:buffer';
import { safeParse } from 'zod/mini';
import { isRecord } from '../checks.ts';
import { locateIssues, locateMistake, type Mistake } from '../config/yaml/mistakes.ts';
import { planInvalid } from '../config/yaml/yaml-page.ts';
import { readYaml } from '../config/yaml/yaml-text.ts';
import { describeValue } from '../config/yaml/yaml-values.ts';
import { OrchError } from '../errors.ts';
import { readIfThere, statIfThere } from '../system/disk.ts';
import { refuseConvoy } from './convoy-plan.ts';
import { findMistakes } from './find-mistakes.ts';
import { makePlan } from './make-plan.ts';
import type { Plan } from './plan.ts';
import { planShape } from './plan-shape.ts';

/** Far more than ten thousand tasks take. */
export const maxPlanBytes = 16 * 1024 * 1024;

/** Loads the file of a plan that can be run without agents; `shown` is its name in messages. */
export function loadPlan(path: string, shown = path): Plan {
  return refuseConvoy(loadConvoyPlan(path, shown), shown);
}

/** Loads the file of a plan that may have prompts for agents. */
export function loadConvoyPlan(path: string, shown = path): Plan {
  const refuse = (problem: string, hint: string) =>
    new OrchError('PLAN_INVALID', problem, { hint, data: { file: shown } });
  const howToName = "Name the plan's file, such as release.yaml";
  const found = statIfThere(path);
  if (found === null) throw refuse(`there is no file ${shown}`, howToName);
  if (!found.isFile()) throw refuse(`${shown} is not a file`, howToName);
  if (found.size > maxPlanBytes)
    throw refuse(
      `${shown} has ${found.size} bytes; a plan has at most ${maxPlanBytes}`,
      'Split it into several plans',
    );
  const bytes = readIfThere(path) ?? Buffer.alloc(0);
  // Decoding it anyway would run something other than what is written there.
  if (!isUtf8(bytes))
    throw refuse(`${shown} is not encoded in UTF-8`, 'Save it as UTF-8, then run the same command again');
  return parsePlan(bytes.toString('utf8'), shown);
}

/** Parses a plan; `file` is its name in messages. `PLAN_INVALID` gives the position of every mistake. */
export function parsePlan(text: string, file: string): Plan {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    throw planError(file, [{ ...place, key: null, message: `not valid YAML: ${message}` }]);
  }
  if (!isRecord(yaml.value)) {
    const message = `found ${describeValue(yaml.value)}; allowed: a plan, which has "tasks:" with a list of tasks`;
    throw planError(file, [locateMistake(yaml, [], message)]);
  }
  const parsed = safeParse(planShape, yaml.value);
  const mistakes = [
    ...(parsed.success ? [] : locateIssues(yaml, parsed.error.issues)),
    ...findMistakes(yaml.value).map(({ path, message }) => locateMistake(yaml, path, message)),
  ];
  if (!parsed.success || mistakes.length > 0) throw planError(file, mistakes);
  return makePlan(parsed.data, derivePlanName(file));
}

function planError(file: string, mistakes: readonly Mistake[]): OrchError {
  return planInvalid(mistakes.map((mistake) => ({ file, ...mistake })));
}

/** `plans/release.yaml` → `release`. */
function derivePlanName(file: string): string {
  const name = (file.split(/[/\\]/).at(-1) ?? '').replace(/(?<=.)\.[^.]*$/, '');
  return name.slice(0, 64) || 'plan';
}
