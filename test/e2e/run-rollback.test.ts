import { describe, expect, it } from 'vitest';
import { isDeep } from '../support/depth.ts';
import { startEffectServer } from '../support/effect-server.ts';
import { useOwnProcesses } from '../support/hosted.ts';
import { errorOf, type Ran, runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn, readRan, statusesOf } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';
import { shapeOf } from '../support/shapes.ts';
import { startSupervisor, waitUntil } from '../support/supervised.ts';

useOwnProcesses(); // tasks write into the test's own files

const undoable = (more = '') => `name: p
${more}tasks:
  - { id: a, run: echo a >> $RAN, undo: echo undo a >> $RAN }
  - { id: 2, run: echo 2 >> $RAN, undo: test ! -e stuck && echo undo 2 >> $RAN, retry: { attempts: 1 } }
  - { id: 1, run: echo 1 >> $RAN, undo: echo undo 1 >> $RAN }
  - { id: plain, run: echo plain >> $RAN }
  - { id: last, run: test -e fixed && echo last >> $RAN }
`;

const run = (repository: TestRepository, ...args: string[]): Ran =>
  runOrch(repository, ['run', 'plan.yaml', ...args], ranIn(repository));
const documentOf = ({ stdout }: Ran): RunDocument => JSON.parse(stdout);

describe('a rollback', () => {
  it('undoes what was done last first, whatever the ids are, and can be resumed after', () => {
    const repository = makePlanned(undoable());
    expect(run(repository).status).toBe(3);
    expect(run(repository, '--rollback', '--dry-run').status).toBe(0);
    expect(readRan(repository)).toEqual(['a', '2', '1', 'plain']);
    const undone = run(repository, '--rollback');
    expect(undone).toMatchObject({ status: 0 });
    // An older orch would take what was undone for damage, so the records say that they are newer.
    const head = repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e').split('\n');
    const path = head.find((name) => name.endsWith('/head.json')) ?? '';
    expect(JSON.parse(repository.git('show', `refs/orchestration/epics/e:${path}`))).toMatchObject({
      format: 2,
    });
    expect(readRan(repository).slice(4)).toEqual(['undo 1', 'undo 2', 'undo a']);
    expect(run(repository, '--rollback').stdout).toContain('is undone already; nothing left to undo');
    repository.write('fixed', '');
    expect(run(repository, '--resume')).toMatchObject({ status: 0 });
    // What had no undo is done again too, because what it needs is.
    expect(readRan(repository).slice(7)).toEqual(['a', '2', '1', 'plain', 'last']);
  });

  it('sends an undo that is a request with one key until it is answered; what is done again has another', async () => {
    const server = await startEffectServer(({ path }, nth) => ({
      status: path === '/undo' && nth < 3 ? 503 : 200,
    }));
    const request = (method: string, path: string) =>
      `request: { method: ${method}, url: "${server.url}${path}" }`;
    const repository = makePlanned(`name: p
tasks:
  - id: a
    retry: { attempts: 3, backoff: 1ms }
    effects: [{ id: make, ${request('POST', '/make')}, undo: { ${request('DELETE', '/undo')} } }]
`);
    for (const args of [[], ['--rollback'], ['--resume']])
      expect(await startSupervisor(repository, ['run', 'plan.yaml', ...args], ranIn(repository)).ended).toBe(
        0,
      );
    const [first, undo, again, more, last] = server.received.map(({ path, key }) => ({ path, key }));
    expect([first?.path, undo?.path, last?.path]).toEqual(['/make', '/undo', '/make']);
    expect([again, more]).toEqual([undo, undo]);
    expect(new Set([first?.key, undo?.key, last?.key]).size).toBe(3);
  });

  it('of its own accord exits 3, and its JSON says what was undone', () => {
    const repository = makePlanned(undoable('on_failure: rollback\n'));
    const ran = run(repository, '--json');
    expect(ran.status).toBe(3);
    expect(errorOf(ran)).toMatchObject({ code: 'TASK_FAILED' });
    const { run: document } = JSON.parse(ran.stdout);
    expect(document.status).toBe('failed');
    expect(shapeOf(document.rollback)).toEqual({
      status: 'string',
      undone: [{ task: 'string', effect: 'null' }],
      kept: [{ task: 'string', effect: 'null', why: 'string' }],
    });
    expect(document.rollback.undone.map(({ task }: { task: string }) => task)).toEqual(['1', '2', 'a']);
    expect(document.rollback.status).toBe('done');
  });

  it('that cannot continue keeps the run from being resumed until it is complete', () => {
    const repository = makePlanned(undoable());
    run(repository);
    repository.write('stuck', '');
    const stopped = run(repository, '--rollback', '--json');
    expect(stopped.status).toBe(3);
    expect(errorOf(stopped).hint).toContain('--rollback');
    const resumed = run(repository, '--resume', '--json');
    expect(resumed.status).toBe(75);
    expect(errorOf(resumed)).toMatchObject({ code: 'RESUME_NEEDED' });
    // The plan is edited in between.
    repository.write('plan.yaml', undoable().replace('test ! -e stuck && echo undo 2', 'echo undo two'));
    expect(run(repository, '--rollback')).toMatchObject({ status: 0 });
    expect(readRan(repository).slice(4)).toEqual(['undo 1', 'undo two', 'undo a']);
  });

  it('is refused while the run is active, and undoes one that succeeded', async () => {
    const repository = makePlanned(
      'name: p\ntasks: [{ id: a, run: "echo a >> $RAN; while test ! -e go; do sleep 0.05; done", undo: echo undo >> $RAN }]',
    );
    const runner = startSupervisor(repository, ['run', 'plan.yaml'], ranIn(repository));
    await waitUntil(() => readRan(repository).length > 0);
    const refused = run(repository, '--rollback', '--json');
    expect(errorOf(refused)).toMatchObject({ code: 'SESSION_ACTIVE' });
    repository.write('go', '');
    expect(await runner.ended).toBe(0);
    expect(run(repository, '--rollback')).toMatchObject({ status: 0 });
    expect(readRan(repository)).toEqual(['a', 'undo']);
  });
});

