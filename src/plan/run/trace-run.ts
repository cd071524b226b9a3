import { lookUp } from '../../keyed.ts';
import type { SessionPorts } from '../../record/ports.ts';
import type { Environment } from '../../system/process/spawn.ts';
import {
  describeGate,
  describeRun,
  describeTask,
  type GateRun,
  placeRun,
  placeTask,
  type RunName,
} from '../../telemetry/spans.ts';
import {
  formatWork,
  openTelemetry,
  type TelemetryPorts,
  traceEnvironment,
} from '../../telemetry/telemetry.ts';
import type { Millis } from '../../types.ts';
import type { RunEvent, RunResult } from './progress.ts';
import type { StartedRun } from './start-run.ts';

/* What a run exports, if telemetry is on: its tasks as they end, the gates, and the run when nothing is left to do. */

export type RunTrace = {
  /** What tells the commands of its tasks that this run is their caller. */
  readonly env: Environment;
  /** What tells the supervisor of a worker, and the worker, which attempt it is. */
  readonly workerEnv: (task: string, attempt: number) => Environment;
  hear(event: RunEvent): void;
  hearGate(gate: GateRun): void;
  /** Exports how it ended; null if an error ended it. Never throws. */
  close(result: Pick<RunResult, 'status' | 'reason'> | null): Promise<void>;
};

const untraced: RunTrace = {
  env: {},
  // Not even a plan may set it.
  workerEnv: () => ({ ORCH_TELEMETRY: undefined }),
  hear: () => {},
  hearGate: () => {},
  close: async () => {},
};

export async function traceRun(
  ports: SessionPorts & TelemetryPorts,
  { run, started: { target } }: StartedRun,
  isConvoy: boolean,
): Promise<RunTrace> {
  const telemetry = await openTelemetry(ports, { instance: target.session });
  if (telemetry === null) return untraced;
  const { clock } = ports;
  const place = placeRun(run.id, telemetry.outside);
  const { epic, session } = target;
  const name: RunName = { epic, run: run.id, plan: run.plan.name, session, isConvoy };
  const begun = new Map<string, Millis>();
  return {
    env: traceEnvironment(place),
    workerEnv: (task, attempt) => ({
      ...traceEnvironment(placeTask(place, run.id, task)),
      ORCH_TELEMETRY: formatWork({ task, attempt }),
    }),
    hear: (event) => {
      if (event.kind === 'begun' && !begun.has(event.task.id)) begun.set(event.task.id, clock.now());
      if (event.kind !== 'ended') return;
      const { task, status, attempts, reason, elapsed } = event;
      const endedAt = clock.now();
      // An earlier scheduler may have begun it.
      const since = lookUp(run.recorded, task.id)?.worker?.since ?? begun.get(task.id) ?? endedAt;
      const startedAt = Math.min(since, endedAt - elapsed);
      telemetry.note(
        describeTask(placeTask(place, run.id, task.id), name, {
          ...{ task: task.id, status, attempts, reason, startedAt, endedAt },
        }),
      );
    },
    hearGate: (gate) => telemetry.note(describeGate(place, name, gate)),
    close: async (result) => {
      // A run that can be resumed has not ended: its span is exported when it ends.
      if (result !== null && result.status !== 'resume_needed')
        telemetry.note(
          describeRun(place, name, {
            ...{ status: result.status, reason: result.reason },
            ...{ startedAt: run.startedAt, endedAt: clock.now() },
          }),
        );
      await telemetry.close();
    },
  };
}
