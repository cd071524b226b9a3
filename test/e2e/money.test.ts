import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../src/cost/budget.ts';
import type { Checkpoint } from '../../src/index.ts';
import { startInBackground } from '../support/background.ts';
import { fail, list } from '../support/checkpoints.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

type Recorded = { budget: Budget; checkpoint: Checkpoint | null };
type Report = Record<
  'byDay' | 'bySession' | 'byModel',
  { day?: string; number?: number; costUsd: number }[]
> & {
  totalUsd: number;
};

function configure(repository: TestRepository, config: string): void {
  mkdirSync(join(repository.folder, '.orchestration'));
  repository.write('.orchestration/config.yaml', config);
}

const spend = (repository: TestRepository, usd: string, ...more: string[]) =>
  runOrch(repository, ['record', 'cost', usd, '-e', 'x', ...more]);
// Whoever is first makes it, the record or the session's supervisor: it is there once the record answers.
const newest = (repository: TestRepository) => list(repository).checkpoints[0];
const triggers = (repository: TestRepository) =>
  list(repository)
    .checkpoints.map(({ trigger }) => trigger)
    .reverse();

describe('the policy of a repository', () => {
  it('makes the checkpoints it names and no others, each threshold once, and warns at 80% whatever it says', () => {
    const repository = makeRepositoryWithCommit();
    configure(
      repository,
      'checkpoint:\n  interval: off\n  on: [issue_complete]\n  cost: [0.5, 0.9]\nbudget: 10\n',
    );
    startInBackground(repository, 'x');
    const say = (...args: string[]) =>
      runOrch(repository, ['record', ...args], { env: { ORCH_NOW: '2099-01-01T00:00:00Z' } });
    expect(say('task', 'T1').status).toBe(0);
    expect(say('task', '--done').status).toBe(0);
    // Nothing is saved yet, and what was spent is told all the same.
    expect(spend(repository, '4').status).toBe(0);
    const report = orchJson<Report>(repository, ['cost', 'report']);
    expect(report).toMatchObject({ totalUsd: 4, bySession: [{ number: 1, costUsd: 4 }] });
    expect(report.byDay).toMatchObject([{ day: expect.stringMatching(/^\d{4}-/), costUsd: 4 }]);
    // An epic exists from its first journal; it only has no checkpoint yet.
    for (const noun of ['checkpoint', 'session'])
      expect(orchJson(repository, [noun, 'list', '-e', 'x'])).toEqual({
        epicId: 'x',
        checkpoints: [],
        total: 0,
      });
    expect(orchJson(repository, ['session', 'show'])).toMatchObject({
      session: { number: 1 },
      checkpoints: [],
    });
    expect(say('issue', 'I1', '--status', 'done').status).toBe(0);
    expect(newest(repository)).toMatchObject({ seq: 1, trigger: 'issue_complete' });
    expect(spend(repository, '1').status).toBe(0);
    expect(newest(repository)?.summary).toBe('50% of the budget spent: $5.00 of $10.00');
    expect(spend(repository, '2.99')).toMatchObject({ stderr: '' });
    const warned = spend(repository, '0.01');
    expect(warned).toMatchObject({ status: 0, stderr: '▲ 80% of the budget is spent: $8.00 of $10.00\n' });
    expect(spend(repository, '0.01').stderr).toBe('');
    // Raised before anything was saved: the same thresholds again.
    expect(runOrch(repository, ['cost', 'budget', '20']).status).toBe(0);
    expect(spend(repository, '1.99').status).toBe(0);
    expect(newest(repository)?.summary).toBe('50% of the budget spent: $10.00 of $20.00');
    const again = spend(repository, '6', '--json');
    expect(again.stderr).toBe('▲ 80% of the budget is spent: $16.00 of $20.00\n');
    expect(triggers(repository)).toEqual(['issue_complete', 'cost', 'cost']);
  });

  it('checkpoints by the clock without a supervisor, and not where nothing happened', () => {
    const repository = makeRepositoryWithCommit();
    startInBackground(repository, 'x');
    const later = { ORCH_NOW: '2099-01-01T00:00:00Z' };
    expect(runOrch(repository, ['record', 'note', 'n'], { env: later }).stdout).toContain('◆ ckpt 2 of x: n');
    expect(triggers(repository)).toEqual(['session_start', 'interval']);
  });
});

describe('past the budget', () => {
  it('a record is kept, its document printed, a checkpoint made first, and 4 the answer', () => {
    const repository = makeRepositoryWithCommit();
    const { id } = startInBackground(repository, 'x', '--budget', '1');
    const ran = spend(repository, '1.25', '--json');
    expect(ran.status).toBe(4);
    expect(errorOf(ran)).toMatchObject({ code: 'BUDGET_EXCEEDED', data: { spentUsd: 1.25, limitUsd: 1 } });
    const { budget } = JSON.parse(ran.stdout) as Recorded;
    expect(budget).toMatchObject({ spentUsd: 1.25, remainingUsd: 0, percent: 125, level: 'exceeded' });
    expect(newest(repository)).toMatchObject({ trigger: 'budget', sessionId: id, costUsd: 1.25 });
    expect(orchJson(repository, ['session', 'status', '-e', 'x'])).toMatchObject({
      session: { id, status: 'budget_exceeded' },
    });
    // What comes later is still taken, and still told.
    expect(runOrch(repository, ['record', 'note', 'late', '-e', 'x'])).toMatchObject({
      status: 4,
      stdout: expect.stringContaining('✓ note recorded'),
    });
    // The hint works as it is typed.
    const [hint = ''] = /orch cost budget .*$/.exec(errorOf(ran).hint ?? '') ?? [];
    expect(runOrch(repository, hint.split(' ').slice(1))).toMatchObject({ status: 0 });
    expect(spend(repository, '1').status).toBe(0);
  });
});

