import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CollectedSpan, startCollector } from '../support/collector.ts';
import { makeConvoyed, ranEnvironment } from '../support/convoys.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { callOrch, startSupervisor, waitUntil, writeConfig } from '../support/supervised.ts';

const trusted = { ORCH_TRUST: '1' };
const plan = `name: auth
worker: { agent: sh ./agent.sh, attempts: 2 }
tasks:
  - { id: login, prompt: a prompt for login }
  - { id: logout, prompt: a prompt for logout }
`;
const costs = callOrch('record cost 0.25 --model claude-sonnet-4-5 --input 100 --output 20 -q');
/** The first attempt at `logout` fails; each worker notes what it was told about its span. */
const work = `login) echo "$ORCH_SESSION $TRACEPARENT $ORCH_TELEMETRY" >> "$RAN.told"; ${costs}; echo l > login.txt;;
logout) echo "$ORCH_SESSION $TRACEPARENT $ORCH_TELEMETRY" >> "$RAN.told"; [ "$ORCH_ATTEMPT" = 2 ] || exit 1; echo o > logout.txt;;`;

/** Runs a command while servers of this test answer. */
async function call(repository: TestRepository, args: readonly string[], env: Record<string, string> = {}) {
  const began = performance.now();
  const all = { ...ranEnvironment(repository), ...trusted, ...env };
  const process = startSupervisor(repository, args, { env: all });
  const status = await process.ended;
  return { status, stderr: process.stderr(), took: performance.now() - began };
}

function treeOf(spans: readonly CollectedSpan[]): string[] {
  const nameOf = (id: string | null) => spans.find((span) => span.id === id)?.name ?? id ?? '-';
  return [...new Set(spans.map(({ name, parent }) => `${nameOf(parent)} > ${name}`))].sort();
}

const agentsOf = (spans: readonly CollectedSpan[]) => spans.filter(({ name }) => name === 'invoke_agent sh');

