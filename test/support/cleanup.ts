const undoings: (() => unknown)[] = [];

/** Undoes something when the running test is over: what was made last is undone first. */
export function afterTest(undo: () => unknown): void {
  undoings.push(undo);
}

/** Called after each test by `setup.ts`. */
export async function cleanUp(): Promise<void> {
  const failures: unknown[] = [];
  for (const undo of undoings.splice(0).reverse()) {
    try {
      await undo();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
