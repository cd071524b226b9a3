import { hash } from '../digest.ts';

/*
 * Which trace and span something belongs to. All ids are digests of what the record knows, so that a scheduler, the
 * supervisors it starts, and the one that continues after a crash agree without telling each other.
 */

/** A span, as those below it need to know it. */
export type TraceContext = {
  readonly traceId: string;
  readonly spanId: string;
  /** Does the caller that began the trace have it recorded? */
  readonly isSampled: boolean;
};

/** A span that is about to be known, below another one if there is one. */
export type SpanPlace = TraceContext & {
  readonly parent: TraceContext | null;
};

const hex = (length: number, parts: readonly string[]) => hash('sha256', parts.join('\0')).slice(0, length);

/** Where a span is; without a parent it begins a trace of its own. */
export function placeSpan(parent: TraceContext | null, ...key: readonly string[]): SpanPlace {
  return {
    traceId: parent?.traceId ?? hex(32, ['trace', ...key]),
    spanId: hex(16, ['span', ...key]),
    isSampled: parent?.isSampled ?? true,
    parent,
  };
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads a `TRACEPARENT` (W3C Trace Context); null if it is none, which then counts as missing. */
export function parseTraceparent(text: string | undefined): TraceContext | null {
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
