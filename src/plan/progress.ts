import type { Sight } from '../session/look.ts';
import type { Reason } from '../session/watch.ts';
import type { Millis } from '../types.ts';
import type { EffectFact } from './effects.ts';
import type { Plan, Task } from './types.ts';

/** How a run stands. */
export type RunStatus = 'succeeded' | 'failed' | 'resume_needed' | 'blocked';
export type TaskStatus = 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped';

/** What a runner tells while it works. */
export type RunEvent =
  | { readonly kind: 'begun'; readonly task: Task; readonly attempt: number }
  | { readonly kind: 'retry'; readonly task: Task; readonly attempt: number; readonly reason: string }
  | {
      readonly kind: 'ended';
      readonly task: Task;
      readonly status: 'succeeded' | 'failed' | 'skipped';
      readonly attempts: number;
      readonly elapsed: Millis;
      /** Why it failed. */
      readonly reason: string | null;
      /** The end of what it printed, and where all of it is. */
      readonly output: string;
      readonly log: string;
    }
  /** An effect could not be done now: the run cannot go on. */
  | { readonly kind: 'held'; readonly task: Task; readonly reason: string }
  | { readonly kind: 'said'; readonly task: Task; readonly text: string }
  | { readonly kind: 'stopping'; readonly why: Reason }
  | Sight;

/** Where a task stands. */
export type TaskProgress = { readonly status: TaskStatus; readonly attempts: number };

/** How far the tasks and effects of a run are. */
export type Progress = {
  readonly tasks: ReadonlyMap<string, TaskProgress>;
  readonly effects: ReadonlyMap<string, Pick<EffectFact, 'task' | 'status'>>;
};

/** Where each task of a plan stands. One whose command succeeded is done when its effects are. */
export function listTasks(
  { tasks }: Plan,
  progress: Progress,
): (TaskProgress & Pick<Task, 'id' | 'number' | 'name'>)[] {
  const effects = new Map<string, EffectFact['status'][]>();
  for (const { task, status } of progress.effects.values())
    effects.set(task, [...(effects.get(task) ?? []), status]);
  return tasks.map(({ id, number, name }) => {
    const { status, attempts } = progress.tasks.get(id) ?? { status: 'pending', attempts: 0 };
    const open = (effects.get(id) ?? []).filter((each) => each !== 'acknowledged');
    const isOpen = status === 'succeeded' && open.length > 0;
    const now = !isOpen ? status : open.includes('blocked') ? 'failed' : 'running';
    return { id, number, name, status: now, attempts };
  });
}

/** What became of a run in this session. */
export type RunResult = {
  readonly status: RunStatus;
  /** Why it ended; `exit` where it had nothing more to do. */
  readonly why: Reason;
  /** What is wrong, where something is. */
  readonly reason: string | null;
  readonly tasks: ReadonlyMap<string, TaskProgress>;
  readonly effects: ReadonlyMap<string, EffectFact>;
  /** The number of the last checkpoint. */
  readonly saved: number | null;
};
