/** An object used as a map. */
export type Keyed<T> = { readonly [key: string]: T };

/** Both maps in one; where both have a key, `merge` decides. Any key will do, `__proto__` included. */
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

/** The value under a key of its own, never one that every object inherits. */
export function lookUp<T>(map: Keyed<T>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
