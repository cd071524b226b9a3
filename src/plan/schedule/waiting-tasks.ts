import { openClaims } from './claims.ts';

/** Tasks that wait only for files, and the running tasks that hold those files. */
export type WaitingTasks<T> = {
  add(task: T): void;
  /** Takes the first task that can start beside the running ones, and counts it as running; null if none can. */
  take(): T | null;
  /** Frees the files of a task that has ended. */
  release(task: T): void;
  isEmpty(): boolean;
};

type WaitingRules<T> = {
  /** The task's position in the plan's order; lower ranks start first. */
  readonly rankOf: (task: T) => number;
  /** Whether nothing may run beside this task. */
  readonly isExclusive: (task: T) => boolean;
};

/**
 * Opens a set of waiting tasks. A task whose file is taken joins that file's queue. When the file may be free, only the
 * first of the queue is tried: the others want the same file, so they would conflict with it. An exclusive task starts
 * when it is first and nothing is running; until then others may pass it. The cost of a step depends on what changes,
 * not on how many tasks wait.
 */
export function openWaitingTasks<T extends { readonly files: readonly string[] }>({
  rankOf,
  isExclusive,
}: WaitingRules<T>): WaitingTasks<T> {
  const claims = openClaims<T>();
  const candidates = openQueue(rankOf);
  const exclusive = openQueue(rankOf);
  const queues = new Map<string, Queue<T>>();
  /** The queue each candidate came from: if another file blocks the candidate, the next of that queue is tried. */
  const cameFrom = new Map<T, string>();
  /** The running tasks, each with the queues that wait for it. */
  const running = new Map<T, Set<string>>();
  let isExclusiveRunning = false;
  let size = 0;

  function promoteNext(file: string): void {
    const task = queues.get(file)?.shift();
    if (task === undefined) return;
    if (queues.get(file)?.first() === undefined) queues.delete(file);
    cameFrom.set(task, file);
    candidates.add(task);
  }

  function enqueue(task: T, file: string, holder: T): void {
    const queue = queues.get(file) ?? openQueue(rankOf);
    queues.set(file, queue);
    queue.add(task);
    running.get(holder)?.add(file);
  }

  function start(task: T): T {
    size -= 1;
    isExclusiveRunning = isExclusive(task);
    claims.add(task, task.files);
    running.set(task, new Set(task.files.filter((file) => queues.has(file))));
    return task;
  }

  function take(): T | null {
    while (!isExclusiveRunning) {
      const [single, next] = [exclusive.first(), candidates.first()];
      const isSingleFirst = single && (next === undefined || rankOf(single) < rankOf(next));
      if (isSingleFirst && running.size === 0) {
        exclusive.shift();
        return start(single);
      }
      if (next === undefined) return null;
      candidates.shift();
      const from = cameFrom.get(next);
      cameFrom.delete(next);
      const conflict = claims.findConflict(next.files);
      if (conflict === null) return start(next);
      enqueue(next, conflict.file, conflict.holder);
      if (from !== undefined && from !== conflict.file) promoteNext(from);
    }
    return null;
  }

  return {
    add: (task) => {
      size += 1;
      (isExclusive(task) ? exclusive : candidates).add(task);
    },
    take,
    release: (task) => {
      const waiting = running.get(task);
      if (!running.delete(task)) return;
      isExclusiveRunning = false;
      claims.release(task);
      for (const file of waiting ?? []) promoteNext(file);
    },
    isEmpty: () => size === 0,
  };
}

type Queue<T> = { add(task: T): void; first(): T | undefined; shift(): T | undefined };

/** Opens a queue of tasks ordered by rank. */
function openQueue<T>(rankOf: (task: T) => number): Queue<T> {
  const tasks: T[] = [];
  // Removing from the front moves this index: moving thousands of tasks up for each removal would dominate the cost.
  let head = 0;
  return {
    add: (task) => {
      let [from, to] = [head, tasks.length];
      while (from < to) {
        const middle = (from + to) >> 1;
        const other = tasks[middle];
        if (other !== undefined && rankOf(other) < rankOf(task)) from = middle + 1;
        else to = middle;
      }
      tasks.splice(from, 0, task);
    },
    first: () => tasks[head],
    shift: () => {
      const task = tasks[head];
      if (task !== undefined) head += 1;
      if (head > 64 && head * 2 > tasks.length) {
        tasks.splice(0, head);
        head = 0;
      }
      return task;
    },
  };
}
