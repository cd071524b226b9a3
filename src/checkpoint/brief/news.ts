import { lookUp } from '../../keyed.ts';
import type { Entry, List, State } from '../../state/lists.ts';
import type { SessionId } from '../../types.ts';

/** Lists that say nothing by themselves: names for the others, money, and marks. */
const kept: ReadonlySet<string> = new Set(['clock', 'sessions', 'ledger']);

/**
 * What a conversation that goes on does not know yet: what was recorded since it last spoke, and not by itself. Null
 * where nothing is known of it.
 */
export function findNews(state: State, conversation: string): State | null {
  const own = new Set(
    Object.entries(state.messages).flatMap(
      ([session, { value }]) => (value.conversation === conversation ? [session as SessionId] : []), // the keys of this list are session ids
    ),
  );
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
