import { describe, expect, it } from 'vitest';
import { readText } from '../support/checkpoints.ts';
import { type Behaviour, startEffectServer } from '../support/effect-server.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { type Supervisor, startSupervisor } from '../support/supervised.ts';

type Death = { readonly path: string; readonly behaviour: Behaviour };

describe('orch run, killed with SIGKILL', () => {
  it('I2: at each point of a request does each effect once, in order', async () => {
    const repository = makeRepositoryWithCommit();
    // Killed before the server did anything, after it did, and with its answer on the way.
    const deaths: Death[] = [
      { path: '/one', behaviour: 'refuses' },
      { path: '/one', behaviour: 'drops' },
      { path: '/two', behaviour: { status: 200 } },
      { path: '/three', behaviour: 'refuses' },
      { path: '/three', behaviour: { status: 200 } },
    ];
    let running: Supervisor | null = null;
    const server = await startEffectServer(({ path }) => {
      const [next] = deaths;
      if (next?.path !== path) return { status: 200 };
      deaths.shift();
      running?.signal('SIGKILL');
      return next.behaviour;
    });
    const effects = ['one', 'two', 'three'].map(
      (id) => `      - { id: ${id}, request: { url: "${server.url}/${id}" } }\n`,
    );
    repository.write(
      'plan.yaml',
      `tasks:\n  - id: build\n    run: echo built >> built\n  - id: publish\n    effects:\n${effects.join('')}`,
    );
    const args = ['run', 'plan.yaml', '--epic', 'x', '--json'];
    let status: number | null = null;
    for (let round = 0; status !== 0; round++) {
      expect(round).toBeLessThanOrEqual(5);
      running = startSupervisor(repository, round === 0 ? args : [...args, '--resume']);
      status = await running.ended;
      if (status !== 0) expect({ status, stderr: running.stderr() }).toMatchObject({ status: null });
    }
    const { run } = JSON.parse(running?.stdout() ?? '');
    expect(run.status).toBe('succeeded');
    expect(server.applied).toEqual(['/one', '/two', '/three']);
    const keys = server.received.map(({ path, key }) => `${path} ${key}`);
    const ids = ['one', 'two', 'three'];
    expect([...new Set(keys)]).toEqual(ids.map((id, index) => `/${id} ${run.effects[index].key}`));
    // Never out of order: the keys came one after the other.
    expect(keys).toEqual([...keys].sort((a, b) => keys.indexOf(a) - keys.indexOf(b)));
    expect(readText(repository.folder, 'built'), 'what succeeded does not run again').toBe('built\n');
    const file = `orchestration/epics/x:.orchestration/checkpoints/x/artifacts/${run.id}/writeback.json`;
    expect(JSON.parse(repository.git('show', file)).effects).toHaveLength(3);
  });

  it('after a command did its part: the check finds it, and it is not repeated', async () => {
    const repository = makeRepositoryWithCommit();
    const effect = `{ id: tag, run: "echo $ORCH_IDEMPOTENCY_KEY >> tags; kill -9 $PPID", check: test -s tags }`;
    repository.write('plan.yaml', `tasks:\n  - id: publish\n    effects:\n      - ${effect}\n`);
    const args = ['run', 'plan.yaml', '--epic', 'x', '--json'];
    expect(await startSupervisor(repository, args).ended).toBe(null);
    const again = startSupervisor(repository, [...args, '--resume']);
    expect({ status: await again.ended, stderr: again.stderr() }).toMatchObject({ status: 0 });
    const { run } = JSON.parse(again.stdout());
    expect(run.effects).toEqual([
      { id: 'tag', key: readText(repository.folder, 'tags').trim(), status: 'acknowledged' },
    ]);
  });
});
