import {
  addUsage,
  byHand,
  emptyRow,
  type LedgerRow,
  meterName,
  noUsage,
  type Usage,
} from '../cost/ledger.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import type { Json, Millis } from '../types.ts';
import { latestTime, maxCount } from '../units.ts';
import { type Event, type Fact, journalOf, stampOf } from './facts.ts';
import { join } from './join.ts';
import { abandonedKey } from './left-behind.ts';
import {
  bounds,
  type Entry,
  type Limits,
  type List,
  type ListName,
  type Lists,
  type PartialState,
  type Session,
  type State,
} from './lists.ts';
import type { RunPart } from './runs.ts';
import { hasEnded, isLifecycle, transition } from './transition.ts';

/** Is the event counted already? The mark is in the same state as the totals. */
function isFolded(state: State, event: Event): boolean {
  return (lookUp(lookUp(state.ledger, event.by)?.value.folded ?? {}, journalOf(event)) ?? 0) >= event.end;
}

/** Folds an event into a state, once. */
export function fold(state: State, event: Event, limits: Limits = bounds): State {
  return isFolded(state, event) ? state : join(state, atom(state, event), limits);
}

export function foldAll(state: State, events: readonly Event[], limits: Limits = bounds): State {
  return events.reduce((folded, event) => fold(folded, event, limits), state);
}

/** The smallest state that holds an event: its entry, its session's new status, and the mark that counts it. */
function atom(state: State, event: Event): PartialState {
  const { fact } = event;
  const session = sessionEntry(lookUp(state.sessions, event.session), event);
  const run = runEntry(state.runs, event);
  const stamps = [session.sessions, run.runs].flatMap((list) =>
    Object.values(list ?? {}).map(({ stamp }) => stamp[0]),
  );
  return {
    clock: Math.max(event.at, ...stamps),
    ...entryOf(event, fact),
    ...session,
    ...run,
    ...entry(event, 'ledger', event.by, rowAfter(lookUp(state.ledger, event.by)?.value ?? emptyRow, event)),
  };
}

function entry<L extends ListName>(
  event: Event,
  list: L,
  key: string,
  value: Lists[L],
): { [K in L]?: List<Lists[L]> } {
  const entries: List<Lists[L]> = { [key]: { value, stamp: stampOf(event) } };
  return { [list]: entries } as { [K in L]?: List<Lists[L]> }; // a computed key loses its literal type
}

/**
 * An entry that only one session's journal writes. Its events come in the journal's order, so each must replace the one
 * before, whatever the clock said.
 */
function replaceEntry<T>(known: Entry<T> | undefined, event: Event, value: T): Entry<T> {
  const at = known ? Math.max(event.at, known.stamp[0] + 1) : event.at;
  return { value, stamp: [Math.min(at, latestTime), event.by, event.offset] };
}

function sessionEntry(known: Entry<Session> | undefined, event: Event): { sessions?: List<Session> } {
  const value = sessionAfter(known?.value, event);
  return value === null ? {} : { sessions: { [event.session]: replaceEntry(known, event, value) } };
}

function runEntry(runs: List<RunPart>, event: Event): { runs?: List<RunPart> } {
  const { fact, session } = event;
  if (fact.kind !== 'run' && fact.kind !== 'task' && fact.kind !== 'effect') return {};
  const key = `${fact.run}@${session}`;
  const known = lookUp(runs, key);
  return { runs: { [key]: replaceEntry(known, event, runAfter(known?.value ?? emptyPart, fact, event.at)) } };
}

const emptyPart: RunPart = { head: null, tasks: {}, effects: {} };

function runAfter(part: RunPart, fact: Extract<Fact, { run: string }>, at: Millis): RunPart {
  switch (fact.kind) {
    case 'run': {
      const { kind: _, run: __, ...head } = fact;
      return { ...part, head: { ...head, at } };
    }
    case 'task': {
      const { kind: _, run: __, id, shards, completes: ___, ...record } = fact;
      const task = { ...record, at };
      const tasks = shards === undefined ? { ...part.tasks, [id]: task } : noteOpen(part.tasks, id, task);
      return { ...part, tasks };
    }
    case 'effect': {
      const { kind: _, run: __, id, shards, completes: ___, content: given, ...record } = fact;
      const effect = { ...record, at };
      if (shards !== undefined) return { ...part, effects: noteOpen(part.effects, id, effect) };
      // The content is recorded once, when the effect is planned.
      const content = given ?? lookUp(part.effects, id)?.content;
      const whole = { ...effect, ...(content !== undefined && { content }) };
      return { ...part, effects: { ...part.effects, [id]: whole } };
    }
  }
}

/** How many open tasks and effects of a run with shards are in the document, for the brief. */
export const mostOpen = 40;

const closed: readonly string[] = ['succeeded', 'skipped', 'pending', 'acknowledged', 'undone'];

/** Of a run whose records are in shards, the document knows only the newest that are not done. */
function noteOpen<T extends { readonly status: string; readonly at: Millis; readonly worker?: unknown }>(
  open: Keyed<T>,
  id: string,
  record: T,
): Keyed<T> {
  const others = Object.entries(open).filter(([other]) => other !== id);
  // An agent's task that is pending waits for somebody.
  const isWaiting = record.status === 'pending' && record.worker !== undefined;
  if (closed.includes(record.status) && !isWaiting) return Object.fromEntries(others);
  const newest = others.sort(([a, x], [b, y]) => y.at - x.at || (a < b ? -1 : 1)).slice(0, mostOpen - 1);
  return Object.fromEntries([...newest, [id, record]]);
}

