import { expect, it } from 'vitest';
import { readText } from '../support/checkpoints.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument } from '../support/plans.ts';

type List = { epicId: string; checkpoints: { seq: number; summary: string; sessionNumber: number }[] };

it('a run’s checkpoints are listed and restored by its id, wherever it was', () => {
  const repository = makePlanned(
    'name: p\ntasks: [{ id: a, run: echo a >> made.txt }, { id: b, run: "test -e ready && echo b >> made.txt" }]\n',
  );
  runOrch(repository, ['checkpoint', 'create', '-e', 'p', '--reason', 'before']);
  const first: RunDocument = JSON.parse(runOrch(repository, ['run', 'plan.yaml', '--json']).stdout);
  repository.write('ready', '');
  expect(runOrch(repository, ['run', 'plan.yaml', '--resume']).status).toBe(0);
  repository.write('made.txt', 'spoiled\n');
  const second: RunDocument = JSON.parse(runOrch(repository, ['run', 'plan.yaml', '--json']).stdout);
  runOrch(repository, ['record', 'note', 'elsewhere', '-e', 'other']);
  const list = (run: string, ...args: string[]) =>
    orchJson<List>(repository, ['checkpoint', 'list', '--run', run, ...args]);
  const { epicId, checkpoints } = list(first.run.id);
  expect(epicId).toBe('p');
  expect(new Set(checkpoints.map(({ sessionNumber }) => sessionNumber))).toEqual(new Set([2, 3]));
  expect(checkpoints.map(({ summary }) => summary)).toContain('Task done: a; 1 file: made.txt');
  expect(list(first.run.id, '-n', '1').checkpoints).toEqual(checkpoints.slice(0, 1));
  expect(list(second.run.id).checkpoints.every(({ sessionNumber }) => sessionNumber === 4)).toBe(true);
  expect(runOrch(repository, ['restore', first.run.id, '-y']).status).toBe(0);
  expect(readText(repository.folder, 'made.txt')).toBe('a\nb\n');
  const shown = runOrch(repository, ['checkpoint', 'show', second.run.id]);
  expect(shown.status).toBe(0);
  const unknown = runOrch(repository, ['restore', 'run-zzzzzz', '-y']);
  expect(unknown.status).toBe(1);
  expect(unknown.stderr).toContain('no run run-zzzzzz in this clone\n');
  const wrong = runOrch(repository, ['checkpoint', 'list', '--run', 'p']);
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('"p" is not a run id\n');
});
