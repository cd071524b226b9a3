import { findNearest } from '../spelling.ts';
import { describeValue, isMapping } from '../yaml-values.ts';
import { findCycles } from './graph.ts';
import { readIds } from './shape.ts';

/** What is wrong, and with which value. */
export type Finding = { readonly path: readonly (string | number)[]; readonly message: string };

type Named = { readonly id: string; readonly path: readonly (string | number)[] };
type Node = Named & { readonly needs: readonly Named[] };

/**
 * What is wrong with how tasks speak of one another. It looks at what was written rather than at tasks: a plan with
 * a mistake elsewhere has these too, and they are said together.
 */
export function findReferenceMistakes(given: readonly unknown[], at: string): Finding[] {
  const nodes = readNodes(given, at);
  const effects = given.flatMap((task, index) =>
    (isMapping(task) && Array.isArray(task.effects) ? task.effects : []).flatMap((effect: unknown, place) =>
      isMapping(effect) ? readName(effect.id, [at, index, 'effects', place, 'id']) : [],
    ),
  );
  return [
    ...findTwice(nodes, 'task'),
    ...findTwice(effects, 'effect'),
    ...findUnknown(nodes),
    ...findCircles(nodes),
  ];
}

function readName(given: unknown, path: Named['path']): Named[] {
  return typeof given === 'string' || typeof given === 'number' ? [{ id: String(given), path }] : [];
}

function readNodes(given: readonly unknown[], at: string): Node[] {
  let before: string | null = null;
  return given.flatMap((task, index) => {
    if (!isMapping(task)) return [];
    const [named] = readName(task.id, [at, index, 'id']);
    const last = before;
    before = named?.id ?? null;
    if (named === undefined) return [];
    const word = task.needs === undefined && task.depends_on !== undefined ? 'depends_on' : 'needs';
    const path = [at, index, word];
    const written = readIds(task[word])?.flatMap((need, place) =>
      readName(need, Array.isArray(task[word]) ? [...path, place] : path),
    );
    // A task that does not say waits for the one before it.
    return [{ ...named, needs: written ?? (last === null ? [] : [{ id: last, path }]) }];
  });
}

function findTwice(all: readonly Named[], what: 'task' | 'effect'): Finding[] {
  const seen = new Map<string, string>();
  return all.flatMap(({ id, path }) => {
    // Some disks take two names for one that differ only in case, and a task's log has its name.
    const known = seen.get(id.toLowerCase());
    seen.set(id.toLowerCase(), known ?? id);
    if (known === undefined) return [];
    const same = known === id ? 'a second time' : `, and ${known} differs from it only in case`;
    return [{ path, message: `found ${describeValue(id)} ${same}; allowed: an id no other ${what} has` }];
  });
}

function findUnknown(nodes: readonly Node[]): Finding[] {
  const ids = new Set(nodes.map(({ id }) => id));
  return nodes
    .flatMap(({ needs }) => needs)
    .filter(({ id }) => !ids.has(id))
    .map(({ id, path }) => {
      const meant = findNearest(id, [...ids]);
      return {
        path,
        message: `there is no task ${describeValue(id)}${meant ? `, did you mean ${meant}?` : ''}`,
      };
    });
}

function findCircles(nodes: readonly Node[]): Finding[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const plain = nodes.map(({ id, needs }) => ({ id, needs: needs.map((need) => need.id) }));
  return findCycles(plain).map((cycle) => {
    const [, second] = cycle;
    const first = byId.get(cycle[0] ?? '');
    const path = first?.needs.find(({ id }) => id === second)?.path ?? [];
    const message =
      cycle.length === 2
        ? `${cycle[0]} needs itself`
        : `tasks that wait for one another: ${cycle.join(' → ')}`;
    return { path, message };
  });
}
