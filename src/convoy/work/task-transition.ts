import { lookUp } from '../../keyed.ts';
import type { TaskRecord } from '../../state/runs.ts';

/* The states of a convoy's task, and what leads from one to another. */

export const taskStates = [
  'needs_input',
  'held',
  'failed',
  'working',
  'checking',
  'merging',
  'ready',
  'waiting',
  'done',
  'cancelled',
  'skipped',
] as const;
/** The state of a task; what needs a person comes first. */
export type TaskState = (typeof taskStates)[number];

export const taskEvents = [
  /** It may be worked on: everything it needs has ended, or a person or a new scheduler continues it. */
  'opened',
  /** A worker begins. */
  'begun',
  /** Its worker died, and another one continues. */
  'died',
  /** Its worker ended before it heard what a person said, and continues with that. */
  'told',
  'asked',
  /** Its worker says that it is done. */
  'finished',
  'committed',
  'merged',
  /** Its work is not accepted, and it has another attempt. */
  'sent_back',
  /** Its work is not accepted, and it has no attempt left. */
  'given_up',
  'held',
  'cancelled',
] as const;
export type TaskEvent = (typeof taskEvents)[number];

/** A task that was interrupted continues with what its worker has done; any other begins. */
const anew = { opened: 'ready', cancelled: 'cancelled' } as const;
const onwards = { opened: 'working', held: 'held', cancelled: 'cancelled' } as const;
const judged = { sent_back: 'ready', given_up: 'failed' } as const;

/** Where each event leads from each state. Nothing else happens to a task. */
const table: { readonly [S in TaskState]: { readonly [E in TaskEvent]?: TaskState } } = {
  waiting: anew,
  ready: { begun: 'working', held: 'held', ...anew },
  working: {
    ...{ begun: 'working', died: 'working', told: 'working', asked: 'needs_input', finished: 'checking' },
    ...{ ...judged, ...onwards },
  },
  needs_input: onwards,
  checking: { committed: 'merging', ...judged, ...onwards },
  merging: { merged: 'done', ...judged, ...onwards },
  held: onwards,
  failed: anew,
  cancelled: anew,
  skipped: anew,
  // It is in a group that begins another round.
  done: { opened: 'ready' },
};

/** The state an event leads to; null if it cannot happen in this one. */
export function transition(from: TaskState, event: TaskEvent): TaskState | null {
  return lookUp<TaskState>(table[from], event) ?? null;
}

/** Reads the state of a task from its record. `isBlocked`: what it needs is not done. */
export function readTaskState(
  record: Pick<TaskRecord, 'status' | 'worker'> | undefined,
  isBlocked: boolean,
): TaskState {
  const step = record?.worker?.step;
  switch (record?.status) {
    case 'succeeded':
      return 'done';
    case 'failed':
      return 'failed';
    case 'skipped':
      return step === 'cancelled' ? 'cancelled' : 'skipped';
    case 'running':
    case 'pending':
      if (step === 'left_out') return 'skipped';
      return step ?? (record.status === 'running' ? 'working' : 'waiting');
    default:
      return isBlocked ? 'waiting' : 'ready';
  }
}
