import type { Millis } from '../../types.ts';
import type { TaskHistory, WorkerSession } from './report-facts.ts';

/* Where the time of a task went: its workers' sessions say when one worked, and how each ended says what followed. */

export type TaskTime = {
  /** From its first worker to its end. */
  readonly whole: Millis;
  readonly working: Millis;
  /** Its worker had asked, and ended its turn. */
  readonly forPeople: Millis;
  /** Its budget, or the convoy's, was used up. */
  readonly forMoney: Millis;
  /** It was paused: by a person, for a collision, with the convoy. */
  readonly paused: Millis;
  /** Everything else between two workers, and after the last: the merge queue, the gates, the next start. */
  readonly between: Millis;
};

/** Splits the time between `from` and `until`. */
export function splitTime(
  { sessions, questions }: Pick<TaskHistory, 'sessions' | 'questions'>,
  from: Millis,
  until: Millis,
): TaskTime {
  const within = (at: Millis) => Math.min(until, Math.max(from, at));
  const time = { working: 0, forPeople: 0, forMoney: 0, paused: 0, between: 0 };
  let at = from;
  let last: WorkerSession | null = null;
  const pass = (next: Millis) => {
    const passed = next - at;
    if (passed <= 0) return;
    // It waits for its answer, so what was answered before the next worker had been asked before the gap.
    const answered = questions.map(({ resolvedAt }) => resolvedAt ?? until).filter((each) => each > at);
    const waited = Math.max(0, ...answered.filter((each) => each <= next).map((each) => each - at));
    const isTurnOver = last?.status === 'completed' || last?.status === 'paused';
    if (last?.status === 'budget_exceeded') time.forMoney += passed;
    else if (isTurnOver && waited > 0) {
      time.forPeople += waited;
      time.between += passed - waited;
    } else if (last?.status === 'paused') time.paused += passed;
    else time.between += passed;
  };
  for (const session of sessions) {
    const [begins, ends] = [within(session.startedAt), within(session.endedAt ?? until)];
    pass(begins);
    at = Math.max(at, begins);
    time.working += Math.max(0, ends - at);
    at = Math.max(at, ends);
    last = session;
  }
  pass(until);
  return { whole: Math.max(0, until - from), ...time };
}
