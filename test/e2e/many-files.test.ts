import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/index.ts';
import { expectSound } from '../support/checkpoints.ts';
import { hasLimits, runLimited } from '../support/limits.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { treeByGit } from '../support/snapshots.ts';

/** Files in folders, a hundred in each. */
function writeMany(repository: TestRepository, count: number, word: string): void {
  for (let index = 0; index < count; index++) {
    const folder = `in-${Math.floor(index / 100)}`;
    if (index % 100 === 0) mkdirSync(join(repository.folder, folder), { recursive: true });
    repository.write(`${folder}/file-${index}`, `${word} ${index}\n`);
  }
}

function countLoose({ folder }: TestRepository): number {
  const names = readdirSync(join(folder, '.git/objects'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /^[0-9a-f]{2}.[0-9a-f]{38}$/.test(name)).length;
}

describe.runIf(hasLimits)('a checkpoint with many new files, where few can be open', () => {
  const save = (repository: TestRepository, limit: number) => {
    const args = ['checkpoint', 'create', '-e', 'a', '--json'];
    const ran = runLimited(repository, `--nofile=${limit}:${limit}`, args);
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    return (JSON.parse(ran.stdout) as { checkpoint: Checkpoint }).checkpoint;
  };

  it.each([
    [1_024, 1_500],
    [256, 1_500],
    [256, 490],
    [256, 5_200],
  ])('with %i open at the most, %i new files are all in it', (limit, count) => {
    const repository = makeRepositoryWithCommit();
    writeMany(repository, count, 'first');
    const { snapshot } = save(repository, limit);
    expect(repository.git('rev-parse', `${snapshot}^{tree}`)).toBe(treeByGit(repository));
    expectSound(repository);
    if (count > 500) expect(countLoose(repository)).toBeLessThan(300);
    writeMany(repository, count, 'second');
    const again = save(repository, limit);
    expect(repository.git('rev-parse', `${again.snapshot}^{tree}`)).toBe(treeByGit(repository));
  });

  it('so they are where git has to convert each of them, or refuses one', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('.gitattributes', '* text=auto\n');
    repository.git('config', 'filter.broken.clean', 'false');
    repository.git('config', 'filter.broken.required', 'true');
    writeMany(repository, 1_500, 'first\r');
    const { snapshot } = save(repository, 256);
    expect(repository.git('rev-parse', `${snapshot}^{tree}`)).toBe(treeByGit(repository));
    expect(countLoose(repository)).toBeLessThan(300);
    repository.write('.gitattributes', '* text=auto\n*.bad filter=broken\n');
    repository.write('no.bad', 'refused\n');
    writeMany(repository, 1_500, 'second\r');
    const { snapshot: second } = save(repository, 256);
    const names = repository.git('ls-tree', '-r', '--name-only', String(second)).split('\n');
    expect(names).toHaveLength(1_502);
    expect(names).not.toContain('no.bad');
    expectSound(repository);
  });
});
