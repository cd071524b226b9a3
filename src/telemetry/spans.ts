import { addUsage, byHand, noUsage, type Usage } from '../cost/ledger.ts';
import { moneyOf } from '../cost/money.ts';
import type { EpicId, Micros, Millis, SessionId, Status } from '../types.ts';
import { placeSpan, type SpanPlace, type TraceContext } from './trace-context.ts';

/*
 * What is exported: numbers, names and why something failed. Never what an agent was told, said, read or wrote. Names
 * of attributes, spans and metrics are those of the OpenTelemetry semantic conventions for generative AI; orch's own
 * begin with `orch.`.
 */

export type Attributes = { readonly [name: string]: string | number };

export type SpanData = {
  readonly place: SpanPlace;
  readonly name: string;
  readonly startedAt: Millis;
  readonly endedAt: Millis;
  readonly attributes: Attributes;
  /** Null unless it failed. */
  readonly error: { readonly type: string; readonly reason: string } | null;
};

export type MetricName =
  | 'gen_ai.client.token.usage'
  | 'gen_ai.client.operation.duration'
  | 'gen_ai.workflow.duration'
  | 'orch.cost'
  | 'orch.tasks';

export type Measurement = {
  readonly metric: MetricName;
  readonly value: number;
  readonly attributes: Attributes;
};

/** What follows from one thing that ended. */
export type Signals = { readonly spans: readonly SpanData[]; readonly measurements: readonly Measurement[] };

export type SessionFacts = {
  readonly epic: EpicId;
  readonly session: SessionId;
  /** The name of its agent; null if nothing ran in it. */
  readonly agent: string | null;
  /** The task and attempt of a convoy's worker. */
  readonly work: WorkedOn | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly startedAt: Millis;
  readonly endedAt: Millis;
  /** By model, without what other sessions used that it pays for. */
  readonly used: ReadonlyMap<string, Usage>;
};

export type WorkedOn = { readonly task: string; readonly attempt: number };

/** How a session of an agent is told: one `invoke_agent`. */
export function describeSession(place: SpanPlace, facts: SessionFacts): Signals {
  const { epic, session, agent, work, status, reason, startedAt, endedAt, used } = facts;
  const models = [...used].filter(
    ([name, usage]) => name !== byHand && tokensOf(usage).input + usage.output > 0,
  );
  const total = [...used.values()].reduce(addUsage, noUsage);
  const { input } = tokensOf(total);
  const model = findMainModel(models);
  const cost = [...used].reduce((sum, [name, usage]) => sum + moneyOf(name, usage), 0);
  const error = failures.includes(status) ? { type: status, reason: reason ?? status } : null;
  const operation = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': findProvider(agent, model),
    ...(agent !== null && { 'gen_ai.agent.name': agent }),
  };
  const byModel = ([name, usage]: readonly [string, Usage]): Measurement[] => {
    const attributes = {
      ...operation,
      'gen_ai.provider.name': findProvider(agent, name),
      'gen_ai.request.model': name,
    };
    const tokens = (type: string, value: number): Measurement[] =>
      value === 0
        ? []
        : [
            {
              metric: 'gen_ai.client.token.usage',
              value,
              attributes: { ...attributes, 'gen_ai.token.type': type },
            },
          ];
    return [...tokens('input', tokensOf(usage).input), ...tokens('output', usage.output)];
  };
  return {
    spans: [
      {
        ...{ place, startedAt, endedAt, error },
        name: agent === null ? 'invoke_agent' : `invoke_agent ${agent}`,
        attributes: {
          ...operation,
          ...(model !== null && { 'gen_ai.request.model': model }),
          'gen_ai.usage.input_tokens': input,
          'gen_ai.usage.output_tokens': total.output,
          'gen_ai.usage.cache_read.input_tokens': total.cacheRead,
          'gen_ai.usage.cache_creation.input_tokens': total.cacheWrite,
          'orch.epic': epic,
          'orch.session': session,
          'orch.session.status': status,
          ...(work !== null && { 'orch.task': work.task, 'orch.attempt': work.attempt }),
          'orch.cost_usd': toUsd(cost),
        },
      },
    ],
    measurements: [
      ...models.flatMap(byModel),
      {
        metric: 'gen_ai.client.operation.duration',
        value: (endedAt - startedAt) / 1_000,
        attributes: {
          ...operation,
          ...(model !== null && { 'gen_ai.request.model': model }),
          ...(error !== null && { 'error.type': error.type }),
        },
      },
      ...[...used].flatMap(([name, usage]): Measurement[] => {
        const value = toUsd(moneyOf(name, usage));
        const attributes = { ...(name !== byHand && { 'gen_ai.request.model': name }), 'orch.epic': epic };
        return value > 0 ? [{ metric: 'orch.cost', value, attributes }] : [];
      }),
    ],
  };
}

const failures: readonly Status[] = ['failed', 'budget_exceeded'];

