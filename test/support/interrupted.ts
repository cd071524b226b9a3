import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GitEngine } from '../../src/git/engine.ts';
import { diffTrees } from '../../src/git/worktree/tree-diff.ts';
import { listUndos, undoPrefix } from '../../src/git/worktree/undo-refs.ts';
import { type Orch, openOrch } from '../../src/index.ts';
import { Died } from './crash-disk.ts';
import type { TestRepository } from './repository.ts';
import { buryLockHolders } from './store.ts';

/**
 * Has a process die in a restore, between two files: once the n-th undo is noted, `share` of the files are as the
 * restore wants them, and the next one is written half. False where it came to its end before.
 */
export async function interrupt(
  repository: TestRepository,
  { at = 1, share }: { readonly at?: number; readonly share: number },
  work: (orch: Orch) => Promise<unknown>,
): Promise<boolean> {
  let noted = 0;
  let isBegun = false;
  const wrapEngine = (git: GitEngine): GitEngine => ({
    ...git,
    moveRefs: async (updates) => {
      if (noted >= at) throw new Died();
      await git.moveRefs(updates);
      if (!updates.some(({ ref }) => ref.startsWith(undoPrefix))) return;
      noted += 1;
      isBegun = updates.some(({ from }) => from === null); // files change behind a new one only
      if (noted >= at) throw new Died();
    },
  });
  const orch = await openOrch({ cwd: repository.folder, wrapEngine });
  try {
    await work(orch);
    return false;
  } catch (error) {
    if (!(error instanceof Died)) throw error;
    buryLockHolders(repository.folder);
    if (isBegun) await doPart(repository, orch, share);
    return true;
  } finally {
    orch.close();
  }
}

/** What git does of its work before it is killed too. */
async function doPart({ folder }: TestRepository, orch: Orch, share: number): Promise<void> {
  const last = (await listUndos(orch)).at(-1);
  for (const { from, to } of last?.undo.restored ?? []) {
    const changes = await diffTrees(orch.repository, from, to);
    const done = Math.floor(changes.length * share);
    for (const [index, { path, to: entry }] of changes.slice(0, done + 1).entries()) {
      const file = join(folder, path);
      const bytes = entry && (await orch.git.readObject(entry.oid)).bytes;
      if (index < done && bytes === null) rmSync(file, { force: true });
      else if (index < done && bytes) writeFileSync(file, bytes);
      else if (bytes && share > 0) writeFileSync(file, bytes.subarray(0, bytes.length / 2));
    }
  }
}
