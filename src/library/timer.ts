import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { readView } from '../session/context.ts';
import { record, type Target } from '../session/record.ts';
import { hasEnded } from '../state/transition.ts';
import type { SessionId } from '../types.ts';
import { using, type Where } from './where.ts';

/* The timer of sessions that a program started: it makes the checkpoints that are due by the clock, as a supervisor does. */

const timers = new Map<SessionId, NodeJS.Timeout>();

/** Begins it. It keeps no program from ending. */
export function startTimer(where: Where, target: Target): void {
  const { interval } = target.settings.policy;
  if (interval === null) return;
  let isBusy = false;
  const tick = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await using(where, (orch) => saveDue(orch, target));
    } catch {
      // The repository may be gone, or closed. The next tick tries again, and nothing recorded depends on it.
    } finally {
      isBusy = false;
    }
  };
  const timer = setInterval(tick, interval);
  timer.unref();
  timers.set(target.session, timer);
}

async function saveDue(orch: Orch, target: Target): Promise<void> {
  const { state } = await readView(orch, target.epic);
  const status = lookUp(state.sessions, target.session)?.value.status;
  if (status === undefined || hasEnded(status)) return stopTimer(target.session);
  try {
    await record(orch, target, [], { trigger: 'interval', reason: null, onlyIfChanged: true });
  } catch (error) {
    orch.report(
      `the checkpoint that was due could not be made: ${error instanceof Error ? error.message : error}`,
    );
  }
}

export function stopTimer(session: SessionId): void {
  clearInterval(timers.get(session));
  timers.delete(session);
}
