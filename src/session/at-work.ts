import { isLeftInterrupted, type KnownSession, listShown, shownCondition } from '../record/sessions.ts';
import type { EpicView } from '../record/view.ts';
import type { SessionId } from '../types.ts';
import { formatInstant } from '../units.ts';
import { type AgentWaiting, readWaiting } from './agent/agent-waiting.ts';

/** A session that runs in this clone, or died here and was not continued yet. */
export type AgentAtWork = {
  readonly sessionId: SessionId;
  readonly number: number;
  readonly agent: string | null;
  readonly status: 'initializing' | 'running' | 'interrupted';
  readonly startedAt: string;
  /** What it waits for: its user, or its provider's limit; null while it works. */
  readonly waiting: {
    readonly for: AgentWaiting['for'];
    readonly detail: string | null;
    readonly since: string;
    /** When the limit ends, where that is known. */
    readonly until: string | null;
  } | null;
};

/** Tells whether a session is running in this clone. */
export function isRunning({ condition }: Pick<KnownSession, 'condition'>): boolean {
  return condition === 'running' || condition === 'initializing';
}

/** Lists the sessions of an epic that run here, newest first, then those that died and were not continued. */
export function listAtWork(view: EpicView, home: string): KnownSession[] {
  const sessions = listShown(view, home);
  const isLeft = (session: KnownSession) => isLeftInterrupted(session, sessions);
  return [...sessions.filter(isRunning), ...sessions.filter(isLeft)];
}

/** Finds what a running session's agent waits for. After the end of a provider's limit it waits for its user. */
function findWaiting({ id, condition }: Pick<KnownSession, 'id' | 'condition'>, home: string, now: number) {
  const waiting = isRunning({ condition }) ? readWaiting(home, id) : null;
  const isOver = waiting?.for === 'limit' && typeof waiting.until === 'number' && waiting.until <= now;
  return waiting && isOver ? { ...waiting, for: 'input' as const, until: null } : waiting;
}

/** Describes the sessions that `listAtWork` lists. */
export function describeAtWork(view: EpicView, home: string, now: number): AgentAtWork[] {
  return listAtWork(view, home).map((session) => {
    const { id, value } = session;
    const condition = shownCondition(session);
    const waiting = findWaiting(session, home, now);
    return {
      sessionId: id,
      number: value.number,
      agent: value.agent,
      status: condition === 'running' || condition === 'initializing' ? condition : 'interrupted',
      startedAt: formatInstant(value.startedAt),
      waiting: waiting && {
        for: waiting.for,
        detail: waiting.detail,
        since: formatInstant(waiting.at),
        until: waiting.until ? formatInstant(waiting.until) : null,
      },
    };
  });
}
