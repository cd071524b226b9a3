/* Who waits for whom, and because of which dependencies. */

export type NeedsGraph<Reason> = {
  /** Makes a task wait for another. */
  add(task: string, need: string, reason: Reason): void;
  needsOf(task: string): readonly string[];
  /** Removes what would make tasks wait for one another; returns each removal with the circle it was in. */
  breakCycles(tasks: readonly string[]): readonly Removed<Reason>[];
};

export type Removed<Reason> = { readonly cycle: readonly string[]; readonly reasons: readonly Reason[] };

/** Naming every task of a long circle would help nobody. */
const mostNamed = 8;

export function openNeedsGraph<Reason>(): NeedsGraph<Reason> {
  const needs = new Map<string, Map<string, Reason[]>>();
  return {
    add: (task, need, reason) => {
      let own = needs.get(task);
      if (own === undefined) {
        own = new Map();
        needs.set(task, own);
      }
      const known = own.get(need);
      if (known === undefined) own.set(need, [reason]);
      else known.push(reason);
    },
    needsOf: (task) => [...(needs.get(task)?.keys() ?? [])],
    breakCycles: (tasks) => {
      const removed: Removed<Reason>[] = [];
      const done = new Set<string>();
      for (const root of tasks) {
        if (done.has(root)) continue;
        // A stack of its own: chains may be longer than the call stack.
        const path = [step(root)];
        const places = new Map([[root, 0]]);
        for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
          const need = top.left[top.next++];
          if (need === undefined) {
            done.add(top.id);
            places.delete(top.id);
            path.pop();
            continue;
          }
          const place = places.get(need);
          if (place !== undefined) {
            const own = needs.get(top.id);
            removed.push({ cycle: nameCycle(path, place), reasons: own?.get(need) ?? [] });
            own?.delete(need);
          } else if (!done.has(need)) {
            places.set(need, path.length);
            path.push(step(need));
          }
        }
      }
      return removed;
    },
  };

  function step(id: string) {
    return { id, left: [...(needs.get(id)?.keys() ?? [])], next: 0 };
  }
}

/** `a`, `b`, `c`, `a`, shortened in the middle. */
function nameCycle(path: readonly { readonly id: string }[], from: number): string[] {
  const length = path.length - from;
  const places =
    length <= mostNamed
      ? Array.from({ length }, (_, index) => from + index)
      : [from, from + 1, from + 2, null, path.length - 2, path.length - 1];
  return [...places, from].map((place) => (place === null ? '…' : (path[place]?.id ?? '')));
}
