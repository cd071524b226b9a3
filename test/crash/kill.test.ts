import { describe, expect, it } from 'vitest';
import { makeRandom, runs } from '../support/depth.ts';
import { startSaver } from '../support/processes.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { epic, note, readBack, saveFacts } from '../support/store.ts';

describe.each(['native', 'isomorphic'] as const)(
  'processes killed at random moments (%s engine)',
  (engine) => {
    it('I2 I4: what they acknowledged is there, once, and the next ones go on', async () => {
      const repository = makeRepositoryWithCommit();
      const cwd = repository.folder;
      const random = makeRandom(engine === 'native' ? 11 : 23);
      const acknowledged: string[] = [];
      for (let round = 0; round < runs(4); round++) {
        const savers = [0, 1].map((index) =>
          startSaver(repository, epic, 1_000, `r${round}p${index}`, engine),
        );
        const enough = 2 + Math.floor(random() * 6);
        await expect
          .poll(() => savers.flatMap((saver) => saver.lines()).length, { timeout: 20_000, interval: 1 })
          .toBeGreaterThan(enough);
        for (const saver of savers) {
          // A moment later, so that death comes anywhere in the work and not always after a line.
          const until = performance.now() + random() * 12;
          while (performance.now() < until);
          saver.kill();
        }
        await Promise.all(savers.map((saver) => saver.ended));
        acknowledged.push(
          ...savers.flatMap((saver) => saver.lines().map((line) => line.split(' ')[1] ?? '')),
        );
      }
      await saveFacts({ cwd, engine }, [note('last')]);
      const { notes, seqs, damaged } = await readBack({ cwd, engine });
      expect(damaged).toBe(0);
      expect(new Set(notes).size).toBe(notes.length);
      expect(acknowledged.filter((id) => !notes.includes(id))).toEqual([]);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
      expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
    });
  },
);

describe('eight processes at once', () => {
  it('I4: 8 × 25 saves on one epic are 200 commits, with git gc and pack-refs running beside them', async () => {
    const repository = makeRepositoryWithCommit();
    const savers = Array.from({ length: 8 }, (_, index) => startSaver(repository, epic, 25, `p${index}`));
    let running = true;
    const beside = (async () => {
      for (let turn = 0; running; turn++) {
        const result = repository.tryGit(...(turn % 2 ? ['gc', '--quiet'] : ['pack-refs', '--all']));
        expect(result.stderr).not.toMatch(/corrupt|missing|bad object/);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const ends = await Promise.all(savers.map((saver) => saver.ended));
    running = false;
    await beside;
    expect(ends).toEqual(ends.map(() => ({ status: 0, stderr: '' })));
    const { notes, seqs } = await readBack({ cwd: repository.folder });
    expect(seqs).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
    expect(new Set(notes).size).toBe(200);
    expect(repository.git('rev-list', '--count', `refs/orchestration/epics/${epic}`)).toBe('200');
    const unreachable = repository.git('fsck', '--no-reflogs', '--unreachable', '--no-progress').split('\n');
    // No pile of lost races: the queue lets one write at a time.
    expect(unreachable.filter((line) => line.includes('commit')).length).toBeLessThan(10);
  });

  it('I4: both engines may write one epic at the same time', async () => {
    const repository = makeRepositoryWithCommit();
    const engines = ['native', 'isomorphic', 'native', 'isomorphic'];
    const savers = engines.map((engine, index) => startSaver(repository, epic, 10, `p${index}`, engine));
    const ends = await Promise.all(savers.map((saver) => saver.ended));
    expect(ends.map(({ status }) => status)).toEqual([0, 0, 0, 0]);
    for (const engine of ['native', 'isomorphic'] as const) {
      const { notes, seqs } = await readBack({ cwd: repository.folder, engine });
      expect(seqs).toHaveLength(40);
      expect(new Set(notes).size).toBe(40);
    }
    expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
  });
});
