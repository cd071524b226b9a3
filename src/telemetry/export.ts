import {
  type Attributes,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Measurement, MetricName, SpanData } from './spans.ts';

/* Sends spans and measurements with the packages of OpenTelemetry, which are loaded with this file and only here. */

type Instrument = {
  readonly kind: 'histogram' | 'counter';
  readonly unit: string;
  readonly description: string;
  readonly boundaries?: number[];
};

const fourfold = Array.from({ length: 14 }, (_, power) => 4 ** power);
/** Agents work for hours; the conventions' own boundaries for single requests end after 82 seconds. */
const seconds = [1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200];

const instruments: { readonly [K in MetricName]: Instrument } = {
  'gen_ai.client.token.usage': {
    kind: 'histogram',
    unit: '{token}',
    description: 'Number of input and output tokens used.',
    boundaries: fourfold,
  },
  'gen_ai.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'GenAI operation duration.',
    boundaries: seconds,
  },
  'gen_ai.workflow.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'GenAI workflow duration.',
    boundaries: seconds,
  },
  'orch.cost': { kind: 'counter', unit: 'USD', description: 'What agents cost.' },
  'orch.tasks': { kind: 'counter', unit: '{task}', description: 'Tasks that ended, by status.' },
};

/** For a request with all its retries: less than is left at the end, so that the reason is known by then. */
const timeoutMillis = 4_000;

export type Export = {
  addSpan(span: SpanData): void;
  measure(measurement: Measurement): void;
  /** Sends what is left. */
  close(): Promise<void>;
};

export function openExport({
  instance,
  onFailure,
}: {
  readonly instance: string;
  readonly onFailure: (problem: string) => void;
}): Export {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'orch', 'service.instance.id': instance }))
    // What the user set counts more.
    .merge(detectResources({ detectors: [envDetector] }));
  const spanExporter = telling(new OTLPTraceExporter({ timeoutMillis }), onFailure);
  let spanId = '';
  let traceId = '';
  const tracers = new BasicTracerProvider({
    resource,
    idGenerator: { generateSpanId: () => spanId, generateTraceId: () => traceId },
    spanProcessors: [new BatchSpanProcessor(spanExporter)],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: telling(new OTLPMetricExporter({ timeoutMillis }), onFailure),
  });
  const meters = new MeterProvider({ resource, readers: [reader] });
  const tracer = tracers.getTracer('orch');
  const meter = meters.getMeter('orch');
  const record = new Map<MetricName, (value: number, attributes: Attributes) => void>();
  const recorderOf = (name: MetricName) => {
    const { kind, unit, description, boundaries } = instruments[name];
    const options = {
      ...{ unit, description },
      ...(boundaries && { advice: { explicitBucketBoundaries: boundaries } }),
    };
    if (kind === 'counter') {
      const counter = meter.createCounter(name, options);
      return counter.add.bind(counter);
    }
    const histogram = meter.createHistogram(name, options);
    return histogram.record.bind(histogram);
  };
  return {
    addSpan: ({ place, name, startedAt, endedAt, attributes, error }) => {
      ({ spanId, traceId } = place);
      const { parent } = place;
      const above =
        parent === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
              isRemote: true,
            });
      const all = error === null ? attributes : { ...attributes, 'error.type': error.type };
      const span = tracer.startSpan(
        name,
        { kind: SpanKind.INTERNAL, startTime: startedAt, attributes: all },
        above,
      );
      if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error.reason });
      span.end(endedAt);
    },
    measure: ({ metric, value, attributes }) => {
      const add = record.get(metric) ?? recorderOf(metric);
      record.set(metric, add);
      add(value, attributes);
    },
    close: async () => {
      await Promise.all([tracers.shutdown(), meters.shutdown()]);
    },
  };
}

type Exporter<T> = {
  export(items: T, done: (result: { code: number; error?: Error }) => void): void;
};

/** The packages keep to themselves what could not be sent. */
function telling<T, E extends Exporter<T>>(exporter: E, onFailure: (problem: string) => void): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items: T, done: (result: { code: number; error?: Error }) => void) =>
    send(items, (result) => {
      if (result.code !== 0) onFailure(result.error?.message ?? 'the collector refused it');
      done(result);
    });
  return exporter;
}
