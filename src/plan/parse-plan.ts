import { isUtf8 } from 'node:buffer';
import { safeParse } from 'zod/mini';
import { isRecord } from '../checks.ts';
import { locateIssues, locateMistake, type Mistake } from '../config/yaml/mistakes.ts';
import { planInvalid } from '../config/yaml/yaml-page.ts';
import { readYaml } from '../config/yaml/yaml-text.ts';
import { describeValue } from '../config/yaml/yaml-values.ts';
import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { canonicalJson } from '../state/canonical.ts';
import { readIfThere, statIfThere } from '../system/disk.ts';
import { findNearest } from '../text.ts';
import {
  findPromptMistakes,
  impliesOrder,
  makeConvoyPlan,
  makeConvoyTask,
  refuseConvoy,
} from './convoy-plan.ts';
import type { Action, Command, Effect, Plan, Task } from './plan.ts';
import { type GivenEffect, type GivenPlan, type GivenTask, planShape } from './plan-shape.ts';
import { type Finding, findReferenceMistakes } from './references.ts';

const defaultBackoff = 1_000;
const effectAttempts = 3;

/** Far more than ten thousand tasks take. */
export const maxPlanBytes = 16 * 1024 * 1024;

/** Loads the file of a plan that can be run; `shown` is its name in messages. */
export function loadPlan(path: string, shown = path): Plan {
  const refuse = (problem: string, hint: string) =>
    new OrchError('PLAN_INVALID', problem, { hint, data: { file: shown } });
  const howToName = "Name the plan's file, such as: orch run release.yaml";
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
  return refuseConvoy(parsePlan(bytes.toString('utf8'), shown), shown);
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

/** Finds mistakes that no single value shows. */
function findMistakes({ tasks, steps }: { readonly [key: string]: unknown }): Finding[] {
  if (tasks !== undefined && steps !== undefined)
    return [{ path: ['steps'], message: 'steps means the same as tasks; allowed: one of them' }];
  const at = steps === undefined ? 'tasks' : 'steps';
  const all = steps ?? tasks;
  if (all === undefined)
    return [{ path: [], message: 'there are no tasks; allowed: "tasks:" with a list of tasks' }];
  if (!Array.isArray(all)) return [];
  if (all.length === 0) return [{ path: [at], message: 'the list is empty; allowed: one task or more' }];
  return [
    ...all.flatMap((task, index) => findTaskMistakes(task, [at, index])),
    ...findReferenceMistakes(all, at),
  ];
}

/** Finds tasks and effects that do nothing or two things at once, and needs given twice. */
function findTaskMistakes(task: unknown, path: Finding['path']): Finding[] {
  if (!isRecord(task)) return [];
  const effects: readonly unknown[] = Array.isArray(task.effects) ? task.effects : [];
  // A misspelt key is reported as such.
  const isMisspelt = Object.keys(task).some((key) => findNearest(key, ['run', 'prompt', 'effects']) !== null);
  const doesNothing =
    task.run === undefined && task.prompt === undefined && effects.length === 0 && !isMisspelt;
  const hasBoth = task.needs !== undefined && task.depends_on !== undefined;
  const bothNeeds = {
    path: [...path, 'depends_on'],
    message: 'depends_on means the same as needs; allowed: one of them',
  };
  return [
    ...(hasBoth ? [bothNeeds] : []),
    ...findPromptMistakes(task, path),
    ...(doesNothing ? [{ path, message: 'it does nothing; allowed: run or prompt, effects, or both' }] : []),
    ...effects.flatMap((effect, index): Finding[] => {
      if (!isRecord(effect) || (effect.run === undefined) !== (effect.request === undefined)) return [];
      const found = effect.run === undefined ? 'it does nothing' : 'it does two things';
      return [{ path: [...path, 'effects', index], message: `${found}; allowed: either run or request` }];
    }),
  ];
}

function planError(file: string, mistakes: readonly Mistake[]): OrchError {
  return planInvalid(mistakes.map((mistake) => ({ file, ...mistake })));
}

/** `plans/release.yaml` → `release`. */
function derivePlanName(file: string): string {
  const name = (file.split(/[/\\]/).at(-1) ?? '').replace(/(?<=.)\.[^.]*$/, '');
  return name.slice(0, 64) || 'plan';
}

function makePlan(given: GivenPlan, fallbackName: string): Plan {
  const name = given.name ?? fallbackName;
  const all = given.steps ?? given.tasks ?? [];
  const isInOrder = impliesOrder(all);
  const tasks = all.map((task, index) =>
    makeTask(task, index + 1, (isInOrder && all[index - 1]?.id) || null),
  );
  return { name, tasks, convoy: makeConvoyPlan(given), digest: digestOf({ name, tasks: all }) };
}

function makeTask(given: GivenTask, number: number, before: string | null): Task {
  const { id, when, files, env, artifacts, prompt } = given;
  const run = given.run === undefined ? null : makeCommand(given.run);
  const { attempts, backoff = defaultBackoff } = given.retry ?? {};
  const effects = given.effects.map(makeEffect);
  const needs = given.needs ?? given.depends_on ?? (before === null ? [] : [before]);
  return {
    id,
    number,
    name: given.name ?? id,
    run,
    needs: [...new Set(needs)],
    isInOrder: given.needs === undefined && given.depends_on === undefined && before !== null,
    when,
    files,
    retry: { attempts: attempts ?? 1, backoff },
    effectRetry: { attempts: attempts ?? effectAttempts, backoff },
    timeout: given.timeout ?? null,
    env,
    artifacts: [...new Set(artifacts)],
    effects,
    convoy: makeConvoyTask(given),
    // Only what it does: a changed timeout or retry does not invalidate what was done, and effects have their own digests.
    digest: shortDigestOf({ run, env, artifacts, prompt }),
  };
}

function makeCommand(given: string | readonly string[]): Command {
  if (typeof given === 'string') return { kind: 'shell', line: given };
  const [program = '', ...args] = given;
  return { kind: 'program', argv: [program, ...args] };
}

function makeEffect(given: GivenEffect): Effect {
  const { id } = given;
  const check =
    given.check === undefined ? null : ({ kind: 'command', run: makeCommand(given.check) } as const);
  const action: Action =
    given.request === undefined
      ? { kind: 'command', run: makeCommand(given.run ?? '') }
      : { kind: 'request', request: given.request };
  return { id, action, check, digest: shortDigestOf(action) };
}

export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}

/** Long enough to notice a change, and short because every task of every run records one. */
export function shortDigestOf(value: unknown): string {
  return digestOf(value).slice(0, 16);
}
