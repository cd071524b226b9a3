import { chmodSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listCheckpoints, loadCheckpoint } from '../../src/index.ts';
import { looseFile, loseObject } from '../support/damage.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { cost, epic, note, readBack, saveFacts, withOrch } from '../support/store.ts';

const ref = `refs/orchestration/epics/${epic}`;

function newestDocument({ git }: TestRepository): string {
  const files = git('ls-tree', '-r', '--format=%(objectname) %(path)', ref).split('\n'); // sorted by path
  return files.findLast((file) => file.endsWith('.json'))?.split(' ')[0] ?? '';
}

const damages: [string, (repository: TestRepository) => void][] = [
  ['its document is gone', (repository) => loseObject(repository, newestDocument(repository))],
  [
    'its document is torn',
    (repository) => {
      const path = looseFile(repository, newestDocument(repository));
      chmodSync(path, 0o644);
      truncateSync(path, Math.floor(statSync(path).size / 2));
    },
  ],
  ['its commit is gone', (repository) => loseObject(repository, repository.git('rev-parse', ref))],
  ['its tree is gone', (repository) => loseObject(repository, repository.git('rev-parse', `${ref}^{tree}`))],
];

describe.each(['native', 'isomorphic'] as const)('a damaged newest checkpoint (%s engine)', (engine) => {
  it.each(damages)(
    'I4: is rebuilt with nothing lost and nothing counted twice when %s',
    async (_, damage) => {
      const repository = makeRepositoryWithCommit();
      const cwd = repository.folder;
      await saveFacts({ cwd, engine }, [note('one'), cost(100_000)]);
      await saveFacts({ cwd, engine }, [note('two'), cost(20_000)]);
      await saveFacts({ cwd, engine }, [note('three'), cost(3_000)]);
      damage(repository);
      const reports: string[] = [];
      await saveFacts({ cwd, engine, onReport: (what) => reports.push(what) }, [note('four'), cost(400)]);
      expect(reports.join('\n')).toMatch(/could not be read/);
      const found = await readBack({ cwd, engine });
      expect(found).toMatchObject({ notes: ['one', 'two', 'three', 'four'], costUsd: 0.1234, damaged: 0 });
      const { document } = await loadCheckpoint(epic, 'latest', { cwd, engine });
      expect(Object.keys(document.state.notes).sort()).toEqual(['four', 'one', 'three', 'two']);
      expect(document.rebuiltOver).toHaveLength(1);
      // The repository is whole again: git can check, pack and collect it.
      repository.git('rev-list', '--objects', '--all');
      repository.git('gc', '--quiet', '--prune=now');
      expect((await readBack({ cwd, engine })).notes).toEqual(['one', 'two', 'three', 'four']);
    },
  );

  it('is not written over where nothing older can be found', async () => {
    const repository = makeRepositoryWithCommit();
    const cwd = repository.folder;
    await saveFacts({ cwd, engine }, [note('one')]);
    await saveFacts({ cwd, engine }, [note('two')]);
    const tip = repository.git('rev-parse', ref);
    loseObject(repository, tip);
    rmSync(join(cwd, '.git', 'orchestration', 'tips'), { recursive: true });
    const saved = saveFacts({ cwd, engine }, [note('three')]);
    await expect(saved).rejects.toMatchObject({
      code: 'INTEGRITY',
      hint: expect.stringMatching(/Nothing was changed/),
    });
    expect(repository.git('rev-parse', ref)).toBe(tip);
  });

  it('does not hide the others from a list', async () => {
    const repository = makeRepositoryWithCommit();
    const cwd = repository.folder;
    for (const id of ['one', 'two', 'three']) await saveFacts({ cwd, engine }, [note(id)]);
    loseObject(repository, repository.git('rev-parse', ref));
    await withOrch({ cwd, engine }, async (orch) => {
      expect((await listCheckpoints(epic, {}, orch)).map(({ seq }) => seq)).toEqual([2, 1]);
      await expect(loadCheckpoint(epic, 'latest', orch)).rejects.toMatchObject({ code: 'INTEGRITY' });
      expect((await loadCheckpoint(epic, 'latest~1', orch)).document.seq).toBe(2);
    });
  });
});

describe('journals', () => {
  it('stay until another checkpoint follows the one that folded them', async () => {
    const repository = makeRepositoryWithCommit();
    const cwd = repository.folder;
    const journals = () => readdirSync(join(cwd, '.git', 'orchestration', 'journal')).length;
    await saveFacts({ cwd }, [note('one')]);
    expect(journals()).toBe(1);
    await saveFacts({ cwd }, [note('two')]);
    expect(journals()).toBe(1);
    await saveFacts({ cwd }, [note('three')]);
    expect(journals()).toBe(1);
  });
});
