import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import type { Entry, List, State } from '../../state/lists.ts';
import type { SessionId } from '../../types.ts';

/** Lists that carry no news themselves: session names, money, and marks. */
const kept: ReadonlySet<string> = new Set(['clock', 'sessions', 'ledger']);

/**
 * What a resumed conversation does not know yet: what others recorded since it last recorded anything. Null if nothing
 * is known about the conversation.
 */
export function findNews(state: State, conversation: string): State | null {
  const own = findSessionsOf(state, conversation);
  const seen = [...own].map((session) => lookUp(state.sessions, session)?.value.seenAt ?? 0);
  if (own.size === 0) return null;
  const since = Math.max(...seen);
  const isNews = ({ value, stamp }: Entry<unknown>) => {
    const { session } = (typeof value === 'object' && value !== null ? value : {}) as { session?: SessionId };
    return stamp[0] > since && (session === undefined || !own.has(session));
  };
  const lists = Object.entries(state).map(([name, list]) =>
    kept.has(name)
      ? [name, list]
      : [
          name,
          Object.fromEntries(Object.entries(list as List<unknown>).filter(([, entry]) => isNews(entry))),
        ],
  );
  return Object.fromEntries(lists) as State; // the same lists under the same names, some of them shorter
}

/** The sessions of a conversation: those with a message of it, and those of the agent that has it now. */
function findSessionsOf(state: State, conversation: string): Set<SessionId> {
  const [at, by] = lookUp(state.current, 'agent')?.stamp ?? [];
  const agent = readCurrent(state, 'agent');
  const isLast = agent?.session === conversation;
  const hasIt = Object.entries(state.sessions).filter(
    ([, { value }]) =>
      isLast && at !== undefined && value.agent === agent.name && value.writer === by && value.seenAt >= at,
  );
  const spoke = Object.entries(state.messages).filter(([, { value }]) => value.conversation === conversation);
  return new Set([...hasIt, ...spoke].map(([session]) => session as SessionId)); // the keys of both lists
}
