import { lookUp } from '../keyed.ts';
import { type Status, statuses } from '../types.ts';
import type { Fact } from './facts.ts';

type Lifecycle = Extract<Fact['kind'], `session_${string}` | 'budget_exceeded'>;

/** Where each lifecycle fact leads from each status. What is not here changes nothing. */
const table: { readonly [S in Status]: { readonly [K in Lifecycle]?: Status } } = {
  initializing: {
    session_running: 'running',
    session_paused: 'paused',
    session_completed: 'completed',
    session_failed: 'failed',
    session_recovered: 'failed',
    budget_exceeded: 'budget_exceeded',
  },
  running: {
    session_paused: 'paused',
    session_completed: 'completed',
    session_failed: 'failed',
    session_recovered: 'failed',
    budget_exceeded: 'budget_exceeded',
  },
  // What is over for now can still be called done. A session that calls share is over between them.
  paused: { session_joined: 'initializing', session_completed: 'completed' },
  budget_exceeded: { session_joined: 'initializing', session_completed: 'completed' },
  failed: { session_completed: 'completed' },
  completed: {},
};

/** Every way from one status to another: what IMPLEMENTATION draws. */
export function listTransitions(): { readonly from: Status; readonly fact: string; readonly to: Status }[] {
  return statuses.flatMap((from) => Object.entries(table[from]).map(([fact, to]) => ({ from, fact, to })));
}

/** The status a fact leads to, or null where it leads nowhere from here. */
export function transition(from: Status, fact: { readonly kind: string }): Status | null {
  return lookUp<Status>(table[from], fact.kind) ?? null;
}

/** Does a fact speak of the session itself, rather than of what was done in it? */
export function isLifecycle({ kind }: { readonly kind: string }): boolean {
  return kind.startsWith('session_') || kind.startsWith('budget_');
}

/** Is a session with this status over, as far as anyone recorded? */
export function hasEnded(status: Status): boolean {
  return status !== 'initializing' && status !== 'running';
}
