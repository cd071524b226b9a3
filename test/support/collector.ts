import { type Behaviour, startEffectServer } from './effect-server.ts';

type Value = {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
};
type KeyValue = { readonly key: string; readonly value: Value };

type OtlpSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code?: number; readonly message?: string };
};

type OtlpPoint = {
  readonly attributes: readonly KeyValue[];
  readonly sum?: number;
  readonly asDouble?: number;
  readonly asInt?: number | string;
};

type OtlpMetric = {
  readonly name: string;
  readonly unit: string;
  readonly histogram?: { readonly dataPoints: readonly OtlpPoint[] };
  readonly sum?: { readonly dataPoints: readonly OtlpPoint[] };
};

/** A span as the collector got it. */
export type CollectedSpan = {
  readonly traceId: string;
  readonly id: string;
  readonly parent: string | null;
  readonly name: string;
  readonly ms: number;
  readonly attributes: Record<string, string | number | undefined>;
  readonly error: string | null;
};

/** What was measured once, under one set of attributes. */
export type CollectedPoint = {
  readonly metric: string;
  readonly unit: string;
  readonly value: number;
  readonly attributes: Record<string, string | number | undefined>;
};

const readAttributes = (list: readonly KeyValue[]) =>
  Object.fromEntries(
    list.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  );

/** A collector of OpenTelemetry on loopback, which takes JSON over HTTP. */
export async function startCollector(behave: () => Behaviour = () => ({ status: 200, body: '{}' })) {
  const { url, received } = await startEffectServer(behave);
  const bodiesOf = (path: string) =>
    received.filter((request) => request.path === path).map(({ body }) => JSON.parse(body));
  return {
    url,
    received,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: url },
    spans: (): CollectedSpan[] =>
      bodiesOf('/v1/traces')
        .flatMap(({ resourceSpans }) => resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }): OtlpSpan[] => spans)
        .map(({ traceId, spanId, parentSpanId, name, attributes, status, ...times }) => ({
          ...{ traceId, id: spanId, parent: parentSpanId ?? null, name },
          ms: (Number(times.endTimeUnixNano) - Number(times.startTimeUnixNano)) / 1e6,
          attributes: readAttributes(attributes),
          error: status.code === 2 ? (status.message ?? '') : null,
        })),
    points: (): CollectedPoint[] =>
      bodiesOf('/v1/metrics')
        .flatMap(({ resourceMetrics }) => resourceMetrics)
        .flatMap(({ scopeMetrics }) => scopeMetrics)
        .flatMap(({ metrics }): OtlpMetric[] => metrics)
        .flatMap(({ name, unit, histogram, sum }) =>
          [...(histogram?.dataPoints ?? []), ...(sum?.dataPoints ?? [])].map((point) => ({
            ...{ metric: name, unit, attributes: readAttributes(point.attributes) },
            value: point.sum ?? point.asDouble ?? Number(point.asInt),
          })),
        ),
  };
}