/** The conventions count every kind of input, cached or not. */
function tokensOf({ input, cacheRead, cacheWrite }: Usage): { readonly input: number } {
  return { input: input + cacheRead + cacheWrite };
}

/** An agent has small models do some of its work; the one that cost most is the one it was started with. */
function findMainModel(models: readonly (readonly [string, Usage])[]): string | null {
  const weight = ([name, usage]: readonly [string, Usage]) => [moneyOf(name, usage), usage.output] as const;
  const [main] = models.toSorted((a, b) => {
    const [[moneyA, outputA], [moneyB, outputB]] = [weight(a), weight(b)];
    return moneyB - moneyA || outputB - outputA;
  });
  return main?.[0] ?? null;
}

const providers: readonly (readonly [RegExp, string])[] = [
  [/^claude\b/, 'anthropic'],
  [/^(gpt|codex|o\d)\b/, 'openai'],
  [/^gemini\b/, 'gcp.gemini'],
];

/** Its model says more than the agent, which may be a script. */
function findProvider(agent: string | null, model: string | null): string {
  const names = [model, agent].filter((name) => name !== null);
  const known = names.flatMap((name) => providers.filter(([form]) => form.test(name)));
  return known[0]?.[1] ?? '_OTHER';
}

function toUsd(micros: Micros): number {
  return micros / 1_000_000;
}

export type RunName = {
  readonly epic: EpicId;
  readonly run: string;
  readonly session: SessionId;
  readonly isConvoy: boolean;
};

/** The span of a run; what it is told before the run has ended only has to name it. */
export function placeRun(run: string, outside: TraceContext | null): SpanPlace {
  return placeSpan(outside, 'run', run);
}

export function placeTask(run: SpanPlace, id: string, task: string): SpanPlace {
  return placeSpan(run, 'task', id, task);
}

export type TaskEnd = {
  readonly task: string;
  readonly status: 'succeeded' | 'failed' | 'skipped';
  readonly attempts: number;
  readonly reason: string | null;
  readonly startedAt: Millis;
  readonly endedAt: Millis;
};

/** How the end of a task is told; one that was never begun is only counted. */
export function describeTask(place: SpanPlace, { epic }: RunName, end: TaskEnd): Signals {
  const { task, status, attempts, reason, startedAt, endedAt } = end;
  const attributes = { 'orch.epic': epic, 'orch.task': task, 'orch.task.status': status };
  const error = status === 'failed' ? { type: 'task_failed', reason: reason ?? status } : null;
  const span = {
    ...{ place, name: `task ${task}`, startedAt, endedAt, error },
    attributes: { ...attributes, 'orch.task.attempts': attempts },
  };
  return {
    spans: attempts > 0 ? [span] : [],
    measurements: [
      {
        metric: 'orch.tasks',
        value: 1,
        attributes: { 'orch.epic': epic, 'orch.task.status': status },
      },
    ],
  };
}

export type RunEnd = {
  readonly status: string;
  readonly reason: string | null;
  readonly startedAt: Millis;
  readonly endedAt: Millis;
};

/** How the end of a whole run is told. */
export function describeRun(place: SpanPlace, name: RunName, end: RunEnd): Signals {
  const { epic, run, session, isConvoy } = name;
  const { status, reason, startedAt, endedAt } = end;
  const error = status === 'succeeded' ? null : { type: `run_${status}`, reason: reason ?? status };
  const workflow = { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': epic };
  return {
    spans: [
      {
        ...{ place, name: `${isConvoy ? 'convoy' : 'run'} ${epic}`, startedAt, endedAt, error },
        attributes: {
          ...workflow,
          'orch.epic': epic,
          'orch.session': session,
          'orch.run': run,
          'orch.run.status': status,
        },
      },
    ],
    measurements: [
      {
        metric: 'gen_ai.workflow.duration',
        value: (endedAt - startedAt) / 1_000,
        attributes: { ...workflow, ...(error !== null && { 'error.type': error.type }) },
      },
    ],
  };
}

export type GateRun = {
  readonly gate: string;
  readonly status: 'passed' | 'failed' | 'timed_out' | 'skipped';
  readonly startedAt: Millis;
  readonly endedAt: Millis;
};

/** How a gate's run on what is about to be merged is told. What it printed is not. */
export function describeGate(run: SpanPlace, { epic }: RunName, gateRun: GateRun): Signals {
  const { gate, status, startedAt, endedAt } = gateRun;
  const isRed = status === 'failed' || status === 'timed_out';
  return {
    spans: [
      {
        place: placeSpan(run, 'gate', run.spanId, gate, String(startedAt)),
        ...{ name: `gate ${gate}`, startedAt, endedAt },
        attributes: { 'orch.epic': epic, 'orch.gate': gate, 'orch.gate.status': status },
        error: isRed ? { type: `gate_${status}`, reason: `${gate} ${status.replace('_', ' ')}` } : null,
      },
    ],
    measurements: [],
  };
}
