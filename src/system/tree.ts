import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';
import { type Clock, realClock, sleep } from './clock.ts';
import { hasInEnvironment, listProcesses, type ProcessRow, readProcess } from './process-table.ts';
import { selectTree, type TreeProcess } from './tree-members.ts';

export type { TreeProcess };

/** One attempt: a signal for all of them, and how long they have to go. */
export type EndStep = { readonly signal: NodeJS.Signals; readonly grace: Millis };

export type EndOptions = {
  /** An environment entry (`NAME=value`) by which processes that left the tree are still found (Linux). */
  readonly marker?: string;
  readonly signals?: readonly EndStep[];
  /** Is the root known to have ended? Then its pid may be another's, and only what it left behind is ended. */
  readonly isOver?: () => boolean;
  readonly clock?: Clock;
};

export type EndResult = {
  /** Is none of them left? */
  readonly ended: boolean;
  /** The last signal it took; null where nothing ran any more. */
  readonly by: NodeJS.Signals | null;
  readonly left: readonly number[];
};

const defaultSteps: readonly EndStep[] = [
  { signal: 'SIGINT', grace: 5_000 },
  { signal: 'SIGTERM', grace: 5_000 },
  { signal: 'SIGKILL', grace: 2_000 },
];
const pollInterval: Millis = 25;
/** A tree that forks faster than it can be stopped is signalled as far as it was seen. */
const mostFreezes = 100;
/** A start time no process has. */
const never = '';

/**
 * Lists a process and its living descendants, what is left of its process group if it led one, and with a marker also
 * the processes that carry it in their environment. This process and its ancestors are never among them.
 */
export function listTree(root: number | TreeProcess, marker?: string): TreeProcess[] {
  return openTree(root, marker)
    .scan()
    .map(({ pid, startedAt }) => ({ pid, startedAt }));
}

/**
 * Ends a process and all that came from it: each signal goes to every one of them, and the next follows
 * when one is still there after the grace. Says what it took and which would not go.
 */
export async function endTree(root: number | TreeProcess, options: EndOptions = {}): Promise<EndResult> {
  const { signals = defaultSteps, clock = realClock } = options;
  const tree = openTree(root, options.marker, options.isOver);
  let by: NodeJS.Signals | null = null;
  for (const { signal, grace } of signals) {
    const began = clock.elapsed();
    const told = new Set<string>();
    while (tree.signal(signal, told).length > 0) {
      by = signal;
      if (clock.elapsed() - began >= grace) break;
      await sleep(pollInterval);
    }
  }
  const left = tree.scan().map(({ pid }) => pid);
  return { ended: left.length === 0, by, left };
}

type Tree = {
  /** Those that live now. Who was seen once stays known, also when its parent is gone. */
  scan(): ProcessRow[];
  /** Signals all who were not told yet, and lets the stopped ones go on, so that they can hear it. */
  signal(signal: NodeJS.Signals, told: Set<string>): ProcessRow[];
};

function openTree(root: number | TreeProcess, marker?: string, isOver = () => false): Tree {
  const known = new Map<string, TreeProcess>();
  const isMarked = marker === undefined ? () => false : (pid: number) => hasInEnvironment(pid, marker);
  let identity = typeof root === 'number' ? null : root;

  function scan(): ProcessRow[] {
    const table = listProcesses();
    const pid = typeof root === 'number' ? root : root.pid;
    // Asked after the listing: a root that is not over by then was the one listed.
    if (isOver()) identity = { pid, startedAt: never };
    identity ??= { pid, startedAt: table.get(pid)?.startedAt ?? never };
    const rows = selectTree(table, { root: identity, self: process.pid, known: known.values(), isMarked });
    for (const row of rows) known.set(nameOf(row), row);
    return rows;
  }

  /** Stops all of them, until no scan finds another: who is stopped cannot fork past the signal that follows. */
  function freeze(): ProcessRow[] {
    const stopped = new Set<string>();
    let rows = scan();
    for (let round = 0; round < mostFreezes && rows.some((row) => !stopped.has(nameOf(row))); round++) {
      for (const row of rows) {
        if (!stopped.has(nameOf(row))) send(row, 'SIGSTOP');
        stopped.add(nameOf(row));
      }
      rows = scan();
    }
    return rows;
  }

  function signal(name: NodeJS.Signals, told: Set<string>): ProcessRow[] {
    let rows = scan();
    const isNews = rows.some((row) => !told.has(nameOf(row)));
    // The first, polite signal stops nobody: a program may redraw its screen when it goes on.
    const freezes = isNews && name !== 'SIGINT';
    if (freezes) rows = freeze();
    for (const row of rows) {
      if (!told.has(nameOf(row))) send(row, name);
      told.add(nameOf(row));
      if (freezes || row.phase === 'stopped') send(row, 'SIGCONT');
    }
    return rows;
  }

  return { scan, signal };
}

function nameOf({ pid, startedAt }: TreeProcess): string {
  return `${pid} ${startedAt}`;
}

/** Sends a signal, unless the pid is another process's by now. */
function send(row: ProcessRow, signal: NodeJS.Signals): void {
  if (readProcess(row)?.startedAt !== row.startedAt) return;
  try {
    process.kill(row.pid, signal);
  } catch (error) {
    // Gone meanwhile, or another user's: the next scan tells which.
    if (!['ESRCH', 'EPERM'].includes(systemCode(error) ?? '')) throw error;
  }
}
