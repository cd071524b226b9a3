import fc from 'fast-check';
import { expect, it } from 'vitest';
import { restoreCheckpoint, undoRestore } from '../../src/index.ts';
import { expectSound, save } from '../support/checkpoints.ts';
import { runs } from '../support/depth.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { checkOutByGit, lookAtFiles, lookAtGit } from '../support/restored.ts';
import { filesOf, snapshot as takeSnapshot } from '../support/snapshots.ts';
import { perform, step } from '../support/steps.ts';

const steps = fc.array(step, { minLength: 2, maxLength: 8 });

it('I1: a restore gives the files as git would, leaves the rest alone, and its undo gives back what was there', async () => {
  await fc.assert(
    fc.asyncProperty(steps, steps, async (before, after) => {
      const repository = makeRepositoryWithCommit();
      const where = { cwd: repository.folder };
      for (const one of before) await perform(repository, one);
      const [{ snapshot }] = await save(repository, ['then']);
      for (const one of after) await perform(repository, one);

      const files = lookAtFiles(repository.folder);
      const own = lookAtGit(repository);
      const { tree } = await takeSnapshot(repository); // which is what git would add: a property of its own
      const [present, target] = [filesOf(repository, tree), filesOf(repository, snapshot ?? '')];
      const result = await restoreCheckpoint({ epicId: 'x', name: '1' }, where);

      const restored = lookAtFiles(repository.folder);
      const wanted = checkOutByGit(repository, snapshot ?? '');
      const stays = new Set(result.kept.map(({ path }) => path));
      for (const [path, content] of Object.entries(wanted)) {
        if (result.changed.includes(path)) expect([path, restored[path]]).toEqual([path, content]);
        else if (!stays.has(path)) expect([path, present[path]]).toEqual([path, target[path]]);
      }
      for (const [path, content] of Object.entries(restored)) {
        if (result.changed.includes(path)) continue;
        expect([path, content]).toEqual([path, files[path]]); // the same there, or ignored, or not to be replaced
        if (path in present && !(path in wanted)) expect(stays).toContain(path);
      }
      expect(lookAtGit(repository)).toEqual(own);
      const again = await restoreCheckpoint({ epicId: 'x', name: '1', dryRun: true }, where);
      expect(again.deleted).toEqual([]); // what was ignored is not taken for something made since
      // A file whose line ends git would store otherwise by now is always modified, as in a fresh clone.
      for (const path of again.changed) expect(restored[path]).toBe(wanted[path]);

      if (result.undo !== null) {
        await undoRestore({}, where);
        expect(lookAtFiles(repository.folder)).toEqual(files);
        expect(lookAtGit(repository)).toEqual(own);
        await undoRestore({}, where);
        expect(lookAtFiles(repository.folder)).toEqual(restored);
      }
      expectSound(repository);
    }),
    { numRuns: runs(6), endOnFailure: true },
  );
}, 600_000);
