import { describe, expect, it } from 'vitest';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import {
  callOrch,
  startSupervisor,
  statusOf,
  triggersOf,
  waitUntil,
  writeConfig,
  writeScript,
} from '../support/supervised.ts';

describe('I7: the budget', () => {
  it('stops an agent that spends and spends, after a checkpoint; more money lets it go on', () => {
    const repository = makeRepositoryWithCommit();
    const agent = writeScript(
      repository,
      'agent',
      'trap "echo late >late; exit 1" INT',
      'i=0',
      'while [ $i -lt 50 ]; do',
      `  ${callOrch('record cost 1 >/dev/null 2>&1')}`,
      '  i=$((i+1)); echo "$i $?"',
      'done',
    );
    const ran = runOrch(repository, ['start', '-e', 'a', '--budget', '3', '--', agent]);
    expect(ran.status).toBe(4);
    expect(ran.stdout.split('\n').length).toBeLessThan(7);
    const { session, budget } = statusOf(repository, 'a');
    expect(session.status).toBe('budget_exceeded');
    expect(budget.level).toBe('exceeded');
    expect(triggersOf(repository, 'a').slice(0, 2)).toEqual(['session_start', 'budget']);
    // What it still wrote when it was told to stop is kept in one more.
    expect(triggersOf(repository, 'a').slice(2)).toEqual(['budget']);
    expect(ran.stderr).toContain('■ Budget used up:');
    expect(ran.stderr).toMatch(/Saved checkpoint 2, then stopped agent.* \(SIGINT\)/);

    const refused = runOrch(repository, ['resume', '-e', 'a', '--', 'true']);
    expect(refused.status).toBe(4);
    expect(refused.stderr).toContain('orch resume -e a --budget +10');
    const more = runOrch(repository, ['resume', '-e', 'a', '--budget', '+5', '--', 'true']);
    expect(more.status).toBe(0);
    expect(statusOf(repository, 'a')).toMatchObject({ session: { status: 'paused', number: 2 } });
  });

  it('notices what another process records, and warns once before', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
    const agent = writeScript(
      repository,
      'agent',
      'trap "" INT TERM',
      'echo ready',
      'while :; do sleep 0.1; done',
    );
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--budget', '10', '--', agent]);
    await waitUntil(() => orch.stdout() === 'ready\n');
    expect(runOrch(repository, ['record', 'cost', '8.5', '-e', 'a']).status).toBe(0);
    await waitUntil(() => orch.stderr().includes('85% of the budget'));
    expect(runOrch(repository, ['record', 'cost', '0.5', '-e', 'a']).status).toBe(0);
    expect(runOrch(repository, ['record', 'cost', '1', '-e', 'a']).status).toBe(4);
    await waitUntil(() => orch.stderr().includes('stopping the command'));
    expect(await orch.ended).toBe(4);
    expect(orch.stderr().match(/▲/g)).toHaveLength(1);
    expect(orch.stderr()).toMatch(/stopped agent.* \(SIGKILL\)/);
  });

  it('is what was typed, or refused', () => {
    const repository = makeRepositoryWithCommit();
    expect(runOrch(repository, ['record', 'cost', '3', '-e', 'a']).status).toBe(0);
    const resume = (budget: string, env = {}) =>
      runOrch(repository, ['resume', '-e', 'a', `--budget=${budget}`, '--', 'true'], { env });
    const limit = () =>
      orchJson<{ budget: { limitUsd: number | null } }>(repository, ['session', 'status', '-e', 'a']).budget
        .limitUsd;
    for (const wrong of ['0', '-1', 'abc', '1', '', 'NaN', '1e9', '+']) {
      const ran = resume(wrong);
      expect([wrong, ran.status]).toEqual([wrong, 2]);
    }
    expect(limit()).toBeNull();
    for (const [typed, total] of [
      ['20', 20],
      ['+20', 23],
      ['none', null],
      ['7.50', 7.5],
    ] as const) {
      expect(resume(typed).status).toBe(0);
      expect(limit()).toBe(total);
    }
    for (const env of [{ CLAUDECODE: '1' }, { ORCH_SESSION: 'sess-abc123' }]) {
      expect(resume('8', env).status).toBe(2);
      expect(resume('none', env).status).toBe(2);
      const budget = runOrch(repository, ['cost', 'budget', '+90', '-e', 'a', '--json'], { env });
      expect(budget.status).toBe(2);
      expect(errorOf(budget).code).toBe('BUDGET_REFUSED');
    }
    expect(limit()).toBe(7.5);
  });
});

it('is an error for scripts, too, where it ends a session in the foreground', async () => {
  const repository = makeRepositoryWithCommit();
  const orch = startSupervisor(repository, ['start', '-e', 'a', '--budget', '1', '--json']);
  await waitUntil(() => orch.stdout().endsWith('}\n'));
  expect(runOrch(repository, ['record', 'cost', '2', '-e', 'a']).status).toBe(4);
  const status = await orch.ended;
  expect(status).toBe(4);
  expect(errorOf({ status, stdout: orch.stdout(), stderr: orch.stderr() })).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    hint: expect.stringContaining('orch resume -e a --budget +10'),
  });
});

describe('the budget that the config gives a new epic', () => {
  const makeConfigured = () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'budget: 2\ngates: [{ name: test, run: "true" }]\n');
    return repository;
  };

  it('holds whoever begins it', () => {
    const repository = makeConfigured();
    const beginnings = { record: 'record note n', create: 'checkpoint create', gates: 'baseline' };
    for (const [epic, words] of Object.entries({ ...beginnings, start: 'start --background' })) {
      expect(runOrch(repository, [...words.split(' '), '-e', epic]).status).toBe(0);
      expect(statusOf(repository, epic).budget).toMatchObject({ limitUsd: 2, spentUsd: 0 });
      expect(runOrch(repository, ['record', 'cost', '3', '-e', epic]).status).toBe(4);
    }
  });

  it('stops at the first cost, which is all that was recorded', () => {
    const repository = makeConfigured();
    const ran = runOrch(repository, ['record', 'cost', '3', '-e', 'a', '--json']);
    expect(ran.status).toBe(4);
    expect(errorOf(ran).code).toBe('BUDGET_EXCEEDED');
    const said = JSON.parse(ran.stdout);
    expect(said).toMatchObject({ event: { kind: 'cost' }, budget: { limitUsd: 2, level: 'exceeded' } });
    expect(said.events).toBeUndefined();
  });

  it('gives way to what is typed, and comes to no epic that was there before', () => {
    const repository = makeConfigured();
    orchJson(repository, ['cost', 'budget', 'none', '-e', 'a']);
    orchJson(repository, ['record', 'note', 'n', '-e', 'a']);
    expect(statusOf(repository, 'a').budget).toMatchObject({ limitUsd: null });
  });
});
