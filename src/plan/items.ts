import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { nameFile } from '../ids.ts';
import { canonicalJson } from '../state/canonical.ts';
import { cleanLine } from '../text.ts';
import { type Condition, mapTasks } from './condition.ts';
import { shortDigestOf } from './digests.ts';
import { pathProblem } from './file-path.ts';
import type { Task, When } from './plan.ts';
import { isItem, mostItems } from './plan-shape.ts';

/* A task that is done for each item of a list becomes one task per item. Pure: the same list gives the same tasks. */

/** A task for each item of a list, and the task they are part of, which now needs all of them. */
export type Expanded = { readonly task: Task; readonly instances: readonly Task[] };

/**
 * Makes the task of each item. Its id contains the item rather than its position, so that what was done stays done if the
 * list gets longer.
 */
export function expandItems(task: Task, items: readonly unknown[]): Expanded {
  const each = task.parts?.each;
  if (!task.parts || !each) return { task, instances: [] };
  const { entry } = task.parts;
  const seen = new Map<string, number>();
  const instances = items.map((item) => {
    const text = formatItem(item);
    const word = nameItem(text);
    const times = (seen.get(word) ?? 0) + 1;
    seen.set(word, times);
    const id = `${task.id}[${word}${times > 1 ? `#${times}` : ''}]`;
    return makeInstance({ ...each.template, id, needs: entry, parent: task.id }, task.id, text);
  });
  return { task: { ...task, needs: [...new Set([...instances.map(({ id }) => id), ...entry])] }, instances };
}

/** An item as a command gets it. */
function formatItem(item: unknown): string {
  return typeof item === 'string' ? item : canonicalJson(item);
}

/** Stands for the item in names, files and artifacts; commands have it as a variable anyway. */
const placeholder = `$\{ORCH_ITEM}`;

const plainItem = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;

function nameItem(text: string): string {
  return plainItem.test(text) && !text.includes('..') ? text : hash('sha256', text).slice(0, 12);
}

/** The file name of a task's log: `deploy[eu]` → `deploy@eu`. */
export function nameTaskFile(id: string, suffix: string): string {
  return nameFile(id.replace(/[[#]/g, '@').replace(']', ''), suffix);
}

function makeInstance(template: Task, of: string, item: string): Task {
  const fill = (text: string) => text.replaceAll(placeholder, item);
  const { id, run, effects, repeat } = template;
  const env = { ...template.env, ORCH_ITEM: item };
  const artifacts = template.artifacts.map(fill);
  for (const path of artifacts) refuseArtifact(of, path);
  const own = (when: When) => (typeof when === 'string' ? when : renameTask(when, of, id));
  return {
    ...template,
    name: template.name === of ? id : cleanLine(fill(template.name), 80),
    env,
    artifacts,
    files: template.files.map(fill),
    effects: effects.map((effect) => ({ ...effect, id: `${effect.id}${id.slice(of.length)}` })),
    repeat: repeat && { ...repeat, until: own(repeat.until) as typeof repeat.until }, // words stay words
    digest: shortDigestOf({ run, env, artifacts }),
  };
}

/** In the loop of a task that is done for each item, the task's own id means this item's. */
function renameTask(condition: Condition, from: string, to: string): Condition {
  return mapTasks(condition, (task) => (task === from ? to : task));
}

function refuseArtifact(task: string, path: string): void {
  const problem = pathProblem(path);
  if (problem === null) return;
  throw new OrchError(
    'PLAN_INVALID',
    `an item of ${task} gives the artifact ${JSON.stringify(path)}, ${problem}`,
    {
      hint: `Choose items that can be part of a path, or leave ${placeholder} out of artifacts`,
      data: { task, path },
    },
  );
}

/** Reads the list that a task set as a value: JSON, or one item per line. Returns what is wrong if it is no list. */
export function readItems(text: string | null): readonly unknown[] | string {
  if (text === null) return 'no task before it has set it';
  const items = text.trimStart().startsWith('[')
    ? parseList(text)
    : text.split('\n').map((line) => line.trim());
  if (items === null) return 'it starts like a JSON list and is none';
  const filled = items.filter((item) => item !== '');
  if (filled.length > mostItems) return `it has ${filled.length} items, and at most ${mostItems} are allowed`;
  return filled.every(isItem) ? filled : 'it has an item that cannot be a variable';
}

function parseList(text: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
