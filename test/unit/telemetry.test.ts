import { describe, expect, it } from 'vitest';
import { noUsage, type Usage } from '../../src/cost/ledger.ts';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import {
  describeGate,
  describeRun,
  describeSession,
  describeTask,
  placeRun,
  placeTask,
  type RunName,
  type SessionFacts,
} from '../../src/telemetry/spans.ts';
import { formatWork, namesCollector, parseWork } from '../../src/telemetry/telemetry.ts';
import { formatTraceparent, parseTraceparent, placeSpan } from '../../src/telemetry/trace-context.ts';

const [epic, session] = [parseEpicId('auth'), parseSessionId('sess-7hq2m4')];
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const outside = { traceId, spanId, isSampled: true };

describe('a traceparent', () => {
  it.each<[text: string | undefined, found: ReturnType<typeof parseTraceparent>]>([
    [`00-${traceId}-${spanId}-01`, outside],
    [`00-${traceId}-${spanId}-00`, { ...outside, isSampled: false }],
    [`00-${traceId}-${spanId}-03`, outside],
    // A later version may have more to say.
    [`cc-${traceId}-${spanId}-01-what-comes`, outside],
    [`00-${traceId}-${spanId}-01-more`, null],
    [`ff-${traceId}-${spanId}-01`, null],
    [`00-${'0'.repeat(32)}-${spanId}-01`, null],
    [`00-${traceId}-${'0'.repeat(16)}-01`, null],
    [`00-${traceId.toUpperCase()}-${spanId}-01`, null],
    [`00-${traceId}-${spanId}`, null],
    ['', null],
    [undefined, null],
  ])('%s is read', (text, found) => {
    expect(parseTraceparent(text)).toEqual(found);
  });

  it('is valid for every place, and the same for the same key', () => {
    for (const parent of [null, outside, { ...outside, isSampled: false }])
      for (const key of ['', 'run-1', 'ü'.repeat(100)]) {
        const place = placeSpan(parent, 'run', key);
        const { traceId: trace, spanId: span, isSampled } = place;
        expect(parseTraceparent(formatTraceparent(place))).toEqual({
          traceId: trace,
          spanId: span,
          isSampled,
        });
        expect(placeSpan(parent, 'run', key)).toEqual(place);
        expect(place.parent).toBe(parent);
        expect(isSampled).toBe(parent?.isSampled ?? true);
      }
  });
});

describe('what a run exports', () => {
  const name: RunName = { epic, session, run: 'run-1', isConvoy: true };
  const run = placeRun('run-1', null);

  it('is one trace, or part of the trace of its caller', () => {
    const task = placeTask(run, 'run-1', 'login');
    expect(task).toMatchObject({ traceId: run.traceId, parent: run });
    expect(new Set([run, task, placeTask(run, 'run-1', 'logout')].map((place) => place.spanId)).size).toBe(3);
    expect(placeRun('run-1', outside)).toMatchObject({ traceId, parent: outside, spanId: run.spanId });
    expect(placeRun('run-2', null).traceId).not.toBe(run.traceId);
  });

  it.each([
    [true, 'succeeded', null, 'convoy auth', null],
    [true, 'failed', 'login failed', 'convoy auth', { type: 'run_failed', reason: 'login failed' }],
    [false, 'blocked', null, 'run auth', { type: 'run_blocked', reason: 'blocked' }],
  ])('is its span (convoy: %s, %s)', (isConvoy, status, reason, called, error) => {
    const { spans, measurements } = describeRun(
      run,
      { ...name, isConvoy },
      { status, reason, startedAt: 1_000, endedAt: 3_500 },
    );
    expect(spans).toEqual([
      {
        ...{ place: run, name: called, startedAt: 1_000, endedAt: 3_500, error },
        attributes: {
          'gen_ai.operation.name': 'invoke_workflow',
          'gen_ai.workflow.name': 'auth',
          ...{ 'orch.epic': 'auth', 'orch.session': session, 'orch.run': 'run-1', 'orch.run.status': status },
        },
      },
    ]);
    expect(measurements).toMatchObject([{ metric: 'gen_ai.workflow.duration', value: 2.5 }]);
  });

  it.each([
    ['succeeded', 2, 1, null],
    ['failed', 3, 1, { type: 'task_failed', reason: 'why' }],
    // It was never begun, so there is nothing that took time.
    ['skipped', 0, 0, null],
  ] as const)('is a task that %s after %s attempts', (status, attempts, count, error) => {
    const place = placeTask(run, 'run-1', 'login');
    const end = { task: 'login', status, attempts, reason: 'why', startedAt: 1, endedAt: 2 };
    const { spans, measurements } = describeTask(place, name, end);
    expect(spans).toHaveLength(count);
    for (const span of spans) expect(span).toMatchObject({ name: 'task login', error });
    expect(measurements).toEqual([
      { metric: 'orch.tasks', value: 1, attributes: { 'orch.epic': 'auth', 'orch.task.status': status } },
    ]);
  });

  it.each([
    ['passed', null],
    ['skipped', null],
    ['failed', { type: 'gate_failed', reason: 'test failed' }],
    ['timed_out', { type: 'gate_timed_out', reason: 'test timed out' }],
  ] as const)('is a gate that %s, without what it printed', (status, error) => {
    const at = (startedAt: number) =>
      describeGate(run, name, { gate: 'test', status, startedAt, endedAt: 9 }).spans[0];
    expect(at(1)).toMatchObject({ name: 'gate test', error, place: { parent: run } });
    expect(at(1)?.place.spanId).not.toBe(at(2)?.place.spanId);
  });
});