function sessionAfter(known: Session | undefined, { fact, at, by }: Event): Session | null {
  if (fact.kind === 'session_started') {
    const { number, agent, parentSessionId, forCalls, host } = fact;
    const begun = { number, agent, parentSessionId, writer: by, startedAt: at, seenAt: at };
    return {
      ...begun,
      status: 'initializing',
      endedAt: null,
      reason: null,
      worked: 0,
      checkpoints: 0,
      latestCheckpointId: null,
      ...(forCalls && { forCalls }),
      ...(host !== undefined && { host }),
    };
  }
  if (known === undefined) return null; // it was dropped from the list long ago
  const status = transition(known.status, fact) ?? known.status;
  const ends = status !== known.status && hasEnded(status);
  const reason = ends && 'reason' in fact && fact.reason ? fact.reason : known.reason;
  // A restore by hand must not make its session the source of the brief.
  const isWork = !isLifecycle(fact) && fact.kind !== 'restored';
  const worked = Math.min(known.worked + (isWork ? 1 : 0), maxCount);
  const recovered = ends && fact.kind === 'session_recovered' ? { recovered: true as const } : {};
  return { ...known, status, reason, worked, endedAt: ends ? at : known.endedAt, seenAt: at, ...recovered };
}

/** Only the changed parts: the merge keeps the rest of the row. */
function rowAfter(row: LedgerRow, event: Event): LedgerRow {
  const { session, end, fact } = event;
  const folded = { [journalOf(event)]: end };
  const meters: { [name: string]: Usage } = {};
  // A journal is a file that others can write to: anything that is not an amount of money is ignored.
  if ((fact.kind === 'cost' || fact.kind === 'meter') && !isAmount(fact.usage))
    return { generation: row.generation, folded, meters };
  if (fact.kind === 'cost') {
    const name = meterName(session, fact.model ?? byHand);
    meters[name] = addUsage(lookUp(row.meters, name) ?? noUsage, fact.usage);
  } else if (fact.kind === 'meter') {
    meters[meterName(session, fact.model)] = fact.usage;
  }
  return { generation: row.generation, folded, meters };
}

function isAmount(usage: Usage | null | undefined): boolean {
  const { micros, guessed = 0, settled = 0, corrected = 0 } = usage ?? { micros: -1 };
  return [micros, guessed, settled, corrected].every((part) => Number.isSafeInteger(part) && part >= 0);
}

function entryOf(event: Event, fact: Fact): { readonly [L in ListName]?: List<Lists[L]> } {
  const { session } = event;
  switch (fact.kind) {
    case 'budget_set':
      return entry(event, 'current', 'budget', fact.limit);
    case 'current_set':
      return { ...entry(event, 'current', fact.key, fact.value), ...messageEntries(event, fact) };
    case 'note':
      return entry(event, 'notes', fact.id, { text: fact.text, resolvedAt: null, session });
    case 'tried':
      return entry(event, 'tried', fact.id, {
        text: fact.text,
        why: fact.why ?? null,
        resolvedAt: null,
        session,
      });
    case 'question': {
      const { kind: _, id, ...asked } = fact;
      return entry(event, 'questions', id, { ...asked, session });
    }
    case 'blocker':
      return entry(event, 'blockers', fact.id, { text: fact.text, resolvedAt: fact.resolvedAt, session });
    case 'decision':
      return entry(event, 'decisions', fact.id, {
        text: fact.text,
        rationale: fact.rationale,
        session,
        ...(fact.by && { by: fact.by }),
      });
    case 'file': {
      const { kind: _, path, ...change } = fact;
      return entry(event, 'files', path, { ...change, session });
    }
    case 'issue': {
      const { kind: _, id, ...update } = fact;
      return entry(event, 'issues', id, { ...update, session });
    }
    case 'gate': {
      const { kind: _, name, ...result } = fact;
      return entry(event, 'gates', name, { ...result, session });
    }
    case 'restored': {
      const { kind: _, ...code } = fact;
      return entry(event, 'current', 'restored', { ...code, session, at: event.at });
    }
    case 'abandoned': {
      const { kind: _, ...work } = fact;
      return entry(event, 'current', abandonedKey(session), work);
    }
    case 'session_started':
    case 'session_joined':
    case 'session_running':
    case 'session_paused':
    case 'session_completed':
    case 'session_failed':
    case 'session_recovered':
    case 'budget_exceeded':
    case 'cost':
    case 'meter':
    case 'run':
    case 'task':
    case 'effect':
      return {}; // these are in the session, the ledger and the runs
    default: {
      fact satisfies never;
      return {}; // a fact of a later orch: counted and kept in the history, but not understood
    }
  }
}

type Fields = { readonly [key: string]: Json };
type MessageLists = Pick<PartialState, 'requests' | 'goals' | 'messages'>;

/**
 * The further entries for something that was said: requests are listed one by one, the first ones for good, and each
 * session keeps its agent's last message.
 */
function messageEntries(event: Event, { key, value }: Extract<Fact, { kind: 'current_set' }>): MessageLists {
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
  const request: Lists['requests'] = {
    text,
    kind: key === 'asked' ? 'request' : kind === 'question' ? 'question' : 'reply',
    to: textOrNull(to),
    session,
  };
  const entry = { [`${journalOf(event)}@${event.offset}`]: { value: request, stamp } };
  return { requests: entry, ...(isSubstantial(request) && { goals: entry }) };
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** "fix it" tells an outsider nothing; five words can. */
function isSubstantial({ kind, text }: Lists['requests']): boolean {
  return kind === 'request' && text.split(/\s+/).length >= 5;
}
