import { exitStatuses } from '../errors.ts';
import { removeLive } from '../journal/live.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { type Outcome, record } from '../record/record.ts';
import { readView } from '../record/view.ts';
import { type Ending, endSession } from '../session/lifecycle.ts';
import type { Fact } from '../state/facts.ts';
import { describeRemaining, type NamedProcess } from '../system/process/process-table.ts';
import { statusOfSignal } from '../system/process/signals.ts';
import type { StopReason } from './decide.ts';

/** Records how a supervised session ended, with its last checkpoint. */
export async function endSupervised(
  ports: SessionPorts,
  target: RunningSession,
  why: StopReason,
  {
    name,
    completes,
    stillRunning,
  }: {
    /** The command's. */
    readonly name: string;
    /** Is the work done when the command succeeds, rather than paused? */
    readonly completes: boolean;
    readonly stillRunning: readonly NamedProcess[];
  },
): Promise<Outcome> {
  const left = describeRemaining(stillRunning);
  const lastFacts = completes && why.kind === 'exit' ? [exitFact(target, why.exit)] : [];
  const end = (how: Ending, reason: string | null, isRoutine?: true) =>
    left === ''
      ? endSession(ports, target, how, reason, { lastFacts, isRoutine })
      : endSession(ports, target, how, `${reason ?? 'Stopped'}${left}`, { lastFacts });
  switch (why.kind) {
    case 'signal':
      return end('pause', `Stopped by ${why.signal}`, true);
    case 'request':
      return end(why.request.want, why.request.reason);
    case 'supervision_failed':
      return end('fail', `orch could not supervise it: ${why.problem}`);
    case 'witness':
      // A worker's task is tried again; any other session can be resumed.
      return end(completes ? 'fail' : 'pause', `the witness ended it, because ${why.why}`);
    case 'taken_over': {
      // Another process has recorded its end.
      const { state } = await readView(ports, target.epic);
      return { session: target.session, events: [], state, verdict: { warn: [], stop: null }, stored: null };
    }
    case 'budget': {
      // The session already has the status budget_exceeded; this keeps what the command did while it was stopped.
      const reason = `Work in flight when the budget was used up${left}`;
      const outcome = await record(ports, target, [], { trigger: 'budget', reason, onlyIfChanged: true });
      removeLive(ports.disk, ports.home, target.session);
      return outcome;
    }
    case 'exit':
      if (why.exit.status === 0) return end(completes ? 'complete' : 'pause', `${name} ended ok`, true);
      return end('fail', `${name} ${describeFailure(why)}`);
  }
}

/** How a worker ended, for the convoy that decides what follows. */
function exitFact(
  { session }: RunningSession,
  { status, signal }: (StopReason & { kind: 'exit' })['exit'],
): Fact {
  return { kind: 'current_set', key: 'lastExit', value: { session, status, signal } };
}

/** `ended with status 1`: how a command failed. */
export function describeFailure({ exit, failure }: StopReason & { kind: 'exit' }): string {
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with status ${exit.status}`;
  if (!failure) return how;
  return `${how}${failure.limit ? ", at its provider's limit" : ''}: ${failure.text}`;
}

/** The status that a program exits with after supervising a session which ended for this reason. */
export function exitStatusOf(why: StopReason): number {
  switch (why.kind) {
    case 'budget':
      return exitStatuses.BUDGET_EXCEEDED;
    case 'signal':
      return statusOfSignal(why.signal);
    case 'request':
      return 0;
    case 'supervision_failed':
      return exitStatuses.SYSTEM_LIMIT;
    case 'witness':
      return exitStatuses.RESUME_NEEDED;
    case 'taken_over':
      return exitStatuses.SESSION_ACTIVE;
    case 'exit':
      return why.exit.signal ? statusOfSignal(why.exit.signal) : (why.exit.status ?? 1);
  }
}
