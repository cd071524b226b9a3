import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { columnsOf } from '../../src/text.ts';
import { startInBackground } from '../support/background.ts';
import { create, fail, save } from '../support/checkpoints.ts';
import { damage } from '../support/damage.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

const at = (now: string, more = {}) => ({ env: { ORCH_NOW: now, TZ: 'UTC', ...more } });
const noon = '2026-11-16T12:00:00Z';

describe('orch status and orch log', () => {
  it('in a repository without epics say so: a question about all is answered, one about an epic refused', () => {
    const repository = makeRepositoryWithCommit();
    expect(runOrch(repository, ['status'])).toEqual({
      status: 0,
      stdout: '',
      stderr:
        'No epics yet. Start one: orch start --epic my-feature. Or connect your agent, which then starts them: orch init\n',
    });
    expect(orchJson(repository, ['status'])).toEqual({ epics: [], waiting: [], faults: [] });
    for (const args of [['log'], ['cost'], ['brief'], ['log', 'nope'], ['brief', '-e', 'nope']])
      expect(fail(repository, args)).toMatchObject({ status: 1, code: 'EPIC_NOT_FOUND' });
  });

  it('show every epic, the newest first, and what happened in one', () => {
    const repository = makeRepositoryWithCommit();
    const say = (now: string, ...args: string[]) => expect(runOrch(repository, args, at(now)).status).toBe(0);
    say('2026-11-16T09:00:00Z', 'cost', 'budget', '20', '-e', 'feat-login');
    say('2026-11-16T09:30:00Z', 'record', 'cost', '4.1', '-e', 'feat-login');
    say('2026-11-16T11:00:00Z', 'record', 'note', 'Begun', '-e', 'docs');
    expect(runOrch(repository, ['status'], at(noon)).stdout).toBe(
      [
        'EPIC        STATE     SPENT                       GATES  LAST',
        'docs        ‖ paused  $0.00  no limit             –      1  1h ago',
        'feat-login  ‖ paused  $4.10/$20.00  █░░░░░░  20%  –      2  2h ago',
        '',
      ].join('\n'),
    );
    expect(runOrch(repository, ['log', 'feat-login'], at(noon)).stdout).toBe(
      [
        's1  ‖ paused  30m  $4.10',
        '  2  09:30  pause  +$4.10  $4.10 spent',
        '  1  09:00  pause          Budget set to $20.00',
        '',
      ].join('\n'),
    );
  });

  it('log tells what each checkpoint cost, also the oldest that is shown', () => {
    const repository = makeRepositoryWithCommit();
    for (const [now, usd] of [
      ['2026-11-13T09:00:00Z', '5'],
      ['2026-11-16T09:00:00Z', '1'],
      ['2026-11-16T10:00:00Z', '2'],
    ] as const)
      expect(runOrch(repository, ['record', 'cost', usd, '-e', 'x'], at(now)).status).toBe(0);
    const spent = (...args: string[]) =>
      orchJson<{ checkpoints: { spentUsd: number }[] }>(
        repository,
        ['log', 'x', ...args],
        at(noon),
      ).checkpoints.map(({ spentUsd }) => spentUsd);
    expect(spent()).toEqual([2, 1, 5]);
    expect(spent('--since', 'yesterday')).toEqual([2, 1]);
    expect(spent('--limit', '1')).toEqual([2]);
    expect(fail(repository, ['log', 'x', '--since', 'once'])).toMatchObject({ status: 2, code: 'USAGE' });
  });

  it.each(['40', '80', '200'])('fit into %s columns, also with wide characters', (columns) => {
    const repository = makeRepositoryWithCommit();
    const epic = 'a-long-name-of-an-epic-that-goes-on-and-on-until-it-ends';
    const note = '日本語の長いテキストがここにあります、とても長いです 🎉 and on '.repeat(5);
    expect(runOrch(repository, ['record', 'cost', '12.34', '-e', epic]).status).toBe(0);
    expect(runOrch(repository, ['record', 'note', note, '-e', epic]).status).toBe(0);
    for (const args of [['status'], ['log', epic], ['cost', 'report', '-e', epic]]) {
      const { stdout } = runOrch(repository, args, { env: { COLUMNS: columns } });
      const widest = Math.max(...stdout.split('\n').map(columnsOf));
      expect([args[0], widest <= Number(columns)]).toEqual([args[0], true]);
    }
  });

  it('list thirty epics, and ask which one is meant', () => {
    const repository = makeRepositoryWithCommit();
    const [first] = [create(repository, 'one')];
    for (let index = 0; index < 30; index++)
      repository.git('update-ref', `refs/orchestration/epics/e${index}`, first?.commit ?? '');
    expect(orchJson<{ epics: [] }>(repository, ['status']).epics).toHaveLength(31);
    repository.git('checkout', '--quiet', '-b', 'elsewhere');
    expect(fail(repository, ['log'])).toMatchObject({
      status: 2,
      code: 'USAGE',
      data: { epics: expect.any(Array) },
    });
  });
});

