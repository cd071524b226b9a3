/** How many letters must be changed, added, left out or swapped with their neighbour to get from one word to another. */
function distanceBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

/** The known word that was probably meant, or null where none is near. */
export function findNearest(word: string, known: readonly string[]): string | null {
  if (word.length > 40) return null;
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, '');
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceBetween(plain(word), plain(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  // A third of a word may be wrong; of a short word, one letter.
  if (best === undefined || best.distance > Math.max(1, Math.floor(best.candidate.length / 3))) return null;
  return best.candidate;
}
