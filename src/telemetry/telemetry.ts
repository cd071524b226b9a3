import type { Config } from '../config/load.ts';
import { messageOf } from '../errors.ts';
import type { Clock } from '../system/clock.ts';
import { sleepUnlessAborted } from '../system/clock.ts';
import { type Environment, inheritedEnvironment } from '../system/process/spawn.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import type { Signals, SpanData, WorkedOn } from './spans.ts';
import { formatTraceparent, parseTraceparent, type TraceContext } from './trace-context.ts';

/*
 * Whether and where to export, and doing so without anyone waiting for it. What sends is loaded with the first thing
 * there is to send.
 */

export type TelemetryPorts = {
  readonly clock: Clock;
  readonly readConfig: () => Promise<Config>;
  readonly redact: (text: string) => Promise<string>;
  readonly report: (what: string) => void;
};

export type Telemetry = {
  /** The span that this call of orch is part of, if its caller named one. */
  readonly outside: TraceContext | null;
  /** Takes note of what ended. Never throws and never waits. */
  note(signals: Signals): void;
  /** Sends what is left, for as long as it may take, and stops. Never throws. */
  close(): Promise<void>;
};

/** For what is left at the end. */
const lastCall: Millis = 5_000;
const shownLength = 200;

/** Tells whether the environment names a collector, and does not forbid to use it. */
export function namesCollector(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false;
  return Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/**
 * Opens the export of what one process does; null where it is off. `instance` tells it from others in metrics.
 * `isForWorker`: a scheduler whose telemetry is on started it, in a worktree that may not have the config.
 */
export async function openTelemetry(
  ports: TelemetryPorts,
  { instance, isForWorker = false }: { readonly instance: string; readonly isForWorker?: boolean },
): Promise<Telemetry | null> {
  const env = inheritedEnvironment();
  if (!namesCollector(env)) return null;
  if (!isForWorker && !(await ports.readConfig()).telemetry) return null;
  let hasReported = false;
  const report = (problem: string) => {
    if (!hasReported) ports.report(`telemetry is not sent: ${cleanLine(problem, shownLength)}`);
    hasReported = true;
  };
  const open = async () => {
    const { openExport } = await import('./export.ts');
    return openExport({ instance, onFailure: report });
  };
  let opening: ReturnType<typeof open> | null = null;
  let noted = Promise.resolve();
  const send = async ({ spans, measurements }: Signals) => {
    opening ??= open();
    const { addSpan, measure } = await opening;
    for (const span of spans) addSpan(await withoutSecrets(ports, span));
    for (const measurement of measurements) measure(measurement);
  };
  const finish = async () => {
    await noted;
    await (await opening)?.close();
  };
  return {
    outside: parseTraceparent(env.TRACEPARENT),
    note: (signals) => {
      noted = noted.then(() => send(signals)).catch((error) => report(messageOf(error)));
    },
    close: async () => {
      const isDone = new AbortController();
      const tooLong = sleepUnlessAborted(lastCall, isDone.signal).then(() => {
        if (!isDone.signal.aborted) report(`the collector did not answer within ${lastCall / 1_000} s`);
      });
      const finished = finish().catch((error) => report(messageOf(error)));
      await Promise.race([finished, tooLong]);
      isDone.abort();
    },
  };
}

/** Names are the user's, and so is why something failed. */
async function withoutSecrets({ redact }: TelemetryPorts, span: SpanData): Promise<SpanData> {
  const texts = await Promise.all(
    Object.entries(span.attributes).map(async ([name, value]) => {
      return [name, typeof value === 'string' ? await redact(value) : value] as const;
    }),
  );
  const { error } = span;
  return {
    ...span,
    name: await redact(span.name),
    attributes: Object.fromEntries(texts),
    error: error && { ...error, reason: cleanLine(await redact(error.reason), shownLength) },
  };
}

/** What tells a process that its caller is this span. */
export function traceEnvironment(context: TraceContext): Environment {
  return { TRACEPARENT: formatTraceparent(context) };
}

/** What tells the supervisor of a worker which attempt it is for: `2 login`. */
export function formatWork({ task, attempt }: WorkedOn): string {
  return `${attempt} ${task}`;
}

export function parseWork(text: string | undefined): WorkedOn | null {
  const [, attempt, task] = /^(\d{1,9}) (.+)$/.exec(text ?? '') ?? [];
  return task === undefined ? null : { task, attempt: Number(attempt) };
}
