import { lookUp } from '../../keyed.ts';
import type { Ended, ScheduledTask } from './schedule.ts';

/** The rank of one item of a list: right before the task it is part of, in the order of the list. */
export function rankItem(whole: number, index: number, count: number): number {
  return whole - 1 + (index + 1) / (count + 1);
}

/** The values that tasks set, as each task sees them. */
type SeenValues<T> = {
  /** Takes note of what a task set. */
  note(id: string, end: Ended): void;
  /** Collects what the tasks of a group set in a round; in the next round, each of them sees it. */
  keepRound(group: string, ids: readonly string[]): Values;
  /** What the tasks of a group set before its last round. */
  keptOf(group: string): Values;
  /** A value as a task sees it that comes after these; null if none of the tasks before it set it. */
  find(name: string, task: T, needs?: readonly string[]): string | null;
  listFor(task: T): { readonly [name: string]: string };
};

type Values = NonNullable<Ended['values']>;

type Plan<T> = {
  readonly byId: ReadonlyMap<string, T>;
  readonly ranks: ReadonlyMap<string, number>;
  readonly ended: ReadonlyMap<string, Ended>;
  /** What each group set in its round before. */
  readonly before: Map<string, Values>;
};

/**
 * A task sees what the tasks it comes after have set, and of several the last in the order of the plan. So a value never
 * depends on which of two tasks beside each other was faster. In a later round of a group, a task also sees what the
 * group's tasks set in the round before, rather than what was set before the group.
 */
export function openValues<T extends ScheduledTask>({ byId, ranks, ended, before }: Plan<T>): SeenValues<T> {
  const setters = new Map<string, Set<string>>();
  const isEmpty = () => setters.size === 0 && before.size === 0;
  const rankOf = (id: string) => ranks.get(id) ?? 0;
  const setNow = (id: string, name: string) => lookUp(ended.get(id)?.values ?? {}, name);

  function listBefore(needs: readonly string[]): Set<string> {
    const seen = new Set<string>();
    const open = [...needs];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (seen.has(id)) continue;
      seen.add(id);
      open.push(...(byId.get(id)?.needs ?? []));
    }
    return seen;
  }

  /** The value of the last task that has one. */
  function findLast(ids: Iterable<string>, read: (id: string) => string | undefined): string | null {
    let found: { readonly value: string; readonly rank: number } | null = null;
    for (const id of ids) {
      const value = read(id);
      if (value !== undefined && (found === null || rankOf(id) > found.rank))
        found = { value, rank: rankOf(id) };
    }
    return found?.value ?? null;
  }

  function findIn(name: string, task: T, earlier: ReadonlySet<string>): string | null {
    const all = setters.get(name) ?? new Set();
    // Of thousands that set a value, most tasks come after a few.
    const [few, many] = all.size < earlier.size ? [all, earlier] : [earlier, all];
    const common = [...few].filter((id) => many.has(id));
    const setIn = (ids: readonly string[]) => findLast(ids, (id) => setNow(id, name));
    const kept = lookUp(roundBefore(task), name);
    // The round before comes after everything outside of the group, or no round could change what was set before.
    return kept === undefined ? setIn(common) : (setIn(common.filter((id) => sharesLoop(id, task))) ?? kept);
  }

  function sharesLoop(id: string, task: T): boolean {
    const loops = new Set(listOuter(task).filter((outer) => before.has(outer)));
    return listOuter(byId.get(id)).some((outer) => loops.has(outer));
  }

  function listOuter(task: T | undefined): string[] {
    const outer = byId.get(task?.parent ?? '');
    return outer ? [outer.id, ...listOuter(outer)] : [];
  }

  function roundBefore({ parent }: T): Values {
    if (before.size === 0) return {};
    const outer = byId.get(parent ?? '');
    return outer ? { ...roundBefore(outer), ...before.get(outer.id) } : {};
  }

  return {
    note: (id, { values = {} }) => {
      for (const name of Object.keys(values)) {
        const known = setters.get(name);
        if (known) known.add(id);
        else setters.set(name, new Set([id]));
      }
    },
    keepRound: (group, ids) => {
      const names = new Set(ids.flatMap((id) => Object.keys(ended.get(id)?.values ?? {})));
      const set = [...names].map((name) => [name, findLast(ids, (id) => setNow(id, name)) ?? ''] as const);
      const values = { ...before.get(group), ...Object.fromEntries(set) };
      before.set(group, values);
      return values;
    },
    keptOf: (group) => before.get(group) ?? {},
    find: (name, task, needs = task.needs) => (isEmpty() ? null : findIn(name, task, listBefore(needs))),
    listFor: (task) => {
      if (isEmpty()) return {};
      const earlier = listBefore(task.needs);
      const names = new Set([
        ...[...earlier].flatMap((id) => Object.keys(ended.get(id)?.values ?? {})),
        ...Object.keys(roundBefore(task)),
      ]);
      const seen = [...names].flatMap((name) => {
        const value = findIn(name, task, earlier);
        return value === null ? [] : [[name, value] as const];
      });
      return Object.fromEntries(seen);
    },
  };
}
