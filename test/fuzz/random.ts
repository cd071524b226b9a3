/** Chance that can be repeated: the same seed gives the same numbers. */
export type Random = {
  /** A whole number from 0 up to, and without, `below`. */
  int(below: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
};

/** Words become one number: each execution has a seed of its own, made of the run's, its target and its number. */
export function seedOf(...words: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const character of words.join('/')) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}

export function makeRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    // mulberry32: small, fast, and good enough to choose mutations.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number) => Math.floor(next() * below);
  return {
    int,
    chance: (probability) => next() < probability,
    pick: (from) => {
      const found = from[int(from.length)];
      if (found === undefined) throw new Error('nothing to pick from');
      return found;
    },
  };
}
