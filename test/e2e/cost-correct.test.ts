import { expect, it } from 'vitest';
import { makeAgent, processOfItsOwn } from '../support/hooked-agent.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const correct = (
  repository: TestRepository,
  right: string,
  wrong: string,
  env: Record<string, string> = {},
) => runOrch(repository, ['record', 'cost', right, '--correct', wrong, '-e', 'x'], { env });
const record = (repository: TestRepository, ...args: string[]) =>
  expect(runOrch(repository, ['record', 'cost', ...args, '-e', 'x']).status).toBe(0);
const budgetOf = (repository: TestRepository) =>
  orchJson<{ budget: { spentUsd: number; level: string } }>(repository, ['cost', '-e', 'x']).budget;

it('a cost that was recorded by mistake is taken back, visibly, and the epic goes on', () => {
  const repository = makeRepositoryWithCommit();
  runOrch(repository, ['cost', 'budget', '10', '-e', 'x']);
  record(repository, '1');
  expect(runOrch(repository, ['record', 'cost', '250', '-e', 'x']).status).toBe(4);
  expect(budgetOf(repository)).toMatchObject({ spentUsd: 251, level: 'exceeded' });
  const ran = correct(repository, '2.50', '250');
  expect(ran).toMatchObject({ status: 0, stderr: '' });
  expect(ran.stdout).toContain('cost corrected for x: $2.50 instead of $250.00');
  expect(budgetOf(repository)).toMatchObject({ spentUsd: 3.5, level: 'ok' });
  expect(runOrch(repository, ['log', 'x']).stdout).toContain('Cost corrected by $247.50');
  expect(runOrch(repository, ['log', 'x']).stdout).toContain('−$247.50');
  const report = runOrch(repository, ['cost', 'report', '-e', 'x']).stdout;
  expect(report).toMatch(/= 3\.50/);
  expect(report).toMatch(/^corrected by hand: 250\.00$/m);
  expect(orchJson(repository, ['cost', 'report', '-e', 'x'])).toMatchObject({
    totalUsd: 3.5,
    byModel: [{ model: 'by-hand', costUsd: 3.5, correctedUsd: 250 }],
  });
  // The history says both, and what is spent stands in the newest checkpoint.
  expect(
    repository.git('log', '-1', '--format=%(trailers:key=Orch-Cost,valueonly)', 'orchestration/epics/x'),
  ).toMatch(/^3\.500000/);
});

it('no more than was recorded by hand can be taken back, in all', () => {
  const repository = makeRepositoryWithCommit();
  record(repository, '3');
  record(repository, '5', '--model', 'claude-opus-5');
  expect(correct(repository, '0', '4')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('cannot take back $4.00: only $3.00 was recorded'),
  });
  expect(correct(repository, '0', '3').status).toBe(0);
  expect(correct(repository, '0', '0.01').status).toBe(2);
  expect(correct(repository, '1', 'much').status).toBe(2);
  expect(budgetOf(repository).spentUsd).toBe(5);
  const withModel = [
    'record',
    'cost',
    '0',
    '--correct',
    '1',
    '--model',
    'claude-opus-5',
    '-e',
    'x',
    '--json',
  ];
  expect(errorOf(runOrch(repository, withModel)).code).toBe('USAGE');
});

it('an agent cannot take back what it spent, where there is a budget', () => {
  const repository = makeRepositoryWithCommit();
  const env = processOfItsOwn();
  makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x', ...env }).call('SessionStart', { source: 'startup' });
  record(repository, '3');
  expect(correct(repository, '2', '3', { CLAUDECODE: '1' }).status).toBe(0);
  runOrch(repository, ['cost', 'budget', '10', '-e', 'x']);
  expect(correct(repository, '1', '2', { CLAUDECODE: '1' })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('an agent cannot take back a cost while there is a budget'),
  });
  expect(correct(repository, '1', '2').status).toBe(0);
  expect(budgetOf(repository).spentUsd).toBe(1);
});
