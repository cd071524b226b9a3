import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectSound, save } from '../support/checkpoints.ts';
import { loseObject } from '../support/damage.ts';
import { errorOf, runOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';

it.each(['', '^{tree}', ':only'])('a snapshot without its object "%s" stops nothing else', async (part) => {
  const repository = makeRepositoryWithCommit();
  await save(repository, ['whole']);
  repository.write('only', 'in the broken one\n');
  const ran = runOrch(repository, ['checkpoint', 'create', '-e', 'y', '-r', 'broken', '--json']);
  const { snapshot } = JSON.parse(ran.stdout).checkpoint;
  const oid = repository.git('rev-parse', `${snapshot}${part}`);
  loseObject(repository, oid);
  rmSync(join(repository.folder, 'only'));
  const hub = join(makeFolder(), 'hub.git');
  repository.git('init', '--quiet', '--bare', hub);
  repository.git('remote', 'add', 'origin', hub);

  const synced = runOrch(repository, ['sync', '-y', '--json']);
  expect(errorOf(synced)).toMatchObject({ code: 'INTEGRITY', data: { snapshots: { pushed: 1 } } });
  expect(synced.stderr).not.toContain('Nothing is lost');
  const sent = repository.git('ls-remote', hub).split('\n');
  expect(sent.map((line) => line.split('/').slice(2, 4).join('/')).sort()).toEqual([
    'epics/x',
    'epics/y',
    'snapshots/x',
  ]);
  expect(runOrch(repository, ['doctor']).stdout).toContain('The missing objects are lost unless');
  expect(runOrch(repository, ['doctor', '--fix']).status).toBe(0);
  expect(repository.tryGit('gc', '--quiet').status).toBe(0);
  expectSound(repository);
  expect(runOrch(repository, ['cleanup']).status).toBe(0);
  expect(runOrch(repository, ['sync', '-y']).status).toBe(0);
  expect(runOrch(repository, ['doctor']).stdout).toContain('1 ref repaired earlier');
  const restored = runOrch(repository, ['restore', '1', '-e', 'y', '-y', '--json']);
  expect([restored.status, errorOf(restored).code]).toEqual([6, 'INTEGRITY']);
  if (part === '') expect(errorOf(restored).message).toContain('is lost in this clone');
});