describe('a damaged checkpoint', () => {
  it('hides nothing that can be read, and is told by every command that looks', async () => {
    const repository = makeRepositoryWithCommit();
    const [, second, , fourth] = await save(repository, ['one', 'two', 'three', 'four']);
    damage(repository, second, 'commit', 'deleted');
    const looking = ['log x', 'cost report -e x', 'cost -e x', 'session list -e x', 'session show -e x'];
    for (const args of looking.map((line) => line.split(' '))) {
      const ran = runOrch(repository, args);
      expect(ran).toMatchObject({
        status: 0,
        stderr: expect.stringContaining('some checkpoints could not be read'),
      });
      expect(ran.stderr.match(/some checkpoints could not/g)).toHaveLength(1);
    }
    expect(runOrch(repository, ['log', 'x']).stdout).toMatch(/four[\s\S]*three/);
    damage(repository, fourth, 'document', 'truncated');
    for (const args of [
      ['status'],
      ['brief', '-e', 'x'],
      ['cost', '-e', 'x'],
      ['session', 'status', '-e', 'x'],
    ]) {
      const { status, stderr } = runOrch(repository, args);
      expect([args[0], status, stderr]).toEqual([
        args[0],
        0,
        expect.stringContaining('x: a checkpoint could not be read'),
      ]);
    }
  });
});

describe('a wrong config', () => {
  it('stops what needs it, naming file, line and key, and nothing else', () => {
    const repository = makeRepositoryWithCommit();
    create(repository, 'one');
    mkdirSync(join(repository.folder, '.orchestration'));
    repository.write('.orchestration/config.yaml', '# mine\ncheckpoint:\n  intervall: 5m\n');
    const needing = [
      ['record', 'note', 'n', '-e', 'x'],
      ['cost', 'budget', '5', '-e', 'x'],
      ['baseline'],
      ['session', 'start', '-e', 'x'],
    ];
    for (const args of needing) {
      const error = fail(repository, args);
      expect(error).toMatchObject({
        status: 2,
        code: 'CONFIG_INVALID',
        data: { line: 3, key: 'checkpoint.intervall' },
      });
      expect(error.message).toMatch(/^\.orchestration\/config\.yaml:3:.*did you mean interval\?/);
    }
    for (const args of [
      ['status'],
      ['log', 'x'],
      ['cost', '-e', 'x'],
      ['brief', '-e', 'x'],
      ['session', 'list'],
    ])
      expect([args[0], runOrch(repository, args).status]).toEqual([args[0], 0]);
  });
});

describe('orch brief', () => {
  it('is the same each time and in the tree, keeps its limit, and goes back to a checkpoint', () => {
    const repository = makeRepositoryWithCommit();
    create(repository, 'first');
    for (let index = 0; index < 4; index++)
      runOrch(repository, ['record', 'note', `step ${index} ${'word '.repeat(60)}`, '-e', 'x']);
    const read = (...args: string[]) => runOrch(repository, ['brief', '-e', 'x', ...args]);
    const { stdout } = read();
    expect(read().stdout).toBe(stdout);
    const inTree = repository.git('show', 'refs/orchestration/epics/x:.orchestration/checkpoints/x/brief.md');
    expect(inTree.trim()).toBe(stdout.trim());
    for (const most of [30, 80, 200])
      expect(
        orchJson<{ tokens: number }>(repository, ['brief', '-e', 'x', '--max-tokens', String(most)]).tokens,
      ).toBeLessThanOrEqual(most);
    expect(fail(repository, ['brief', '-e', 'x', '--max-tokens', '1'])).toMatchObject({
      status: 2,
      hint: expect.stringMatching(/\d+ tokens/),
    });
    expect(read('--checkpoint', '1').stdout).toBe('# Brief: x, after session 1: nothing to report\n');
    const second = read('--checkpoint', '2').stdout;
    expect(second).toMatch(/^# Brief: x, after session 1\n\*\*State:\*\* .* · checkpoint 2\n/);
    expect(second).toContain('step 0');
    expect(second).not.toContain('step 1');
    expect(JSON.parse(read('--format', 'json').stdout)).toMatchObject({ sections: expect.any(Array) });
    expect(fail(repository, ['brief', '-e', 'x', '--checkpoint', '99'])).toMatchObject({
      status: 1,
      code: 'CHECKPOINT_NOT_FOUND',
    });
  });

  it('counts as handed over only once the next session has made progress', () => {
    const repository = makeRepositoryWithCommit();
    expect(runOrch(repository, ['record', 'note', 'from the first', '-e', 'x']).status).toBe(0);
    const from = () =>
      orchJson<{ from: { number: number }; handedOverTo: unknown }>(repository, ['brief', '-e', 'x']);
    startInBackground(repository, 'x', '--resume');
    expect(from()).toMatchObject({ from: { number: 1 }, handedOverTo: null });
    expect(runOrch(repository, ['record', 'note', 'progress', '-e', 'x']).status).toBe(0);
    expect(from().from.number).toBe(2);
  });
});

it('the log keeps a long reason within a narrow terminal', () => {
  const repository = makeRepositoryWithCommit();
  const reason = 'A reason that is longer than the room that is left on the line of its session';
  runOrch(repository, ['checkpoint', 'create', '-e', 'y', '-r', reason]);
  const { stdout } = runOrch(repository, ['log', 'y'], { env: { COLUMNS: '60' } });
  expect(stdout).toMatch(/^s1 .* A reason that .*…$/m);
  for (const line of stdout.split('\n')) expect(columnsOf(line)).toBeLessThanOrEqual(60);
});
