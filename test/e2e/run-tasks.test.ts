import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type RunEvent, runPlan } from '../../src/index.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { isAlive, readWhenThere, waitUntil } from '../support/supervised.ts';

/** Runs a plan as a program does, and gives what became of it with all that was told. */
async function run(repository: TestRepository, tasks: string, signal?: AbortSignal) {
  const events: RunEvent[] = [];
  const plan = parsePlan(`name: p\ntasks:\n${tasks}`, 'p.yaml');
  const onEvent = (event: RunEvent) => events.push(event);
  const options = { epicId: 'e', onEvent, ...(signal && { signal }) };
  const info = await runPlan(plan, options, { cwd: repository.folder, settings: { snapshot: false } });
  const failures = events.flatMap((event) =>
    event.kind === 'ended' && event.status === 'failed' ? [`${event.task.id}: ${event.reason}`] : [],
  );
  return { info, events, failures };
}

const logsOf = ({ folder }: TestRepository, id: string) => join(folder, '.git', 'orchestration', 'logs', id);

describe('a task', () => {
  it('that takes too long is ended with all it started, also what left it and what hears no signal', async () => {
    const repository = makeRepositoryWithCommit();
    const pids = join(repository.home, 'pids');
    const stubborn = "trap '' TERM INT HUP; echo $$ >> $PIDS; while :; do sleep 0.1; done";
    const forks = `setsid sh -c "${stubborn.replaceAll('$', '\\$')}" & (sleep 60 & echo $! >> $PIDS); wait`;
    const { failures, info } = await run(
      repository,
      `  - id: hang\n    run: ${JSON.stringify(forks)}\n    timeout: 2s\n    env: { PIDS: ${pids} }\n`,
    );
    expect(failures).toEqual(['hang: timed out after 2s']);
    expect(info.status).toBe('failed');
    const left = readFileSync(pids, 'utf8').trim().split('\n').map(Number);
    expect(left).toHaveLength(2);
    expect(left.filter(isAlive)).toEqual([]);
  }, 30_000);

  it('that prints without end fills no disk, and what it printed last can be read', async () => {
    const repository = makeRepositoryWithCommit();
    const { info } = await run(
      repository,
      '  - { id: loud, run: "yes 0123456789 | head -c 45000000; echo the end" }\n',
    );
    expect(info.status).toBe('succeeded');
    const folder = logsOf(repository, info.id);
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(20 * 1024 * 1024);
    expect(readFileSync(join(folder, 'loud.log'), 'utf8').slice(-8)).toBe('the end\n');
  }, 30_000);

  it.each([
    ['{ id: t, run: exit 7 }', 'exit status 7'],
    ['{ id: t, run: "kill -9 $$" }', 'ended by SIGKILL'],
    ['{ id: t, run: [no-such-program-here] }', 'could not be started: no-such-program-here: not found'],
    ['{ id: t, run: "true", artifacts: [dist/app.js] }', 'its artifact dist/app.js does not exist'],
    ['{ id: t, run: mkdir dist, artifacts: [dist] }', 'its artifact dist is not a file'],
    ['{ id: t, run: "true", artifacts: [out/x] }', 'its artifact out/x is a link out of the repository'],
  ])('%s fails, and says why', async (task, reason) => {
    const repository = makeRepositoryWithCommit();
    symlinkSync(repository.home, join(repository.folder, 'out'));
    repository.write('../x', 'of somebody else');
    const { failures } = await run(repository, `  - ${task}\n`);
    expect(failures).toEqual([`t: ${reason}`]);
  });

  it('is tried as often as it may be, and no more; its artifacts are registered when it succeeds', async () => {
    const repository = makeRepositoryWithCommit();
    const twice = 'test $ORCH_ATTEMPT = 2 && echo made > made.txt';
    const { info, events, failures } = await run(
      repository,
      `  - { id: good, run: "${twice}", retry: { attempts: 3, backoff: 1ms }, artifacts: [made.txt] }\n` +
        '  - { id: bad, run: "false", retry: { attempts: 2, backoff: 1ms } }\n',
    );
    expect(info.tasks.map(({ id, status, attempts }) => [id, status, attempts])).toEqual([
      ['good', 'succeeded', 2],
      ['bad', 'failed', 2],
    ]);
    expect(failures).toEqual(['bad: exit status 1']);
    expect(events.flatMap((event) => (event.kind === 'retry' ? [event.task.id] : []))).toEqual([
      'good',
      'bad',
    ]);
    const registered = repository.git(
      'show',
      'refs/orchestration/epics/e:.orchestration/checkpoints/e/brief.md',
    );
    expect(registered).toContain('bad failed');
    const names = repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e').split('\n');
    const shard = names.find((name) => name.endsWith(`/runs/${info.id}/tasks/all.jsonl`)) ?? '';
    const lines = repository.git('show', `refs/orchestration/epics/e:${shard}`).split('\n');
    const tasks = lines.map((line) => JSON.parse(line));
    expect(tasks.map(({ key, value }) => [key, value.status])).toEqual([
      ['bad', 'failed'],
      ['good', 'succeeded'],
    ]);
    expect(tasks.at(1)?.value.artifacts).toEqual([
      { path: 'made.txt', sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 5 },
    ]);
    // A failed run can be resumed, so what it made stays.
    expect(names.find((name) => name.endsWith(`artifacts/${info.id}/files/made.txt`))).toBeDefined();
  }, 30_000);

  it('that is at work when the program wants to end is ended, and the run can be resumed', async () => {
    const repository = makeRepositoryWithCommit();
    const stop = new AbortController();
    const pid = join(repository.home, 'pid');
    const running = run(repository, `  - { id: t, run: "echo $$ > ${pid}; sleep 60" }\n`, stop.signal);
    const child = Number(await readWhenThere(pid));
    stop.abort();
    const { info } = await running;
    expect(info.status).toBe('resume_needed');
    await waitUntil(() => !isAlive(child));
  }, 30_000);
});