it('a value is set within a task, and nowhere else', () => {
  const repository = makePlanned('tasks: [{ id: a, run: x }]');
  const ran = runOrch(repository, ['run', 'set', 'X', '1', '--json']);
  expect(ran.status).toBe(2);
  expect(errorOf(ran)).toMatchObject({
    code: 'USAGE',
    message: 'orch run set works only within a task of orch run',
  });
});

describe('a plan that was edited between two runs', () => {
  const plan = ({ when = "values.N == '1'", items = 'x, y', attempts = 2 } = {}) => `name: p
tasks:
  - { id: a, run: 'echo a >> $RAN; echo "{\\"N\\": 1}"' }
  - { id: chosen, when: "${when}", run: echo chosen >> $RAN }
  - { id: each, foreach: [${items}], run: echo "$ORCH_ITEM" >> $RAN, needs: [a] }
  - id: loop
    needs: [each]
    repeat: { attempts: ${attempts}, backoff: 1ms }
    tasks: [{ id: try, run: echo try >> $RAN; test -e fixed }]
`;

  it('decides again what the edit is about, and runs only what is new', () => {
    const repository = makePlanned(plan({ when: "values.N == '2'" }));
    expect(run(repository).status).toBe(3);
    expect(readRan(repository)).toEqual(['a', 'x', 'y', 'try', 'try']);
    repository.write('plan.yaml', plan({ items: 'new, x, y', attempts: 3 }));
    expect(run(repository, '--resume').status).toBe(3);
    expect(readRan(repository).slice(5).sort()).toEqual(['chosen', 'new', 'try', 'try', 'try']);
    repository.write('fixed', '');
    const last = run(repository, '--resume', '--json');
    expect(statusesOf(documentOf(last))).toMatchObject({ chosen: 'succeeded', loop: 'succeeded' });
    expect(readRan(repository).slice(10)).toEqual(['try']);
  });
});

it('many tasks that fail at once are reported in a few lines, and all of them are tried again', () => {
  const count = isDeep ? 10_000 : 300;
  const items = Array.from({ length: count }, (_, n) => n).join(', ');
  const repository = makePlanned(
    `name: p\ntasks: [{ id: each, foreach: [${items}], run: [test, -e, fixed] }, { id: after, run: echo after >> $RAN }]`,
  );
  const failed = run(repository, '--jobs', '8', '--json');
  expect(failed.status).toBe(3);
  const statuses = Object.values(statusesOf(documentOf(failed)));
  expect(statuses.filter((status) => status === 'failed')).toHaveLength(count + 1);
  expect(errorOf(failed).message.length).toBeLessThan(500);
  repository.write('fixed', '');
  expect(run(repository, '--jobs', '8', '--resume', '--json').status).toBe(0);
  expect(readRan(repository)).toEqual(['after']);
});