describe('orch cost budget', () => {
  it('sets, raises, lowers and lifts it; below what is spent it is refused with one that works', () => {
    const repository = makeRepositoryWithCommit();
    expect(spend(repository, '4.5').status).toBe(0);
    const set = (amount: string, env = {}) =>
      runOrch(repository, ['cost', 'budget', amount, '-e', 'x', '--json'], { env });
    const limitOf = (amount: string) => (JSON.parse(set(amount).stdout) as Recorded).budget.limitUsd;
    expect(['20', '+10', '7.5', 'none', '5'].map(limitOf)).toEqual([20, 14.5, 7.5, null, 5]);
    const refused = set('4');
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(errorOf(refused)).toMatchObject({ code: 'BUDGET_REFUSED' });
    const [higher = ''] = /(?<=such as )\d+/.exec(errorOf(refused).hint ?? '') ?? [];
    expect(limitOf(higher)).toBe(Number(higher));
    for (const agent of [{ CLAUDECODE: '1' }, { ORCH_SESSION: 'sess-zzzzzz' }]) {
      for (const amount of ['6', '+5', 'none'])
        expect(errorOf(set(amount, agent))).toMatchObject({ code: 'BUDGET_REFUSED', data: { limitUsd: 5 } });
    }
    expect(set('4.75', { CLAUDECODE: '1' }).status).toBe(0);
    for (const amount of ['-5', '1,5', 'NaN', '1e999', '0.0000001', ''])
      expect(fail(repository, ['cost', 'budget', amount, '-e', 'x'])).toMatchObject({
        status: 2,
        code: 'USAGE',
      });
    expect(fail(repository, ['cost', 'budgte', '5']).message).toContain('did you mean budget?');
  });
});

describe('orch cost', () => {
  it('tells how fast money goes from the time that was worked, not from the pause after it', () => {
    const repository = makeRepositoryWithCommit();
    const at = (now: string) => ({ env: { ORCH_NOW: now } });
    for (const [now, usd] of [
      ['2026-11-16T09:00:00Z', '1'],
      ['2026-11-16T09:15:00Z', '0.5'],
    ] as const)
      expect(runOrch(repository, ['record', 'cost', usd, '-e', 'x'], at(now)).status).toBe(0);
    expect(runOrch(repository, ['cost', 'budget', '3.5', '-e', 'x'], at('2026-11-16T09:15:00Z')).status).toBe(
      0,
    );
    // Fifteen minutes at 50 cents: 2 dollars an hour, and 2 are left.
    expect(orchJson(repository, ['cost', '-e', 'x'], at('2026-11-16T09:35:00Z'))).toMatchObject({
      burnPerHourUsd: 2,
      lastsUntil: '2026-11-16T10:35:00Z',
    });
  });
});

it('orch cost names the newest sessions, and what the others cost: nothing of the sum is missing', () => {
  const repository = makeRepositoryWithCommit();
  for (let day = 1; day <= 7; day++)
    runOrch(repository, ['record', 'cost', '0.10', '-e', 'x'], {
      env: { ORCH_NOW: `2026-11-0${day}T12:00:00Z`, TZ: 'UTC' },
    });
  const { stdout } = runOrch(repository, ['cost', '-e', 'x']);
  expect(stdout).toMatch(/^sessions +s7 \$0\.10 · .*s3 \$0\.10 · 2 earlier \$0\.20$/m);
});

describe('orch cost report', () => {
  it('sums up to the total by day, session and model: over midnight, since a time, and with what is pending', () => {
    const repository = makeRepositoryWithCommit();
    const at = (now: string, ...args: string[]) =>
      expect(runOrch(repository, args, { env: { ORCH_NOW: now, TZ: 'UTC' } }).status).toBe(0);
    at('2026-11-13T23:59:00Z', 'record', 'cost', '0.1', '-m', 'sonnet', '-e', 'x');
    at('2026-11-14T00:01:00Z', 'record', 'cost', '0.2', '-m', 'haiku', '-e', 'x');
    at('2026-11-16T09:00:00Z', 'record', 'cost', '0.000001', '-m', 'sonnet', '-e', 'x');
    const env = { ORCH_NOW: '2026-11-16T10:00:00Z', TZ: 'UTC' };
    const read = (...args: string[]) =>
      orchJson<Report>(repository, ['cost', 'report', '-e', 'x', ...args], { env });
    const all = read();
    expect(all.byDay).toEqual([
      { day: '2026-11-13', costUsd: 0.1 },
      { day: '2026-11-14', costUsd: 0.2 },
      { day: '2026-11-16', costUsd: 0.000001 },
    ]);
    for (const report of [all, read('--since', 'yesterday'), read('--since', '2026-11-14')]) {
      for (const rows of [report.byDay, report.bySession, report.byModel])
        expect(rows.reduce((sum, { costUsd }) => sum + Math.round(costUsd * 1e6), 0)).toBe(
          Math.round(report.totalUsd * 1e6),
        );
    }
    expect(read('--since', '2026-11-14').totalUsd).toBe(0.200001);
    expect(runOrch(repository, ['cost', 'report', '-e', 'x', '--by', 'model'], { env })).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^MODEL +USD\nhaiku +0\.20 +█+\nsonnet +0\.10 +█+\n +=? ?= 0\.30 +no budget\n$/,
      ),
    });
    expect(fail(repository, ['cost', 'report', '--by', 'week'])).toMatchObject({ status: 2, code: 'USAGE' });
    expect(fail(repository, ['cost', 'report', '--since', 'once', '-e', 'x'])).toMatchObject({
      status: 2,
      code: 'USAGE',
    });
  });
});
