import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readText } from '../support/checkpoints.ts';
import { type Behaviour, type EffectServer, startEffectServer } from '../support/effect-server.ts';
import { errorOf } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { startSupervisor, writeConfig } from '../support/supervised.ts';

/** A server that answers every request in the same way, until it is told another. */
async function startMoody(): Promise<{ server: EffectServer; answer(behaviour: Behaviour): void }> {
  let mood: Behaviour = { status: 200 };
  const server = await startEffectServer(() => mood);
  return {
    server,
    answer: (behaviour) => {
      mood = behaviour;
    },
  };
}

function writePlan(repository: TestRepository, { url }: EffectServer, more = ''): void {
  repository.write(
    'release.yaml',
    `name: release
tasks:
  - { id: build, run: echo built >> built }
  - id: publish
    retry: { attempts: 2, backoff: 1ms }
    effects:
      - { id: tag, run: echo tagged >> tags }
      - { id: notify, request: { url: "${url}/notify"${more} } }
  - { id: last, run: echo last }
`,
  );
}

/** Runs the plan, to its end; the server answers meanwhile. */
async function run(
  repository: TestRepository,
  args: readonly string[] = [],
  env: Record<string, string> = {},
) {
  const running = startSupervisor(repository, ['run', 'release.yaml', '-e', 'x', ...args], { env });
  const status = await running.ended;
  return { status, stdout: running.stdout(), stderr: running.stderr().replace(/run-\w+/g, 'RUN') };
}

