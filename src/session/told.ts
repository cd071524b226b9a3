import { sortNewest } from '../checkpoint/brief/items.ts';
import { lookUp } from '../keyed.ts';
import type { State } from '../state/lists.ts';
import type { SessionId } from '../types.ts';

/** What was asked for in a session, and what came of it, as far as the epic still knows. */
export type SessionTold = {
  /** What the user asked for, oldest first; answers such as "yes" are not among it. */
  readonly asked: readonly string[];
  /** What the agent said at the end of its last turn. */
  readonly result: string | null;
  /** What was committed meanwhile, oldest first. */
  readonly commits: readonly string[];
};

export function tellSession({ requests, goals, messages, commits }: State, session: SessionId): SessionTold {
  const said = sortNewest({ ...goals, ...requests }).reverse();
  return {
    asked: said.flatMap(({ value }) =>
      value.session === session && value.kind !== 'reply' ? [value.text] : [],
    ),
    result: lookUp(messages, session)?.value.text ?? null,
    commits: sortNewest(commits)
      .reverse()
      .flatMap(({ value }) => (value.session === session ? [value.subject] : [])),
  };
}
