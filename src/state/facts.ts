import type { infer as Infer } from 'zod/mini';
import type { Millis, SessionId, WriterId } from '../types.ts';
import type { factShape } from './fact-shape.ts';
import type { Stamp } from './lists.ts';

/** One thing that happened in a session. Everything else is derived from facts. */
export type Fact = Infer<typeof factShape>;

/** A recorded fact: in which journal, where and when. */
export type Event = {
  readonly at: Millis;
  readonly by: WriterId;
  readonly session: SessionId;
  /** The journal it is in, if that is not named after the session: each of a day's calls has its own. */
  readonly journal?: SessionId | undefined;
  /** Where its record starts in the journal, and where the next one can. */
  readonly offset: number;
  readonly end: number;
  readonly fact: Fact;
};

/** The journal an event is counted under: the ledger has one mark per journal. */
export function journalOf({ journal, session }: Event): SessionId {
  return journal ?? session;
}

export function stampOf(event: Event): Stamp {
  return [event.at, event.by, event.offset];
}
