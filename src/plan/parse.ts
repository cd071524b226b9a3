import { safeParse } from 'zod/mini';
import { hash } from '../digest.ts';
import type { OrchError } from '../errors.ts';
import { planInvalid } from '../integration/yaml-page.ts';
import { findNearest } from '../spelling.ts';
import { canonicalJson } from '../state/canonical.ts';
import { readYaml } from '../yaml.ts';
import { locateIssues, locateMistake, type Mistake } from '../yaml-mistakes.ts';
import { describeValue, isMapping } from '../yaml-values.ts';
import { type Finding, findReferenceMistakes } from './references.ts';
import { type GivenEffect, type GivenPlan, type GivenTask, planShape } from './shape.ts';
import type { Command, Deed, Effect, Plan, Task } from './types.ts';

const defaultBackoff = 1_000;
const effectAttempts = 3;

/** Reads a plan from a file's text; `file` is its name in messages. `PLAN_INVALID` names every mistake's place. */
export function parsePlan(text: string, file: string): Plan {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    throw wrongPlan(file, [{ ...place, key: null, message: `not valid YAML: ${message}` }]);
  }
  if (!isMapping(yaml.value)) {
    const message = `found ${describeValue(yaml.value)}; allowed: a plan, which has "tasks:" and a list of them`;
    throw wrongPlan(file, [locateMistake(yaml, [], message)]);
  }
  const parsed = safeParse(planShape, yaml.value);
  const mistakes = [
    ...(parsed.success ? [] : locateIssues(yaml, parsed.error.issues)),
    ...findMistakes(yaml.value).map(({ path, message }) => locateMistake(yaml, path, message)),
  ];
  if (!parsed.success || mistakes.length > 0) throw wrongPlan(file, mistakes);
  return makePlan(parsed.data, nameOf(file));
}

/** What no value by itself shows to be wrong. */
function findMistakes({ tasks, steps }: { readonly [key: string]: unknown }): Finding[] {
  if (tasks !== undefined && steps !== undefined)
    return [{ path: ['steps'], message: 'steps is another word for tasks; allowed: one of them' }];
  const at = steps === undefined ? 'tasks' : 'steps';
  const all = steps ?? tasks;
  if (all === undefined)
    return [{ path: [], message: 'there are no tasks; allowed: "tasks:" and a list of them' }];
  if (!Array.isArray(all)) return [];
  if (all.length === 0) return [{ path: [at], message: 'there are no tasks in it; allowed: one or more' }];
  return [...all.flatMap((task, index) => findIdle(task, [at, index])), ...findReferenceMistakes(all, at)];
}

/** A task or an effect that does nothing, or two things at once. */
function findIdle(task: unknown, path: Finding['path']): Finding[] {
  if (!isMapping(task)) return [];
  const effects: readonly unknown[] = Array.isArray(task.effects) ? task.effects : [];
  // Where it is there under a wrong name, that is what is said.
  const isMisspelt = Object.keys(task).some((key) => findNearest(key, ['run', 'effects']) !== null);
  const idle = task.run === undefined && effects.length === 0 && !isMisspelt;
  const isTwice = task.needs !== undefined && task.depends_on !== undefined;
  const twice = {
    path: [...path, 'depends_on'],
    message: 'depends_on is another word for needs; allowed: one of them',
  };
  return [
    ...(isTwice ? [twice] : []),
    ...(idle ? [{ path, message: 'it does nothing; allowed: run, effects, or both' }] : []),
    ...effects.flatMap((effect, index): Finding[] => {
      if (!isMapping(effect) || (effect.run === undefined) !== (effect.request === undefined)) return [];
      const found = effect.run === undefined ? 'it does nothing' : 'it does two things';
      return [{ path: [...path, 'effects', index], message: `${found}; allowed: either run or request` }];
    }),
  ];
}

function wrongPlan(file: string, mistakes: readonly Mistake[]): OrchError {
  return planInvalid(mistakes.map((mistake) => ({ file, ...mistake })));
}

/** `plans/release.yaml` → `release`. */
function nameOf(file: string): string {
  const name = (file.split(/[/\\]/).at(-1) ?? '').replace(/(?<=.)\.[^.]*$/, '');
  return name.slice(0, 64) || 'plan';
}

function makePlan(given: GivenPlan, fallbackName: string): Plan {
  const name = given.name ?? fallbackName;
  const all = given.steps ?? given.tasks ?? [];
  const tasks = all.map((task, index) => makeTask(task, index + 1, all[index - 1]?.id ?? null));
  return { name, tasks, digest: digestOf({ name, tasks: all }) };
}

function makeTask(given: GivenTask, number: number, before: string | null): Task {
  const { id, when, files, env, artifacts } = given;
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
    // Of what it does. How long it may take, or how often it is tried, changes nothing about what was done; its
    // effects have digests of their own.
    digest: shortDigestOf({ run, env, artifacts }),
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
  const deed: Deed =
    given.request === undefined
      ? { kind: 'command', run: makeCommand(given.run ?? '') }
      : { kind: 'request', request: given.request };
  return { id, deed, check, digest: shortDigestOf(deed) };
}

export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}

/** Enough to tell a changed one by; every task of every run keeps one. */
export function shortDigestOf(value: unknown): string {
  return digestOf(value).slice(0, 16);
}
