import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorOf, runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn, readRan, statusesOf } from '../support/plans.ts';
import { callOrch, triggersOf, writeConfig } from '../support/supervised.ts';

const release = `name: release
tasks:
  - { id: lint, run: echo lint >> $RAN }
  - { id: test, run: "echo test $ORCH_ATTEMPT >> $RAN; test $ORCH_ATTEMPT = 2", retry: { attempts: 3, backoff: 1ms } }
  - { id: tell, run: echo tell >> $RAN, when: failure }
  - { id: publish, run: "echo publish >> $RAN; echo about to fail; exit \${FAILS:-0}" }
`;

/** Times differ, and so do ids. */
const normalize = (text: string) => text.replace(/ +\d+(s|m\d\ds)\b/g, ' 0s').replace(/run-\w+/g, 'RUN');

describe('orch run', () => {
  it('runs the tasks in order, says so in a line each, and leaves a checkpoint after each that succeeded', () => {
    const repository = makePlanned(release);
    const own = ['HEAD', 'index', 'config', 'refs/heads/main'].map((name) =>
      join(repository.folder, '.git', name),
    );
    const before = own.map((path) => readFileSync(path, 'latin1'));
    const ran = runOrch(repository, ['run', 'plan.yaml'], ranIn(repository));
    expect(ran.status).toBe(0);
    expect(own.map((path) => readFileSync(path, 'latin1'))).toEqual(before);
    expect(normalize(ran.stderr)).toBe(
      [
        'release: RUN on e, session 1',
        '1/4 ✓ lint 0s',
        '2/4 ↻ test     exit status 1; next: attempt 2 of 3',
        '2/4 ✓ test 0s  (attempt 2 of 3)',
        '3/4 – tell     skipped',
        '4/4 ✓ publish 0s',
        '',
      ].join('\n'),
    );
    expect(normalize(ran.stdout)).toBe('✓ release: 4 tasks in 0s  (RUN, ckpt 5)\n');
    expect(readRan(repository)).toEqual(['lint', 'test 1', 'test 2', 'publish']);
    expect(triggersOf(repository, 'e')).toEqual(['session_start', 'task', 'task', 'task', 'complete']);
  });

  it('shows the end of what a failing task printed, exits 3, and starts anew the next time', () => {
    const repository = makePlanned(release);
    const { env } = ranIn(repository);
    const ran = runOrch(repository, ['run', 'plan.yaml', '--json'], { env: { ...env, FAILS: '7' } });
    expect(ran.status).toBe(3);
    const document: RunDocument = JSON.parse(ran.stdout);
    expect(document.run).toMatchObject({ name: 'release', status: 'failed', effects: [] });
    expect(document.run.tasks).toEqual([
      { id: 'lint', number: 1, name: 'lint', status: 'succeeded', attempts: 1 },
      { id: 'test', number: 2, name: 'test', status: 'succeeded', attempts: 2 },
      { id: 'tell', number: 3, name: 'tell', status: 'skipped', attempts: 0 },
      { id: 'publish', number: 4, name: 'publish', status: 'failed', attempts: 1 },
    ]);
    expect(errorOf(ran)).toMatchObject({
      code: 'TASK_FAILED',
      message: 'release: task 4 (publish) failed: exit status 7',
      hint: 'Fix it, then resume: orch run plan.yaml --resume',
    });
    const again = runOrch(repository, ['run', 'plan.yaml'], { env: { ...env, FAILS: '7' } });
    expect(again.stderr).toMatch(
      /4\/4 ✗ publish +\d+s {2}exit status 7\n +about to fail\n +full output: (.*)\n/,
    );
    const [, log = ''] = /full output: (.*)\n/.exec(again.stderr) ?? [];
    expect(readFileSync(log, 'utf8')).toBe('about to fail\norch: attempt 1: exit status 7\n');
    expect(readRan(repository).filter((task) => task === 'lint')).toHaveLength(2);
    expect(triggersOf(repository, 'e').at(-1)).toBe('error');
  });

  it('checks a plan and shows what it would do, and does nothing (--dry-run)', () => {
    const repository = makePlanned(`tasks:
  - { id: a, run: echo a >> $RAN, files: [src/a/**] }
  - { id: b, run: [echo, b c], needs: [], files: [src/b/**] }
  - id: c
    needs: [a, b]
    effects: [{ id: tag, run: [sh, tag.sh], check: [sh, tagged.sh] }]
`);
    const before = readdirSync(join(repository.folder, '.git')).sort();
    const ran = runOrch(repository, ['run', 'plan.yaml', '--dry-run', '--jobs', '2'], ranIn(repository));
    expect(ran).toMatchObject({ status: 0, stderr: '' });
    expect(ran.stdout).toBe(
      [
        'plan: 3 tasks, 1 effect; nothing was run',
        '  1/3   a  echo a >> $RAN',
        "  2/3   b  echo 'b c'",
        '  3/3   c  its effects only  (after a, b)',
        '  in parallel: a, b',
        '  effect tag of c: sh tag.sh (checked before a replay)',
        '',
      ].join('\n'),
    );
    const { plan } = JSON.parse(
      runOrch(repository, ['run', 'plan.yaml', '--dry-run', '--jobs', '2', '--json']).stdout,
    );
    expect(plan).toMatchObject({ name: 'plan', batches: [['a', 'b'], ['c']] });
    expect(plan.effects).toEqual([{ id: 'tag', task: 'c', what: 'sh tag.sh', hasCheck: true }]);
    expect(readRan(repository)).toEqual([]);
    expect(readdirSync(join(repository.folder, '.git')).sort()).toEqual(before);
  });

  it('names every mistake of a plan with its place, and exits 2', () => {
    const repository = makePlanned('tasks:\n  - { id: a, rn: x }\n  - { id: b, run: y, needs: [c] }\n');
    const ran = runOrch(repository, ['run', 'plan.yaml'], ranIn(repository));
    expect(ran.status).toBe(2);
    expect(ran.stderr).not.toContain('does nothing');
    expect(ran.stderr).toContain('plan.yaml:2:14: tasks[0].rn: unknown key, did you mean run?');
    expect(ran.stderr).toContain('plan.yaml:3:30: tasks[1].needs[0]: there is no task "c"');
    const missing = runOrch(repository, ['run', 'other.yaml', '--json'], ranIn(repository));
    expect(missing.status).toBe(2);
    expect(errorOf(missing)).toMatchObject({ code: 'PLAN_INVALID', message: 'there is no file other.yaml' });
  });

  it('tells its tasks where they belong, and runs them at the top of the working tree', () => {
    const repository = makePlanned(`tasks:
  - id: look
    run: ["sh", "-c", "echo $ORCH_EPIC $ORCH_TASK $ORCH_ATTEMPT $MINE >> $RAN; pwd >> $RAN; ${callOrch('record note from-a-task').replaceAll("'", '')}; echo $ORCH_RUN $ORCH_SESSION >> $RAN"]
    env: { MINE: 5 }
`);
    mkdirSync(join(repository.folder, 'sub'));
    const ran = runOrch(repository, ['run', '../plan.yaml', '--json'], {
      cwd: join(repository.folder, 'sub'),
      ...ranIn(repository),
    });
    expect(ran.status).toBe(0);
    const { run }: RunDocument = JSON.parse(ran.stdout);
    const [first, cwd, ids = ''] = readRan(repository);
    expect([first, cwd]).toEqual(['e look 1 5', repository.folder]);
    expect(ids).toMatch(new RegExp(`^${run.id} sess-\\w+$`));
    const session = runOrch(repository, ['session', 'show', '--json', '-e', 'e']).stdout;
    expect(session).toContain(ids.split(' ')[1]);
  });

  it('runs side by side what shares no files (--jobs)', () => {
    // Each waits for the other: one after the other they would never end.
    const wait = (mine: string, other: string) =>
      `"echo ${mine} >> $RAN; until grep -q ${other} $RAN; do sleep 0.02; done"`;
    const repository = makePlanned(`tasks:
  - { id: one, run: ${wait('one', 'two')}, files: [a], timeout: 30s }
  - { id: two, run: ${wait('two', 'one')}, needs: [], files: [b], timeout: 30s }
  - { id: after, run: echo after >> $RAN, needs: [one, two] }
`);
    const ran = runOrch(repository, ['run', 'plan.yaml', '--jobs', '2', '--json'], ranIn(repository));
    expect(ran.status).toBe(0);
    expect(statusesOf(JSON.parse(ran.stdout))).toEqual({
      one: 'succeeded',
      two: 'succeeded',
      after: 'succeeded',
    });
    expect(readRan(repository).at(-1)).toBe('after');
  });

  it('runs many at once, and says not a word of its own', () => {
    const tasks = Array.from(
      { length: 24 },
      (_, n) => `  - { id: t${n}, run: "true", files: [f${n}], needs: [] }\n`,
    );
    const repository = makePlanned(`tasks:\n${tasks.join('')}`);
    const ran = runOrch(repository, ['run', 'plan.yaml', '--jobs', '24'], ranIn(repository));
    expect(ran.status).toBe(0);
    expect(ran.stderr.split('\n').filter((line) => line !== '' && !line.includes('✓'))).toEqual([
      expect.stringMatching(/^plan: run-\w+ on e, session 1$/),
    ]);
  });

  it('makes fewer checkpoints than tasks that run side by side, if no files are saved in them', () => {
    const tasks = Array.from({ length: 24 }, (_, n) => `  - { id: t${n}, run: "true", needs: [] }\n`);
    const repository = makePlanned(`tasks:\n${tasks.join('')}`);
    writeConfig(repository, 'checkpoint: { snapshot: false }\n');
    expect(runOrch(repository, ['run', 'plan.yaml', '--jobs', '2'], ranIn(repository)).status).toBe(0);
    const triggers = triggersOf(repository, 'e');
    expect([triggers[0], triggers.at(-1)]).toEqual(['session_start', 'complete']);
    const made = triggers.filter((trigger) => trigger === 'task').length;
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(24);
    const { runs } = JSON.parse(runOrch(repository, ['run', '--list', '--json'], ranIn(repository)).stdout);
    expect(runs).toMatchObject([{ status: 'succeeded' }]);
  });

  it('writes a report, and lists the runs there were', () => {
    const repository = makePlanned(release);
    const report = join(repository.home, 'report.md');
    expect(runOrch(repository, ['run', 'plan.yaml', '--report', report], ranIn(repository)).status).toBe(0);
    expect(readFileSync(report, 'utf8')).toMatch(/^# release: succeeded\n/);
    // Where nothing is left to do, it is still what became of the run.
    rmSync(report);
    runOrch(repository, ['run', 'plan.yaml', '--resume', '--report', report], ranIn(repository));
    expect(readFileSync(report, 'utf8')).toMatch(/^# release: succeeded\n/);
    const { runs } = JSON.parse(runOrch(repository, ['run', '--list', '--json'], ranIn(repository)).stdout);
    expect(runs).toMatchObject([{ name: 'release', status: 'succeeded', epicId: 'e', from: null }]);
    const shown = runOrch(repository, ['run', '--list'], ranIn(repository)).stdout.split('\n');
    expect(shown[0]).toMatch(/^RUN +PLAN +STATUS +TASKS +STARTED/);
    expect(shown[1]).toMatch(/^run-\w+ +release +succeeded +3 done/);
    const wrong = runOrch(repository, ['run', 'plan.yaml', '--report', '/no/where'], ranIn(repository));
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('--report /no/where: there is no folder /no');
  });

  it.each([
    [['run'], 'no plan named'],
    [['run', 'plan.yaml', '--fresh', '--resume'], 'they cannot be combined'],
    [['run', 'plan.yaml', '--jobs', '0'], '--jobs takes a whole number from 1 to 256, not 0'],
    [['run', 'latin1.yaml'], 'latin1.yaml is not encoded in UTF-8'],
  ])('refuses %j', (args, message) => {
    const repository = makePlanned(release);
    writeFileSync(join(repository.folder, 'latin1.yaml'), release.replace('lint', 'l\xefnt'), 'latin1');
    const ran = runOrch(repository, args, ranIn(repository));
    expect(ran.status).toBe(2);
    expect(ran.stderr).toContain(message);
    expect(readRan(repository)).toEqual([]);
  });
});
