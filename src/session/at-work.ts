import type { SessionId } from '../types.ts';
import { formatInstant } from '../units.ts';
import { type AgentWaiting, readWaiting } from './agent-waiting.ts';
import type { EpicView } from './context.ts';
import { isLeftInterrupted, type KnownSession, listShown, shownFate } from './fate.ts';

/** A session that runs in this clone, or died and waits to be resumed from. */
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

const isRunning = ({ fate }: KnownSession) => fate === 'running' || fate === 'initializing';

/** The sessions of an epic that run here, newest first, and behind them those that died and that none continued from. */
export function listAtWork(view: EpicView, home: string): KnownSession[] {
  const sessions = listShown(view, home);
  const isLeft = (session: KnownSession) => isLeftInterrupted(session, sessions);
  return [...sessions.filter(isRunning), ...sessions.filter(isLeft)];
}

/** What a running session's agent waits for; a limit that is over is waited for no more. */
export function findWaiting({ id, fate }: Pick<KnownSession, 'id' | 'fate'>, home: string, now: number) {
  const waiting = fate === 'running' || fate === 'initializing' ? readWaiting(home, id) : null;
  const isOver = waiting?.for === 'limit' && typeof waiting.until === 'number' && waiting.until <= now;
  return waiting && isOver ? { ...waiting, for: 'input' as const, until: null } : waiting;
}

export function describeAtWork(view: EpicView, home: string, now: number): AgentAtWork[] {
  return listAtWork(view, home).map((session) => {
    const { id, value } = session;
    const fate = shownFate(session);
    const waiting = findWaiting(session, home, now);
    return {
      sessionId: id,
      number: value.number,
      agent: value.agent,
      status: fate === 'running' || fate === 'initializing' ? fate : 'interrupted',
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
