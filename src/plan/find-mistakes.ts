import { isRecord } from '../checks.ts';
import { findNearest } from '../text.ts';
import { findPromptMistakes } from './convoy-plan.ts';
import { type Finding, findReferenceMistakes, listRaw } from './references.ts';

/** Finds mistakes that no single value shows. */
export function findMistakes({ tasks, steps }: { readonly [key: string]: unknown }): Finding[] {
  if (tasks !== undefined && steps !== undefined)
    return [{ path: ['steps'], message: 'steps means the same as tasks; allowed: one of them' }];
  const at = steps === undefined ? 'tasks' : 'steps';
  const all = steps ?? tasks;
  if (all === undefined)
    return [{ path: [], message: 'there are no tasks; allowed: "tasks:" with a list of tasks' }];
  if (!Array.isArray(all)) return [];
  if (all.length === 0) return [{ path: [at], message: 'the list is empty; allowed: one task or more' }];
  return [
    ...listRaw(all, [at]).flatMap(({ task, path }) => findTaskMistakes(task, path)),
    ...findReferenceMistakes(all, at),
  ];
}

/** What only a task with a command of its own can have, or with effects. */
const ownKeys = [
  'run',
  'prompt',
  'effects',
  'foreach',
  'files',
  'retry',
  'timeout',
  'env',
  'artifacts',
  'undo',
];

/** Finds tasks and effects that do nothing or two things at once, and keys that contradict each other. */
function findTaskMistakes(task: Raw, path: Finding['path']): Finding[] {
  const effects: readonly unknown[] = Array.isArray(task.effects) ? task.effects : [];
  const find = (isWrong: boolean, key: string, message: string): Finding[] =>
    isWrong ? [{ path: key === '' ? path : [...path, key], message }] : [];
  const has = (key: string) => task[key] !== undefined;
  // A misspelt key is reported as such.
  const works = ['run', 'prompt', 'tasks'];
  const isMisspelt = Object.keys(task).some((key) => findNearest(key, [...works, 'effects']) !== null);
  const doesNothing = !works.some(has) && effects.length === 0 && !isMisspelt;
  const wrongInGroup = has('tasks') ? ownKeys.find(has) : undefined;
  return [
    ...find(
      has('needs') && has('depends_on'),
      'depends_on',
      'depends_on means the same as needs; allowed: one of them',
    ),
    ...find(
      doesNothing,
      '',
      'it does nothing; allowed: run or prompt, effects, or both; or tasks, for a group',
    ),
    ...findPromptMistakes(task, path),
    ...find(
      wrongInGroup !== undefined,
      wrongInGroup ?? '',
      `a group has no ${wrongInGroup} of its own; give it to the tasks in the group`,
    ),
    ...find(
      Array.isArray(task.tasks) && task.tasks.length === 0,
      'tasks',
      'the group is empty; allowed: one task or more',
    ),
    ...find(has('repeat') && has('retry'), 'retry', 'repeat has its own attempts; allowed: one of the two'),
    ...find(
      has('repeat') && !works.some(has),
      'repeat',
      'there is no command to repeat; allowed: with run, or for a group',
    ),
    ...findEffectMistakes(task, effects, path),
    ...findUndoMistakes(task.undo, [...path, 'undo']),
  ];
}

type Raw = { readonly [key: string]: unknown };

function findEffectMistakes(task: Raw, effects: readonly unknown[], path: Finding['path']): Finding[] {
  const isListLater = typeof task.foreach === 'string' && effects.length > 0;
  const late = 'effects are planned before the run starts; allowed: with a list that is in the plan';
  const isInLoop = isRecord(task.repeat) && Array.isArray(task.tasks);
  const repeated = isInLoop
    ? listRaw(Array.isArray(task.tasks) ? task.tasks : [], [...path, 'tasks'])
        .filter((inside) => Array.isArray(inside.task.effects) && inside.task.effects.length > 0)
        .map((inside) => ({
          path: [...inside.path, 'effects'],
          message: 'an effect is done once, and this group repeats; move it to a task after the group',
        }))
    : [];
  return [
    ...(isListLater ? [{ path: [...path, 'effects'], message: late }] : []),
    ...repeated,
    ...effects.flatMap((effect, index): Finding[] => {
      if (!isRecord(effect)) return [];
      const here = [...path, 'effects', index];
      return [...findActionMistakes(effect, here), ...findUndoMistakes(effect.undo, [...here, 'undo'])];
    }),
  ];
}

function findActionMistakes(action: Raw, path: Finding['path']): Finding[] {
  if ((action.run === undefined) !== (action.request === undefined)) return [];
  const found = action.run === undefined ? 'it does nothing' : 'it does two things';
  return [{ path, message: `${found}; allowed: either run or request` }];
}

function findUndoMistakes(undo: unknown, path: Finding['path']): Finding[] {
  return isRecord(undo) ? findActionMistakes(undo, path) : [];
}