describe('what a session exports', () => {
  const facts: SessionFacts = {
    ...{ epic, session, agent: 'claude', work: null, status: 'completed', reason: 'claude ended ok' },
    ...{ startedAt: 10_000, endedAt: 70_000, used: new Map<string, Usage>() },
  };
  const place = placeSpan(outside, 'session', session);
  const sonnet: Usage = {
    ...noUsage,
    micros: 2_000_000,
    input: 10,
    output: 20,
    cacheRead: 30,
    cacheWrite: 40,
  };
  const haiku: Usage = { ...noUsage, micros: 500_000, input: 1, output: 200 };
  const spanOf = (more: Partial<SessionFacts>) => describeSession(place, { ...facts, ...more }).spans[0];

  it('is one invoke_agent with its tokens, cached ones included, and its cost', () => {
    const used = new Map([
      ['claude-haiku-4-5', haiku],
      ['claude-sonnet-4-5', sonnet],
    ]);
    const { spans, measurements } = describeSession(place, {
      ...{ ...facts, used, work: { task: 'login', attempt: 2 } },
    });
    expect(spans).toEqual([
      {
        ...{ place, name: 'invoke_agent claude', startedAt: 10_000, endedAt: 70_000, error: null },
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.provider.name': 'anthropic',
          'gen_ai.agent.name': 'claude',
          'gen_ai.request.model': 'claude-sonnet-4-5',
          'gen_ai.usage.input_tokens': 81,
          'gen_ai.usage.output_tokens': 220,
          'gen_ai.usage.cache_read.input_tokens': 30,
          'gen_ai.usage.cache_creation.input_tokens': 40,
          'orch.epic': 'auth',
          'orch.session': session,
          'orch.session.status': 'completed',
          'orch.task': 'login',
          'orch.attempt': 2,
          'orch.cost_usd': 2.5,
        },
      },
    ]);
    const seen = measurements.map(({ metric, value, attributes }) => {
      return [metric, attributes['gen_ai.request.model'], attributes['gen_ai.token.type'], value];
    });
    expect(seen).toEqual([
      ['gen_ai.client.token.usage', 'claude-haiku-4-5', 'input', 1],
      ['gen_ai.client.token.usage', 'claude-haiku-4-5', 'output', 200],
      ['gen_ai.client.token.usage', 'claude-sonnet-4-5', 'input', 80],
      ['gen_ai.client.token.usage', 'claude-sonnet-4-5', 'output', 20],
      ['gen_ai.client.operation.duration', 'claude-sonnet-4-5', undefined, 60],
      ['orch.cost', 'claude-haiku-4-5', undefined, 0.5],
      ['orch.cost', 'claude-sonnet-4-5', undefined, 2],
    ]);
  });

  it.each<[Partial<SessionFacts>, object | null]>([
    [
      { status: 'failed', reason: 'sh ended with status 1' },
      { type: 'failed', reason: 'sh ended with status 1' },
    ],
    [
      { status: 'budget_exceeded', reason: null },
      { type: 'budget_exceeded', reason: 'budget_exceeded' },
    ],
    [{ status: 'paused', reason: 'Stopped by SIGINT' }, null],
    [{ status: 'running', reason: null }, null],
  ])('is an error only if it failed: %o', (more, error) => {
    expect(spanOf(more)?.error).toEqual(error);
  });

  it.each([
    ['codex', 'gpt-5.4', 'openai'],
    ['codex', null, 'openai'],
    ['sh', 'claude-opus-5', 'anthropic'],
    ['gemini', 'gemini-3-pro', 'gcp.gemini'],
    ['sh', null, '_OTHER'],
    [null, null, '_OTHER'],
  ])('names the provider of %s with %s', (agent, model, provider) => {
    const used = new Map(model === null ? [] : [[model, haiku]]);
    const span = spanOf({ agent, used });
    expect(span?.attributes['gen_ai.provider.name']).toBe(provider);
    expect(span?.name).toBe(agent === null ? 'invoke_agent' : `invoke_agent ${agent}`);
  });
});

it.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://localhost:4318/v1/traces' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_SDK_DISABLED: 'TRUE' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_SDK_DISABLED: 'false' }, true],
])('%o names a collector: %s', (env, names) => {
  expect(namesCollector(env)).toBe(names);
});

it.each([
  ['2 login', { task: 'login', attempt: 2 }],
  ['1 deploy[a b]', { task: 'deploy[a b]', attempt: 1 }],
  ['login', null],
  ['', null],
  [undefined, null],
])('%s says which attempt it is', (text, work) => {
  expect(parseWork(text)).toEqual(work);
  if (work !== null) expect(formatWork(work)).toBe(text);
});
