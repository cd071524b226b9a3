import { addToYamlList, formatYaml } from '../config/yaml/yaml-list.ts';
import { OrchError } from '../errors.ts';
import { parsePlan } from '../plan/parse-plan.ts';

/* Plans made from a few words, and tasks added to a plan that is there. */

/** Makes a task's id from the first words of what is to be done; another one if it is taken. */
export function makeTaskId(text: string, taken: ReadonlySet<string>): string {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const said = words.filter((word) => !small.has(word)).slice(0, 3);
  const id = (said.length > 0 ? said : words.slice(0, 3)).join('-').slice(0, 40) || 'task';
  for (let number = 1; ; number++) {
    const own = number === 1 ? id : `${id}-${number}`;
    if (!taken.has(own) && own !== 'merged') return own;
  }
}

const small = new Set('a an and at for from in into of on or please the to with'.split(' '));

export type NewTask = { readonly text: string; readonly needs: readonly string[] };

/** Writes a plan whose tasks are prompts. */
export function formatPlan(name: string, texts: readonly string[], agent: string | undefined): string {
  const tasks = makeTasks(
    texts.map((text) => ({ text, needs: [] })),
    new Set(),
  );
  return formatYaml({ name, ...(agent !== undefined && { worker: { agent } }), tasks });
}

/** Adds prompts to the text of a plan, which stays as it is otherwise. Returns their ids too. */
export function addPrompts(
  text: string,
  file: string,
  tasks: readonly NewTask[],
): { readonly text: string; readonly ids: readonly string[] } {
  const added = makeTasks(tasks, new Set(parsePlan(text, file).tasks.map(({ id }) => id)));
  const changed = addToYamlList(text, 'tasks', added);
  if (changed === null)
    throw new OrchError('PLAN_INVALID', `${file} has no list of tasks`, {
      hint: 'Add the tasks to it by hand',
    });
  parsePlan(changed, file);
  return { text: changed, ids: added.map(({ id }) => id) };
}

function makeTasks(tasks: readonly NewTask[], taken: Set<string>) {
  return tasks.map(({ text: prompt, needs }) => {
    const id = makeTaskId(prompt, taken);
    taken.add(id);
    return { id, ...(needs.length > 0 && { needs }), prompt };
  });
}