describe('orch run with effects', () => {
  it('stops with 75 where one cannot be done now, and does only what is missing on --resume', async () => {
    const repository = makeRepositoryWithCommit();
    const { server, answer } = await startMoody();
    writePlan(repository, server);
    answer({ status: 503, body: 'closed' });
    const first = await run(repository);
    expect(first.status).toBe(75);
    expect(first.stderr).toMatch(
      /^release: RUN on x, session 1\n1\/3 ✓ build +\d+s\n +notify: answered 503: closed; trying again in \d ms\n2\/3 ‖ publish +notify: answered 503: closed \(2 attempts\)\nerror: release: task 2 \(publish\) cannot continue now: notify: answered 503: closed \(2 attempts\)\n +Resume it: orch run release.yaml --resume -e x\n$/,
    );

    const plain = await run(repository);
    expect(plain.status).toBe(75);
    expect(plain.stderr).toContain('error: release: a run stopped in task 2 (publish), ');

    answer({ status: 201 });
    const again = await run(repository, ['--resume']);
    expect(again.status).toBe(0);
    expect(again.stderr).toMatch(
      /^release: RUN on x, session 2\n1\/3 – build: already done\neffect notify of publish is not done yet\n2\/3 ✓ publish +\d+s\n3\/3 ✓ last +\d+s\n$/,
    );
    expect(readText(repository.folder, 'tags')).toBe('tagged\n');
    expect(readText(repository.folder, 'built')).toBe('built\n');
    expect(new Set(server.received.map(({ key }) => key)).size).toBe(1);
  });

  it('exits 3 where one is blocked, with its reason; one that was tried and is different now waits for a choice', async () => {
    const repository = makeRepositoryWithCommit();
    const { server, answer } = await startMoody();
    writePlan(repository, server);
    answer({ status: 409, body: 'exists' });
    const blocked = await run(repository, ['--json']);
    expect(blocked.status).toBe(3);
    expect(JSON.parse(blocked.stdout).run).toMatchObject({
      status: 'blocked',
      effects: [
        { id: 'tag', status: 'acknowledged' },
        { id: 'notify', status: 'blocked' },
      ],
    });
    expect(errorOf(blocked)).toMatchObject({
      code: 'TASK_FAILED',
      message: 'release: task 2 (publish) is blocked: notify: conflict: answered 409: exists',
    });

    writePlan(repository, server, ', method: PUT');
    answer({ status: 200 });
    const asked = await run(repository, ['--resume']);
    expect(asked.status).toBe(3);
    expect(asked.stderr).toMatch(
      /is blocked: notify: it was tried as [0-9a-f]{16}, and is now [0-9a-f]{16}\. Send it as it is now: --replan notify\. Send it as planned: --as-planned notify\. If it was done: --done notify\n/,
    );
    expect(
      server.received.map(({ method }) => method),
      'nothing was sent',
    ).not.toContain('PUT');
    const again = await run(repository, ['--resume', '--replan', 'notify']);
    expect(again.status).toBe(0);
    expect(again.stderr).toContain('effect notify is sent as it is now, under a new key\n');
    expect(readText(repository.folder, 'tags'), 'what was acknowledged is not done again').toBe('tagged\n');
    expect(new Set(server.received.map(({ method, key }) => `${method} ${key}`)).size).toBe(2);
  });

  it('on another machine needs --take-over, and repeats no command that has no check', async () => {
    const repository = makeRepositoryWithCommit();
    const { server, answer } = await startMoody();
    repository.write(
      'release.yaml',
      `tasks:
  - id: publish
    retry: { attempts: 1 }
    effects:
      - { id: notify, request: { url: "${server.url}/notify" } }
      - { id: tag, run: echo tagged >> tags }
`,
    );
    answer('drops');
    expect((await run(repository, [], { ORCH_WRITER: 'w-here' })).status).toBe(75);
    answer({ status: 200 });
    const other = { ORCH_WRITER: 'w-there' };
    const refused = await run(repository, ['--resume'], other);
    expect(refused.status).toBe(5);
    expect(refused.stderr).toContain('--take-over');
    const taken = await run(repository, ['--resume', '--take-over'], other);
    expect(taken.status).toBe(3);
    expect(taken.stderr).toContain('tag: another clone may have done it, and it has no check to find out');
    expect(server.applied).toEqual(['/notify']);
    expect(new Set(server.received.map(({ key }) => key)).size).toBe(1);
    // The run is this clone's by now, and what the other one may have done is as unknown as before.
    expect((await run(repository, ['--resume'], other)).status).toBe(3);
    expect(existsSync(join(repository.folder, 'tags'))).toBe(false);
    const done = await run(repository, ['--resume', '--done', 'tag'], other);
    expect(done.status).toBe(0);
    expect(done.stderr).toContain('effect tag counts as done because you say so\n');
    expect(existsSync(join(repository.folder, 'tags'))).toBe(false);
  });

  it('can be seen in git before the first is tried, whatever the policy', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { on: [], interval: off }\n');
    const seen: string[] = [];
    const server = await startEffectServer(({ key }) => {
      const paths = repository.git('ls-tree', '-r', '--name-only', 'orchestration/epics/x').split('\n');
      const planned = paths.find((path) => path.endsWith('/planned-writeback.json'));
      if (repository.git('show', `orchestration/epics/x:${planned}`).includes(key)) seen.push(key);
      return { status: 200 };
    });
    writePlan(repository, server);
    expect((await run(repository)).status).toBe(0);
    expect(seen).toEqual(server.received.map(({ key }) => key));
  });

  it('is stopped by Ctrl+C with a request in the air, and asks again with its key', async () => {
    const repository = makeRepositoryWithCommit();
    let running: ReturnType<typeof startSupervisor> | null = null;
    const server = await startEffectServer((_, nth) => {
      if (nth === 1) running?.signal('SIGINT');
      return nth === 1 ? 'hangs' : { status: 200 };
    });
    writePlan(repository, server);
    running = startSupervisor(repository, ['run', 'release.yaml', '-e', 'x']);
    expect(await running.ended).toBe(130);
    expect((await run(repository, ['--resume'])).status).toBe(0);
    expect(server.received).toHaveLength(2);
    expect(new Set(server.received.map(({ key }) => key)).size).toBe(1);
  });
});
