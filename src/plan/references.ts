import { isRecord } from '../checks.ts';
import { describeValue } from '../config/yaml/yaml-values.ts';
import { findNearest } from '../text.ts';
import { ConditionMistake, listConditionTasks, parseCondition } from './condition.ts';
import { impliesOrder } from './convoy-plan.ts';
import { readIds } from './plan-shape.ts';
import { findCycles } from './schedule/graph.ts';

/** A mistake, and the path of the value that has it. */
export type Finding = { readonly path: readonly (string | number)[]; readonly message: string };

type Path = Finding['path'];
type Named = { readonly id: string; readonly path: Path };
type Node = Named & {
  /** The tasks it waits for. */
  readonly needs: readonly Named[];
  /** The tasks its conditions ask about. */
  readonly asks: readonly Named[];
  /** The group it is in. */
  readonly group: string | null;
  readonly isForEach: boolean;
  /** For a group: its tasks. */
  readonly members: readonly string[];
};

/**
 * Finds mistakes in how tasks refer to one another. It reads the raw values rather than parsed tasks, so that a plan with
 * other mistakes gets all of them reported together.
 */
export function findReferenceMistakes(given: readonly unknown[], at: string): Finding[] {
  const nodes = readNodes(given, [at], null);
  const effects = listRaw(given, [at]).flatMap(({ task, path }) =>
    (Array.isArray(task.effects) ? task.effects : []).flatMap((effect: unknown, place) =>
      isRecord(effect) ? readName(effect.id, [...path, 'effects', place, 'id']) : [],
    ),
  );
  return [
    ...findDuplicates(nodes, 'task'),
    ...findDuplicates(effects, 'effect'),
    ...findUnreachable(nodes),
    ...findCycleMistakes(nodes),
  ];
}

type Raw = { readonly task: { readonly [key: string]: unknown }; readonly path: Path };

/** Lists the tasks as written, those in groups included. */
export function listRaw(given: readonly unknown[], path: Path): Raw[] {
  return given.flatMap((task, index): Raw[] => {
    if (!isRecord(task)) return [];
    const here = [...path, index];
    const inside = Array.isArray(task.tasks) ? listRaw(task.tasks, [...here, 'tasks']) : [];
    return [{ task, path: here }, ...inside];
  });
}

function readName(given: unknown, path: Path): Named[] {
  return typeof given === 'string' || typeof given === 'number' ? [{ id: String(given), path }] : [];
}

function readNodes(given: readonly unknown[], at: Path, group: string | null): Node[] {
  const isInOrder = impliesOrder(given);
  let before: string | null = null;
  return given.flatMap((task, index): Node[] => {
    if (!isRecord(task)) return [];
    const here = [...at, index];
    const [named] = readName(task.id, [...here, 'id']);
    const last = before;
    before = isInOrder ? (named?.id ?? null) : null;
    if (named === undefined) return [];
    const word = task.needs === undefined && task.depends_on !== undefined ? 'depends_on' : 'needs';
    const path = [...here, word];
    const written = readIds(task[word])?.flatMap((need, place) =>
      readName(need, Array.isArray(task[word]) ? [...path, place] : path),
    );
    // A task that declares no needs waits for the one before it.
    const needs = written ?? (last === null ? [] : [{ id: last, path }]);
    const inside = Array.isArray(task.tasks) ? readNodes(task.tasks, [...here, 'tasks'], named.id) : [];
    const until = isRecord(task.repeat) ? readAsked(task.repeat.until, [...here, 'repeat', 'until']) : [];
    const asks = [...readAsked(task.when, [...here, 'when']), ...until.filter(({ id }) => id !== named.id)];
    const members = inside.map(({ id }) => id);
    return [...inside, { ...named, needs, asks, group, isForEach: task.foreach !== undefined, members }];
  });
}

/** The tasks that a condition asks about. One that cannot be read is reported by its shape. */
function readAsked(given: unknown, path: Path): Named[] {
  if (typeof given !== 'string') return [];
  try {
    return listConditionTasks(parseCondition(given)).map((id) => ({ id, path }));
  } catch (error) {
    if (error instanceof ConditionMistake) return [];
    throw error;
  }
}

function findDuplicates(all: readonly Named[], what: 'task' | 'effect'): Finding[] {
  const seen = new Map<string, string>();
  return all.flatMap(({ id, path }) => {
    // Logs are named after tasks, and some file systems ignore case.
    const known = seen.get(id.toLowerCase());
    seen.set(id.toLowerCase(), known ?? id);
    if (known === undefined) return [];
    const same = known === id ? ' a second time' : `, which differs from ${known} only in case`;
    return [{ path, message: `found ${describeValue(id)}${same}; allowed: an id no other ${what} has` }];
  });
}

/** `deploy[eu]` is one item of `deploy`. */
export function withoutItem(id: string): string {
  return id.replace(/\[.*\]$/, '');
}

/** Finds needs and conditions about tasks that do not exist, or that are out of reach inside a group. */
function findUnreachable(nodes: readonly Node[]): Finding[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const ids = [...byId.keys()];
  return nodes.flatMap((node) =>
    [...node.needs, ...node.asks].flatMap(({ id, path }): Finding[] => {
      const task = byId.get(withoutItem(id));
      if (task === undefined || (task.id !== id && !task.isForEach)) {
        const meant = findNearest(id, ids);
        return [
          {
            path,
            message: `there is no task ${describeValue(id)}${meant ? `, did you mean ${meant}?` : ''}`,
          },
        ];
      }
      if (task.group !== null && task.group !== node.group && task.group !== node.id)
        return [{ path, message: `${id} is inside the group ${task.group}; allowed: ${task.group}` }];
      if (node.group === id) return [{ path, message: `${id} is the group this task is in` }];
      return [];
    }),
  );
}

function findCycleMistakes(nodes: readonly Node[]): Finding[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const plain = nodes.map(({ id, needs, asks, members, group }) => {
    const asked = asks.map((each) => withoutItem(each.id)).filter((each) => !members.includes(each));
    const own = [...needs.map((need) => withoutItem(need.id)), ...asked];
    // What its group needs, a task in it needs too.
    const entry = (group === null ? undefined : byId.get(group))?.needs.map((need) => need.id) ?? [];
    return { id, needs: [...new Set([...own, ...members, ...entry])] };
  });
  return findCycles(plain).map((cycle) => {
    const [, second] = cycle;
    const first = byId.get(cycle[0] ?? '');
    const path =
      [...(first?.needs ?? []), ...(first?.asks ?? [])].find(({ id }) => id === second)?.path ?? [];
    const message =
      cycle.length === 2 ? `${cycle[0]} needs itself` : `tasks wait for one another: ${cycle.join(' → ')}`;
    return { path, message };
  });
}
