import type { infer as Infer } from 'zod/mini';
import type { Millis, SessionId, WriterId } from '../types.ts';
import type { factShape } from './fact-shape.ts';
import type { Stamp } from './lists.ts';

/** One thing that happened in a session. Everything else is derived from these. */
export type Fact = Infer<typeof factShape>;

/** A fact in its place: in which journal, where, and when. */
export type Event = {
  readonly at: Millis;
  readonly by: WriterId;
  readonly session: SessionId;
  /** The journal it stands in, where that is not named after its session: each call of a day has its own. */
  readonly journal?: SessionId | undefined;
  /** Where its record begins in the journal, and where the next one can. */
  readonly offset: number;
  readonly end: number;
  readonly fact: Fact;
};

/** What an event is counted under: each journal has its mark. */
export function journalOf({ journal, session }: Event): SessionId {
  return journal ?? session;
}

export function stampOf(event: Event): Stamp {
  return [event.at, event.by, event.offset];
}
