import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { save } from '../support/checkpoints.ts';
import { loseObject } from '../support/damage.ts';
import { errorOf, runOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';

const parts: [part: string, said: string][] = [
  ['', 'its snapshot '],
  ['^{tree}', 'the list of its files is missing'],
  [':deep/folder', '1 folder missing (deep/folder)'],
  [':deep/folder/only', '1 file missing (deep/folder/only)'],
];

it.each(parts)('what of a checkpoint "%s" is lost is said, and where whole code is', async (part, said) => {
  const repository = makeRepositoryWithCommit();
  await save(repository, ['whole'], { apart: true });
  mkdirSync(join(repository.folder, 'deep/folder'), { recursive: true });
  repository.write('deep/folder/only', 'in the second one\n');
  const [{ snapshot }] = await save(repository, ['broken'], { apart: true });
  rmSync(join(repository.folder, 'deep'), { recursive: true });
  await save(repository, ['whole again'], { apart: true });
  loseObject(repository, repository.git('rev-parse', `${snapshot}${part}`));

  const out = join(makeFolder(), 'out');
  for (const args of [
    ['restore', '2', '-e', 'x', '-y', '--json'],
    ['restore', '2', '-e', 'x', '--to', out, '--json'],
    ['diff', '2', '3', '-e', 'x', '--json'],
    ['diff', '2', '3', '-e', 'x'],
  ]) {
    const ran = runOrch(repository, args);
    const text = ran.stderr.split('\n').slice(-4).join(' ');
    expect([args.join(' '), ran.status, text]).toEqual([
      args.join(' '),
      6,
      expect.stringContaining('the code of ckpt 2 of x is lost in this clone: '),
    ]);
    expect(text).toContain(said);
    expect(text).toContain('The record itself is intact');
    expect(text).toContain('The nearest checkpoint with complete code: orch restore');
    if (args.includes('--json')) expect(errorOf(ran).data).toMatchObject({ seq: 2 });
  }
  const shown = runOrch(repository, ['checkpoint', 'show', '2', '-e', 'x']);
  expect([shown.status, shown.stdout]).toEqual([
    0,
    expect.stringContaining('Its code is lost in this clone: '),
  ]);
  expect(runOrch(repository, ['checkpoint', 'show', '1', '-e', 'x']).stdout).not.toContain('lost');

  expect(runOrch(repository, ['doctor', '--fix']).status).toBe(0);
  expect(repository.tryGit('gc', '--quiet').status).toBe(0);
  const after = runOrch(repository, ['restore', '2', '-e', 'x', '-y', '--json']);
  expect(errorOf(after).message).toContain('the code of ckpt 2 of x is lost in this clone: ');
  expect(runOrch(repository, ['log', 'x']).stderr).toContain('The code of ckpt 2 is lost');
});
