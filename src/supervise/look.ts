import { type Checkpoint, describeCommit } from '../checkpoint/list.ts';
import { decide, type Stop, type Warning } from '../checkpoint/policy.ts';
import type { Budget } from '../cost/budget.ts';
import { explainGuess, nameNewGuesses } from '../cost/pricing.ts';
import { limitReached, messageOf, OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { record } from '../record/record.ts';
import { explainTakeover } from '../record/sessions.ts';
import { type EpicView, readView } from '../record/view.ts';
import { describeMoney } from '../session/epic-status.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import type { Clock } from '../system/clock.ts';
import { statIfThere } from '../system/disk.ts';
import type { CheckpointId, Millis } from '../types.ts';
import { formatUsd } from '../units.ts';
import { decideSave, type Findings } from './decide.ts';
import type { MoneyTracker } from './tracked-money.ts';

/** What happens in a supervised session, as its supervisor sees it. */
export type SessionEvent =
  | {
      readonly kind: 'look';
      readonly view: EpicView;
      readonly budget: Budget;
      /** Until the next checkpoint by the clock; null where the policy has none. */
      readonly nextIn: Millis | null;
    }
  | { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint; readonly state: State }
  | { readonly kind: 'warning'; readonly warning: Warning }
  /** Something worth knowing, reported once. */
  | { readonly kind: 'notice'; readonly message: string }
  | { readonly kind: 'fault'; readonly message: string };

export type LookOptions = {
  /** Reads what the agent's files say and may not be recorded yet; called at every look. */
  readonly readFacts: ((state: State) => Promise<Fact[]>) | null;
  readonly money: MoneyTracker;
  /** Finds files that changed without being reported; slow, so called only before a checkpoint. */
  readonly readChanges: ((view: EpicView) => Promise<Fact[]>) | null;
  readonly onEvent: (event: SessionEvent) => void;
};

/**
 * Makes the function that looks after a session: it records what the agent's files say, makes the checkpoints that are
 * due, reports what is new, and returns what it found. It never throws: a failed look is a finding, and the next one
 * tries again.
 */
export function makeLook(
  ports: SessionPorts,
  target: RunningSession,
  { readFacts, readChanges, money, onEvent }: LookOptions,
): (isLast?: boolean) => Promise<Findings> {
  const { epic, settings } = target;
  const { interval } = settings.policy;
  const stopwatch = startStopwatch(ports.clock);
  let seen: { state: State; checkpoint: CheckpointId | null } | null = null;
  let saved: number | null = null;
  let fault: string | null = null;
  let readFault: string | null = null;
  let failingSince: Millis | null = null;
  let overBudget: Stop | null = null;
  let takeover: string | null = null;

  /** A transcript that cannot be read is no reason to make no checkpoints, unless no file can be opened any more. */
  function reportReadFault(error: unknown): void {
    if (limitReached('', error)) throw error;
    const message = messageOf(error);
    if (message !== readFault) onEvent({ kind: 'fault', message });
    readFault = message;
  }

  function reportTakeover({ state }: EpicView): void {
    const message = explainTakeover(epic, target.session, state);
    if (message !== null && message !== takeover) onEvent({ kind: 'notice', message });
    takeover = message ?? takeover;
  }

  async function reportGuesses(before: State, after: State): Promise<void> {
    const models = nameNewGuesses(before.ledger, after.ledger, (await ports.readPrices?.()) ?? {});
    if (models !== null) onEvent({ kind: 'notice', message: explainGuess(models) });
  }

  async function recordRead(view: EpicView, read: Promise<Fact[]> | undefined): Promise<EpicView> {
    const facts = (await read?.catch(reportReadFault)) ?? [];
    if (facts.length === 0) return view;
    await record(ports, target, facts);
    return readView(ports, epic);
  }

  /** Records what the agent's files say, and undoes changes to the money that were made outside orch. */
  async function recordAgentFiles(view: EpicView): Promise<EpicView> {
    const { state } = view;
    const read = readFacts?.(state).then((facts) => money.takeReadings(state, facts));
    const next = await recordRead(view, read);
    if (next !== view) await reportGuesses(state, next.state);
    return recordRead(next, money.checkState(next.state));
  }

  function reportChanges(view: EpicView): void {
    const newest = view.saved && describeCommit(view.saved.commit);
    if (newest && seen && newest.id !== seen.checkpoint) {
      stopwatch.reset();
      onEvent({ kind: 'checkpoint', checkpoint: newest, state: view.state });
    }
    seen = { state: view.state, checkpoint: newest?.id ?? null };
    saved = view.saved?.document.seq ?? null;
    const nextIn = interval === null ? null : Math.max(0, interval - stopwatch.read());
    onEvent({ kind: 'look', view, budget: describeMoney(view.state), nextIn });
  }

  async function look(isLast: boolean): Promise<Pick<Findings, 'isTakenOver' | 'overBudget'>> {
    // Without it everything looks as if nothing had been recorded yet, and no budget would ever be used up.
    if (statIfThere(ports.home) === null)
      throw new OrchError('NOT_A_REPOSITORY', 'the repository is gone, so nothing can be recorded any more');
    const found = await readView(ports, epic);
    if (isTakenOver(found, target)) return { isTakenOver: true, overBudget: null };
    reportTakeover(found);
    const before = seen?.state ?? found.state;
    let view = await recordAgentFiles(found);
    const verdict = decide(settings.policy, { ...view, seen: before }, ports.clock.now());
    overBudget = verdict.stop;
    const overrun = verdict.stop === null ? money.findOverrun() : null;
    const isIntervalOver = interval !== null && stopwatch.read() >= interval;
    const save = decideSave(verdict, isIntervalOver);
    // Work that is over budget is stopped first: the last look records what it changed.
    if (isLast || (save !== null && verdict.stop === null))
      view = await recordRead(view, readChanges?.(view));
    if (save !== null) {
      await record(
        ports,
        target,
        [],
        save === 'interval' ? { trigger: save, reason: null, onlyIfChanged: true } : null,
      );
      if (isIntervalOver) stopwatch.reset();
    }
    if (overrun) {
      // The state does not show it and could not be corrected, so it is recorded as a fact of its own.
      const reason = `Budget used up: ${formatUsd(overrun.spent)} of ${formatUsd(overrun.limit)}`;
      await record(ports, target, [{ kind: 'budget_exceeded', reason }], { trigger: 'budget', reason });
    }
    if (save !== null || overrun) view = await readView(ports, epic);
    for (const warning of verdict.warn) onEvent({ kind: 'warning', warning });
    reportChanges(view);
    return { isTakenOver: false, overBudget: verdict.stop ?? overrun };
  }

  return async (isLast = false) => {
    try {
      const findings = await look(isLast);
      fault = null;
      failingSince = null;
      return { ...findings, saved, failure: null };
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== fault) onEvent({ kind: 'fault', message: problem });
      fault = problem;
      failingSince ??= ports.clock.elapsed();
      const failure = { problem, lasts: ports.clock.elapsed() - failingSince };
      // The budget holds even where nothing can be saved.
      return { isTakenOver: false, overBudget: overBudget ?? money.findOverrun(), saved, failure };
    }
  };
}

/** Only its supervisor ends a supervised session; one over budget has the status budget_exceeded instead. */
function isTakenOver({ state }: EpicView, { session }: RunningSession): boolean {
  const status = lookUp(state.sessions, session)?.value.status;
  return status !== undefined && hasEnded(status) && status !== 'budget_exceeded';
}

/**
 * Measures the time since its last reset. The wall clock runs while a laptop sleeps, but can be set back or forward; the
 * steady clock cannot, but may stop during sleep. Between two readings, the clock that advanced further counts: a jump
 * forward makes a checkpoint early, which is harmless, and a jump back delays none.
 */
function startStopwatch(clock: Clock) {
  let passed: Millis = 0;
  let last = { wall: clock.now(), steady: clock.elapsed() };
  return {
    read: () => {
      const now = { wall: clock.now(), steady: clock.elapsed() };
      passed += Math.max(0, now.wall - last.wall, now.steady - last.steady);
      last = now;
      return passed;
    },
    reset: () => {
      passed = 0;
      last = { wall: clock.now(), steady: clock.elapsed() };
    },
  };
}
