import type { Json } from '../types.ts';
import { type Event, type Fact, journalOf, stampOf } from './facts.ts';
import type { Lists, PartialState } from './lists.ts';

type Fields = { readonly [key: string]: Json };
type Said = Pick<PartialState, 'requests' | 'goals' | 'messages'>;

/**
 * What was said, besides being the last word: a request stays beside those before it, the first ones for good, and each
 * session keeps what its agent said last.
 */
export function sayingOf(event: Event, { key, value }: Extract<Fact, { kind: 'current_set' }>): Said {
  if (key !== 'asked' && key !== 'replied' && key !== 'lastMessage') return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const { text, kind, to, conversation }: Fields = value;
  if (typeof text !== 'string' || text === '') return {};
  const { session } = event;
  const stamp = stampOf(event);
  if (key === 'lastMessage')
    return {
      messages: { [session]: { value: { text, conversation: textOrNull(conversation), session }, stamp } },
    };
  const said: Lists['requests'] = {
    text,
    kind: key === 'asked' ? 'request' : kind === 'question' ? 'question' : 'reply',
    to: textOrNull(to),
    session,
  };
  const entry = { [`${journalOf(event)}@${event.offset}`]: { value: said, stamp } };
  return { requests: entry, ...(isSubstantial(said) && { goals: entry }) };
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** "fix it" says nothing to who was not there; a handful of words can. */
function isSubstantial({ kind, text }: Lists['requests']): boolean {
  return kind === 'request' && text.split(/\s+/).length >= 5;
}
