import fc from 'fast-check';
import { expect, it } from 'vitest';
import { expectSound } from '../support/checkpoints.ts';
import { runs } from '../support/depth.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { look, snapshot, treeByGit } from '../support/snapshots.ts';
import { perform, step } from '../support/steps.ts';

it('I1: whatever was done, a snapshot is what `git add --all` makes of the folder, and touches nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const repository = makeRepositoryWithCommit();
      for (const one of steps) await perform(repository, one);
      const before = look(repository.folder);
      const { tree } = await snapshot(repository);
      expect(look(repository.folder)).toEqual(before);
      const byGit = treeByGit(repository);
      expect(tree).toBe(byGit);
      expectSound(repository);
    }),
    { numRuns: runs(20), endOnFailure: true },
  );
});
