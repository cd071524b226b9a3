import { type Checkpoint, describeCommit } from '../checkpoint/list.ts';
import { decide, type Stop, type Warning } from '../checkpoint/policy.ts';
import { explainGuess, nameFresh } from '../cost/unpriced.ts';
import { limitReached } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import type { CheckpointId, Millis } from '../types.ts';
import { formatUsd } from '../units.ts';
import { type EpicView, readView } from './context.ts';
import { makeStopwatch } from './due.ts';
import { describeTakeover, findTakeover } from './fate.ts';
import type { MoneyWatch } from './money-watch.ts';
import { record, type SessionPorts, type Target } from './record.ts';

/** What is seen at a look. */
export type Sight =
  | { readonly kind: 'look'; readonly view: EpicView; readonly nextIn: Millis | null }
  | { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint; readonly state: State }
  | { readonly kind: 'warning'; readonly warning: Warning }
  /** Something to know, once. */
  | { readonly kind: 'notice'; readonly message: string }
  | { readonly kind: 'fault'; readonly message: string };

/** Why the work cannot go on: the money is gone, or somebody else has ended the session over our head. */
export type Halt =
  | Stop
  | { readonly kind: 'taken_over' }
  /** Nothing can be seen or saved any more: then no budget is kept either. */
  | { readonly kind: 'blind'; readonly problem: string };

export type Sources = {
  /** What is known by now and not recorded yet; asked at every look. */
  readonly readFacts: ((state: State) => Promise<Fact[]>) | null;
  /** The money as the supervisor remembers it, and what it was granted since. */
  readonly money: MoneyWatch;
  /** The files that changed without anybody telling; asked before a checkpoint, because it takes a while. */
  readonly readChanges: ((view: EpicView) => Promise<Fact[]>) | null;
};

/** How long looks may fail in a row: what passes, as a lock of another's git does, passes sooner. */
const blindPatience: Millis = 2_000;

/**
 * Makes the function that looks after a session: it makes the checkpoints that are due, tells what is new since the
 * look before, and says when it cannot go on. What goes wrong at one look is told once, and tried again at the next, for a while.
 */
export function makeLook(
  ports: SessionPorts,
  target: Target,
  { readFacts, readChanges, money }: Sources,
  tell: (sight: Sight) => void,
): (isLast?: boolean) => Promise<Halt | null> {
  const { epic, settings } = target;
  const { interval } = settings.policy;
  const watch = makeStopwatch(ports.clock);
  let seen: { state: State; checkpoint: CheckpointId | null } | null = null;
  let fault: string | null = null;
  let failingSince: Millis | null = null;
  let reached: Stop | null = null;
  let unread: string | null = null;
  let takenBy: number | null = null;

  const nextIn = () => (interval === null ? null : Math.max(0, interval - watch.read()));

  /** A transcript that cannot be read is no reason to make no checkpoints; that nothing can be opened any more is. */
  function tellOnce(error: unknown): void {
    if (limitReached('', error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (message !== unread) tell({ kind: 'fault', message });
    unread = message;
  }

  function tellTakeover({ state }: EpicView): void {
    const own = lookUp(state.sessions, target.session)?.value;
    const taker = own ? findTakeover({ id: target.session, value: own }, state) : null;
    if (own && taker && taker.number !== takenBy)
      tell({ kind: 'notice', message: describeTakeover(epic, own.number, taker) });
    takenBy = taker?.number ?? takenBy;
  }

  async function tellGuesses(before: State, after: State): Promise<void> {
    const models = nameFresh(before.ledger, after.ledger, (await ports.readPrices?.()) ?? {});
    if (models !== null) tell({ kind: 'notice', message: explainGuess(models) });
  }

  async function take(view: EpicView, read: Promise<Fact[]> | undefined): Promise<EpicView> {
    const facts = (await read?.catch(tellOnce)) ?? [];
    if (facts.length === 0) return view;
    await record(ports, target, facts);
    return readView(ports, epic);
  }

  async function look(isLast: boolean): Promise<Halt | null> {
    let view = await readView(ports, epic);
    if (isTakenOver(view, target)) return { kind: 'taken_over' };
    tellTakeover(view);
    const found = view.state;
    const before = seen?.state ?? found;
    view = await take(
      view,
      readFacts?.(found).then((facts) => money.read(found, facts)),
    );
    if (view.state !== found) await tellGuesses(found, view.state);
    view = await take(view, money.check(view.state));
    const verdict = decide(settings.policy, { ...view, seen: before }, ports.clock.now());
    reached = verdict.stop;
    const overrun = verdict.stop === null ? money.findOverrun() : null;
    const isDue = interval !== null && watch.read() >= interval;
    // Whoever is to be stopped is stopped first: the last look takes in what it did.
    const isSavedNow = verdict.stop === null && (verdict.checkpoint !== null || isDue);
    if (isLast || isSavedNow) view = await take(view, readChanges?.(view));
    if (verdict.checkpoint !== null || verdict.stop !== null || isDue) {
      const due = { trigger: 'interval' as const, reason: null, onlyIfChanged: true as const };
      await record(ports, target, [], isDue && verdict.checkpoint === null ? due : null);
      if (isDue) watch.reset();
      view = await readView(ports, epic);
    }
    if (overrun) {
      // The state does not say so, and could not be made to: it is kept as what it is all the same.
      const reason = `Budget used up: ${formatUsd(overrun.spent)} of ${formatUsd(overrun.limit)}`;
      await record(ports, target, [{ kind: 'budget_exceeded', reason }], { trigger: 'budget', reason });
      view = await readView(ports, epic);
    }
    for (const warning of verdict.warn) tell({ kind: 'warning', warning });
    const newest = view.saved && describeCommit(view.saved.commit);
    if (newest && seen && newest.id !== seen.checkpoint) {
      watch.reset();
      tell({ kind: 'checkpoint', checkpoint: newest, state: view.state });
    }
    seen = { state: view.state, checkpoint: newest?.id ?? null };
    tell({ kind: 'look', view, nextIn: nextIn() });
    return verdict.stop ?? overrun;
  }

  return async (isLast = false) => {
    try {
      const stop = await look(isLast);
      fault = null;
      failingSince = null;
      return stop;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== fault) tell({ kind: 'fault', message });
      fault = message;
      // That it cannot be saved is no reason to spend more.
      const overrun = reached ?? money.findOverrun();
      if (overrun) return overrun;
      failingSince ??= ports.clock.elapsed();
      const isBlind = ports.clock.elapsed() - failingSince >= blindPatience;
      return isBlind ? { kind: 'blind', problem: message } : null;
    }
  };
}

/** Only its supervisor ends a session that is watched over; one whose money is gone has ended by itself. */
function isTakenOver({ state }: EpicView, { session }: Target): boolean {
  const status = lookUp(state.sessions, session)?.value.status;
  return status !== undefined && hasEnded(status) && status !== 'budget_exceeded';
}