describe('a convoy', () => {
  it('is one trace of its run, its tasks, their workers and the gates, with what they used', async () => {
    const collector = await startCollector();
    const repository = makeConvoyed(plan, work, 'echo from the gate\n');
    // Only in the checkout of the user: workers in their worktrees do not see it.
    writeConfig(repository, 'telemetry: true\ngates:\n  - { name: check, run: sh ./gate.sh }\n');
    const { status, stderr } = await call(
      repository,
      ['convoy', 'start', 'plan.yaml'],
      collector.environment,
    );
    expect(status, stderr).toBe(0);
    await waitUntil(() => agentsOf(collector.spans()).length === 3 && collector.points().length >= 8);
    const spans = collector.spans();
    expect(treeOf(spans)).toEqual([
      '- > convoy auth',
      'convoy auth > gate check',
      'convoy auth > task login',
      'convoy auth > task logout',
      'task login > invoke_agent sh',
      'task logout > invoke_agent sh',
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length);

    const agents = agentsOf(spans).map(({ attributes, error }): CollectedSpan['attributes'] => ({
      ...attributes,
      ...(error !== null && { error }),
    }));
    expect(agents.find((agent) => agent['orch.task'] === 'login')).toMatchObject({
      ...{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.provider.name': 'anthropic' },
      ...{ 'gen_ai.agent.name': 'sh', 'gen_ai.request.model': 'claude-sonnet-4-5' },
      ...{ 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, 'orch.cost_usd': 0.25 },
      ...{ 'orch.epic': 'auth--login', 'orch.attempt': 1 },
    });
    const ofLogout = agents.filter((agent) => agent['orch.task'] === 'logout');
    expect(ofLogout.map((agent) => [agent['orch.attempt'], agent['error.type'], agent.error]).sort()).toEqual(
      [
        [1, 'failed', 'sh ended with status 1'],
        [2, undefined, undefined],
      ],
    );

    // Each worker is told its own span, and not what was for its supervisor.
    const told = readFileSync(join(repository.home, 'ran.told'), 'utf8').trim().split('\n').sort();
    const expected = agentsOf(spans).map(
      ({ attributes, traceId, id }) => `${attributes['orch.session']} 00-${traceId}-${id}-01 `,
    );
    expect(told.map((line) => `${line.trim()} `)).toEqual(expected.sort());

    const points = collector.points().map(({ metric, unit, value, attributes }) => {
      const kind = attributes['gen_ai.token.type'] ?? attributes['orch.task.status'] ?? '';
      return metric.endsWith('duration') ? `${metric} ${unit}` : `${metric} ${unit} ${kind} ${value}`;
    });
    expect(points.sort()).toEqual([
      'gen_ai.client.operation.duration s',
      'gen_ai.client.operation.duration s',
      'gen_ai.client.operation.duration s',
      'gen_ai.client.token.usage {token} input 100',
      'gen_ai.client.token.usage {token} output 20',
      'gen_ai.workflow.duration s',
      'orch.cost USD  0.25',
      'orch.tasks {task} succeeded 2',
    ]);
    const sent = collector.received.map(({ body }) => body).join('\n');
    for (const secret of ['a prompt', 'from the gate', 'login.txt', repository.folder])
      expect(sent).not.toContain(secret);
  });

  it('stays one trace, in that of its caller, if its scheduler dies', async () => {
    const collector = await startCollector();
    const repository = makeConvoyed(
      plan,
      `login) echo l > login.txt;; logout) while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo o > logout.txt;;`,
    );
    writeConfig(repository, 'telemetry: true\n');
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const env = {
      ...{ ...ranEnvironment(repository), ...trusted, ...collector.environment },
      TRACEPARENT: `00-${traceId}-00f067aa0ba902b7-01`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
    const scheduler = startSupervisor(repository, ['convoy', 'start', 'plan.yaml'], { env });
    await waitUntil(() => collector.spans().some(({ name }) => name === 'task login'), scheduler.stderr);
    scheduler.signal('SIGKILL');
    await scheduler.ended;
    writeFileSync(join(repository.home, 'ran.go'), '');
    const { status, stderr } = await call(repository, ['convoy', 'resume'], env);
    expect(status, stderr).toBe(0);
    await waitUntil(() => agentsOf(collector.spans()).length === 2);
    const spans = collector.spans();
    expect(treeOf(spans)).toEqual([
      '00f067aa0ba902b7 > convoy auth',
      'convoy auth > task login',
      'convoy auth > task logout',
      'task login > invoke_agent sh',
      'task logout > invoke_agent sh',
    ]);
    expect(spans).toHaveLength(5);
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const [whole, late] = ['convoy auth', 'task logout'].map((called) =>
      spans.find(({ name }) => name === called),
    );
    // From when the first scheduler began it.
    expect(late?.ms).toBeGreaterThan(spans.find(({ name }) => name === 'task login')?.ms ?? 0);
    expect(whole?.ms).toBeGreaterThan(late?.ms ?? 0);
  });

  it.each<[what: string, open: () => Promise<string>, says: RegExp]>([
    ['is down', closedPort, /telemetry is not sent: .*ECONNREFUSED/],
    [
      'never answers',
      async () => (await startCollector(() => 'hangs')).url,
      /telemetry is not sent: Request timed out/,
    ],
    [
      'answers 500',
      async () => (await startCollector(() => ({ status: 500 }))).url,
      /telemetry is not sent: /,
    ],
    ['is not one', async () => (await startCollector(() => 'babbles')).url, /telemetry is not sent: /],
  ])('does not wait for a collector that %s', async (_, open, says) => {
    const repository = makeConvoyed(plan, work);
    writeConfig(repository, 'telemetry: true\n');
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: await open() };
    const scheduler = startSupervisor(repository, ['convoy', 'start', 'plan.yaml'], {
      env: { ...ranEnvironment(repository), ...trusted, ...env },
    });
    let ended = 0;
    await waitUntil(() => {
      ended = performance.now();
      return scheduler.stderr().includes('2/2 ✓ logout');
    }, scheduler.stderr);
    const status = await scheduler.ended;
    // Nothing but the last call, at the very end.
    expect(performance.now() - ended).toBeLessThan(8_000);
    expect(status, scheduler.stderr()).toBe(0);
    expect(scheduler.stderr().match(/telemetry is not sent/g)).toHaveLength(1);
    expect(scheduler.stderr()).toMatch(says);
    expect(scheduler.stderr()).not.toContain('was kept');
  });
});

/** An address on which nothing listens. */
async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

describe('a session started by hand', () => {
  it('is one invoke_agent', async () => {
    const collector = await startCollector();
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'telemetry: true\n');
    const script = `${costs}; echo "$TRACEPARENT" > '${join(repository.home, 'told')}'`;
    const args = ['start', '-e', 'auth', '--agent', 'claude', '--', 'sh', '-c', script];
    const { status, stderr } = await call(repository, args, collector.environment);
    expect(status, stderr).toBe(0);
    const spans = collector.spans();
    expect(spans).toMatchObject([
      {
        ...{ name: 'invoke_agent claude', parent: null, error: null },
        attributes: { 'gen_ai.usage.input_tokens': 100, 'orch.cost_usd': 0.25, 'orch.epic': 'auth' },
      },
    ]);
    const told = readFileSync(join(repository.home, 'told'), 'utf8').trim();
    expect(told).toBe(`00-${spans[0]?.traceId}-${spans[0]?.id}-01`);
  });

  it.each([
    ['without the setting', '', {}],
    ['without approval', 'telemetry: true\n', { ORCH_TRUST: '' }],
    ['if the SDK is disabled', 'telemetry: true\n', { OTEL_SDK_DISABLED: 'true' }],
    ['without an endpoint', 'telemetry: true\n', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ])('sends nothing and loads nothing %s', async (_, config, env) => {
    const collector = await startCollector();
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, config);
    const [hook, loaded] = [join(repository.home, 'hook.cjs'), join(repository.home, 'loaded')];
    writeFileSync(
      hook,
      `process.on('exit', () => require('node:fs').appendFileSync(${JSON.stringify(loaded)}, Object.keys(require.cache).join('\\n')));`,
    );
    const options = { ...collector.environment, NODE_OPTIONS: `--require ${hook}`, ...env };
    const script = `env > '${join(repository.home, 'env')}'`;
    const { status, stderr } = await call(
      repository,
      ['start', '-e', 'a', '--', 'sh', '-c', script],
      options,
    );
    expect(status, stderr).toBe(0);
    expect(collector.received).toEqual([]);
    expect(readFileSync(join(repository.home, 'env'), 'utf8')).not.toContain('TRACEPARENT');
    expect(existsSync(loaded)).toBe(true);
    const files = readFileSync(loaded, 'utf8');
    expect(files).toContain('start.cjs');
    expect(files).not.toMatch(/telemetry|opentelemetry/);
  });
});
