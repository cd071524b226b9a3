import { openClaims } from './claims.ts';

export type WaitingTask = { readonly files: readonly string[] };

/** Tasks whose turn has come as far as their needs go, and those at work, whose files they may have to wait for. */
export type Waiting<T> = {
  add(task: T): void;
  /** The first that can begin beside those at work; it is one of them then. Null where none can. */
  take(): T | null;
  /** A task is no longer at work. */
  release(task: T): void;
  isEmpty(): boolean;
};

export type WaitingRules<T> = {
  /** Where a task stands among all: who can begin first, does. */
  readonly rankOf: (task: T) => number;
  /** Must nothing run beside this task? */
  readonly isAlone: (task: T) => boolean;
};

/**
 * Opens a waiting room. A task whose file is taken waits in that file's line, and of a line only the first is looked at
 * when the file may be free: all in it want the same file, so they would be in one another's way. One that must be
 * alone begins when it is the first and nothing is at work; until then others pass it. A step costs what changes with
 * it, not what waits.
 */
export function openWaiting<T extends WaitingTask>({ rankOf, isAlone }: WaitingRules<T>): Waiting<T> {
  const claims = openClaims<T>();
  const candidates = openLine(rankOf);
  const alone = openLine(rankOf);
  const lines = new Map<string, Line<T>>();
  /** Whom a line was asked to send: when another file keeps it, the next of that line is looked at. */
  const sentBy = new Map<T, string>();
  /** Those at work, each with the lines that wait for it. */
  const atWork = new Map<T, Set<string>>();
  let isAloneAtWork = false;
  let size = 0;

  function callNext(file: string): void {
    const task = lines.get(file)?.shift();
    if (task === undefined) return;
    if (lines.get(file)?.first() === undefined) lines.delete(file);
    sentBy.set(task, file);
    candidates.add(task);
  }

  function wait(task: T, file: string, holder: T): void {
    const line = lines.get(file) ?? openLine(rankOf);
    lines.set(file, line);
    line.add(task);
    atWork.get(holder)?.add(file);
  }

  function begin(task: T): T {
    size -= 1;
    isAloneAtWork = isAlone(task);
    claims.add(task, task.files);
    atWork.set(task, new Set(task.files.filter((file) => lines.has(file))));
    return task;
  }

  function take(): T | null {
    while (!isAloneAtWork) {
      const [single, next] = [alone.first(), candidates.first()];
      const isSinglesTurn = single && (next === undefined || rankOf(single) < rankOf(next));
      if (isSinglesTurn && atWork.size === 0) {
        alone.shift();
        return begin(single);
      }
      if (next === undefined) return null;
      candidates.shift();
      const from = sentBy.get(next);
      sentBy.delete(next);
      const conflict = claims.findConflict(next.files);
      if (conflict === null) return begin(next);
      wait(next, conflict.file, conflict.holder);
      if (from !== undefined && from !== conflict.file) callNext(from);
    }
    return null;
  }

  return {
    add: (task) => {
      size += 1;
      (isAlone(task) ? alone : candidates).add(task);
    },
    take,
    release: (task) => {
      const waitFor = atWork.get(task);
      if (!atWork.delete(task)) return;
      isAloneAtWork = false;
      claims.release(task);
      for (const file of waitFor ?? []) callNext(file);
    },
    isEmpty: () => size === 0,
  };
}

type Line<T> = { add(task: T): void; first(): T | undefined; shift(): T | undefined };

/** Tasks in the order of their ranks. */
function openLine<T>(rankOf: (task: T) => number): Line<T> {
  const tasks: T[] = [];
  // Where it begins: to move thousands up for each that leaves would cost more than all else.
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
