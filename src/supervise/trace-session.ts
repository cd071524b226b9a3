import { readOwnUsage } from '../cost/money.ts';
import { messageOf } from '../errors.ts';
import type { Orch } from '../orch.ts';
import type { RunningSession } from '../record/ports.ts';
import { readView } from '../record/view.ts';
import { type Environment, leaveFolder } from '../system/process/spawn.ts';
import { describeSession } from '../telemetry/spans.ts';
import { openTelemetry, parseWork, traceEnvironment } from '../telemetry/telemetry.ts';
import { placeSpan } from '../telemetry/trace-context.ts';

export type SessionTrace = {
  /** What tells its command that this session is its caller. */
  readonly env: Environment;
  /** Exports what became of the session, once that is recorded. Never throws. */
  close(): Promise<void>;
};

/** Has a supervised session exported as a span, if telemetry is on. */
export async function traceSession(
  orch: Orch,
  { epic, session }: RunningSession,
  traced: string | undefined,
): Promise<SessionTrace> {
  const work = parseWork(traced);
  const telemetry = await openTelemetry(orch, { instance: session, isForWorker: work !== null });
  if (telemetry === null) return { env: {}, close: async () => {} };
  const place = placeSpan(telemetry.outside, 'session', session);
  return {
    env: traceEnvironment(place),
    close: async () => {
      try {
        const { state } = await readView(orch, epic);
        const value = state.sessions[session]?.value;
        if (value !== undefined) {
          const { agent, status, reason, startedAt } = value;
          const endedAt = value.endedAt ?? orch.clock.now();
          const used = readOwnUsage(state.ledger, session);
          telemetry.note(
            describeSession(place, {
              ...{ epic, session, agent, work, status, reason, startedAt, endedAt, used },
            }),
          );
        }
      } catch (error) {
        orch.report(`the session is not exported: ${messageOf(error)}`);
      }
      // Its scheduler keeps a worktree that a process is in, and this one may take seconds to send the last.
      if (work !== null) leaveFolder(orch.home);
      await telemetry.close();
    },
  };
}
