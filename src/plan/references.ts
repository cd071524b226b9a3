import { isRecord } from '../checks.ts';
import { describeValue } from '../config/yaml/yaml-values.ts';
import { findNearest } from '../text.ts';
import { impliesOrder } from './convoy-plan.ts';
import { readIds } from './plan-shape.ts';
import { findCycles } from './schedule/graph.ts';

/** A mistake, and the path of the value that has it. */
export type Finding = { readonly path: readonly (string | number)[]; readonly message: string };

type Named = { readonly id: string; readonly path: readonly (string | number)[] };
type Node = Named & { readonly needs: readonly Named[] };

/**
 * Finds mistakes in how tasks refer to one another. It reads the raw values rather than parsed tasks, so that a plan with
 * other mistakes gets all of them reported together.
 */
export function findReferenceMistakes(given: readonly unknown[], at: string): Finding[] {
  const nodes = readNodes(given, at);
  const effects = given.flatMap((task, index) =>
    (isRecord(task) && Array.isArray(task.effects) ? task.effects : []).flatMap((effect: unknown, place) =>
      isRecord(effect) ? readName(effect.id, [at, index, 'effects', place, 'id']) : [],
    ),
  );
  return [
    ...findDuplicates(nodes, 'task'),
    ...findDuplicates(effects, 'effect'),
    ...findUnknownNeeds(nodes),
    ...findCycleMistakes(nodes),
  ];
}

function readName(given: unknown, path: Named['path']): Named[] {
  return typeof given === 'string' || typeof given === 'number' ? [{ id: String(given), path }] : [];
}

function readNodes(given: readonly unknown[], at: string): Node[] {
  const isInOrder = impliesOrder(given);
  let before: string | null = null;
  return given.flatMap((task, index) => {
    if (!isRecord(task)) return [];
    const [named] = readName(task.id, [at, index, 'id']);
    const last = before;
    before = isInOrder ? (named?.id ?? null) : null;
    if (named === undefined) return [];
    const word = task.needs === undefined && task.depends_on !== undefined ? 'depends_on' : 'needs';
    const path = [at, index, word];
    const written = readIds(task[word])?.flatMap((need, place) =>
      readName(need, Array.isArray(task[word]) ? [...path, place] : path),
    );
    // A task that declares no needs waits for the one before it.
    return [{ ...named, needs: written ?? (last === null ? [] : [{ id: last, path }]) }];
  });
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

function findUnknownNeeds(nodes: readonly Node[]): Finding[] {
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

function findCycleMistakes(nodes: readonly Node[]): Finding[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const plain = nodes.map(({ id, needs }) => ({ id, needs: needs.map((need) => need.id) }));
  return findCycles(plain).map((cycle) => {
    const [, second] = cycle;
    const first = byId.get(cycle[0] ?? '');
    const path = first?.needs.find(({ id }) => id === second)?.path ?? [];
    const message =
      cycle.length === 2 ? `${cycle[0]} needs itself` : `tasks wait for one another: ${cycle.join(' → ')}`;
    return { path, message };
  });
}
