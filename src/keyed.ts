/** An object used as a map. */
export type Keyed<T> = { readonly [key: string]: T };

/** Merges two maps; `merge` decides on keys that both have. Works for any key, including `__proto__`. */
export function mergeKeyed<T>(a: Keyed<T>, b: Keyed<T>, merge: (x: T, y: T) => T): Keyed<T> {
  const added = Object.entries(b);
  if (added.length === 0) return a;
  const merged = new Map(Object.entries(a));
  for (const [key, value] of added) {
    const known = merged.get(key);
    merged.set(key, known === undefined ? value : merge(known, value));
  }
  return Object.fromEntries(merged);
}

/** The value of an own key, never of an inherited one. */
export function lookUp<T>(map: Keyed<T>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Groups values by a key, in their order. */
export function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}
