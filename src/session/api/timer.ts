import { messageOf } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import type { RunningSession } from '../../record/ports.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import { hasEnded } from '../../state/transition.ts';
import type { SessionId } from '../../types.ts';
import { using, type Where } from '../../where.ts';

/* For a session that a program started, a timer makes the checkpoints that are due by the clock. */

const timers = new Map<SessionId, NodeJS.Timeout>();

/** Starts a session's timer. It does not keep the program running. */
export function startTimer(where: Where, target: RunningSession): void {
  const { interval } = target.settings.policy;
  if (interval === null) return;
  let isBusy = false;
  const tick = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await using(where, (orch) => saveDue(orch, target));
    } catch {
      // The repository may be gone or closed. The next tick tries again, and nothing is lost meanwhile.
    } finally {
      isBusy = false;
    }
  };
  const timer = setInterval(tick, interval);
  timer.unref();
  timers.set(target.session, timer);
}

async function saveDue(orch: Orch, target: RunningSession): Promise<void> {
  const { state } = await readView(orch, target.epic);
  const status = lookUp(state.sessions, target.session)?.value.status;
  if (status === undefined || hasEnded(status)) return stopTimer(target.session);
  try {
    await record(orch, target, [], { trigger: 'interval', reason: null, onlyIfChanged: true });
  } catch (error) {
    orch.report(`a checkpoint that was due could not be made: ${messageOf(error)}`);
  }
}

export function stopTimer(session: SessionId): void {
  clearInterval(timers.get(session));
  timers.delete(session);
}
