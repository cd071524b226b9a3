import { isApproved } from '../config/trust.ts';
import { OrchError } from '../errors.ts';
import type { BaselineResult, Gate } from '../gates/gate.ts';
import { listGates, runBaseline } from '../gates/run-baseline.ts';
import type { Orch } from '../orch.ts';
import type { RunningSession } from '../record/ports.ts';
import { endSession } from '../session/lifecycle.ts';
import type { SignalWatch } from '../system/process/signals.ts';

export type GateOptions = {
  /** Which gates run at the start: none, those that the user has approved in this clone, or all. */
  readonly gates: 'none' | 'approved' | 'all';
  /** Does the work start only if all gates pass? */
  readonly requireGreen: boolean;
};

export type GateEvent =
  | { readonly kind: 'gates'; readonly names: readonly string[]; readonly areSkipped: boolean }
  | { readonly kind: 'baseline'; readonly result: BaselineResult };

type StartGates = { readonly gates: readonly Gate[]; readonly worktree: string };

/** Chooses the gates that run at the start of a session: 'skipped' where none of them may run, null where there are none. */
async function chooseGates(
  orch: Orch,
  options: GateOptions,
  onEvent: (event: GateEvent) => void,
): Promise<StartGates | 'skipped' | null> {
  const { worktree } = orch.repository;
  if (worktree === null || (options.gates === 'none' && !options.requireGreen)) return null;
  const gates = listGates(await orch.readConfig(), worktree);
  if (gates.length === 0) return null;
  if (options.gates === 'none') return 'skipped';
  const areSkipped = options.gates === 'approved' && !isApproved(orch.home, gates);
  onEvent({ kind: 'gates', names: gates.map(({ name }) => name), areSkipped });
  return areSkipped ? 'skipped' : { gates, worktree };
}

/**
 * Runs the gates before the work if they have to be green, and otherwise returns the function that runs them alongside
 * it; null where there is nothing left to run.
 */
export async function beginGates(
  orch: Orch,
  target: RunningSession,
  options: GateOptions & { readonly signals: SignalWatch },
  onEvent: (event: GateEvent) => void,
): Promise<((signal: AbortSignal) => Promise<void>) | null> {
  const chosen = await chooseGates(orch, options, onEvent);
  const run = async ({ gates, worktree }: StartGates, signal: AbortSignal) => {
    const result = await runBaseline(orch, { place: target, gates, worktree, atStart: true, signal });
    if (!signal.aborted) onEvent({ kind: 'baseline', result });
    return result;
  };
  if (!options.requireGreen)
    return chosen === null || chosen === 'skipped'
      ? null
      : async (signal) => {
          await run(chosen, signal);
        };
  if (chosen === 'skipped') await refuseUnchecked(orch, target);
  else if (chosen !== null) {
    const result = await run(chosen, options.signals.aborted);
    // A signal ends the session before any work.
    if (options.signals.caught() === null) await requireGreen(orch, target, result);
  }
  return null;
}

async function requireGreen(
  orch: Orch,
  target: RunningSession,
  { gates, passed }: BaselineResult,
): Promise<void> {
  if (gates.every(({ status }) => status === 'skipped')) await refuseUnchecked(orch, target);
  if (passed) return;
  await endSession(orch, target, 'pause', 'The gates are red');
  throw new OrchError('GATE_FAILED', 'the gates are red; the session was paused before any work', {
    hint: 'Fix what they report, or start without --require-green',
    data: { gates: gates.filter(({ status }) => status !== 'passed').map(({ name }) => name) },
  });
}

/** Gates that did not run are not green. */
async function refuseUnchecked(orch: Orch, target: RunningSession): Promise<never> {
  await endSession(orch, target, 'pause', 'The gates were skipped');
  throw new OrchError('GATE_FAILED', 'every gate was skipped; the session was paused before any work', {
    hint: 'Run the gates by hand, which approves them: orch baseline',
    data: { gates: [] },
  });
}
