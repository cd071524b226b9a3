import { lookUp } from '../keyed.ts';
import type { Status } from '../types.ts';
import type { Fact } from './facts.ts';

type Lifecycle = Extract<Fact['kind'], `session_${string}` | 'budget_exceeded'>;

/** Where each lifecycle fact leads from each status. Anything not listed changes nothing. */
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
  // An ended session can still be completed. The session that a day's calls share is ended between calls.
  paused: { session_joined: 'initializing', session_completed: 'completed' },
  budget_exceeded: { session_joined: 'initializing', session_completed: 'completed' },
  failed: { session_completed: 'completed' },
  completed: {},
};

/** The status a fact leads to; null if it changes nothing. */
export function transition(from: Status, fact: { readonly kind: string }): Status | null {
  return lookUp<Status>(table[from], fact.kind) ?? null;
}

/** Is the fact about the session itself, rather than the work in it? */
export function isLifecycle({ kind }: { readonly kind: string }): boolean {
  return kind.startsWith('session_') || kind.startsWith('budget_');
}

/** Is a session with this status recorded as ended? */
export function hasEnded(status: Status): boolean {
  return status !== 'initializing' && status !== 'running';
}
