import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';
import { type Clock, realClock, sleep } from './clock.ts';
import type { ControlGroup } from './control-group.ts';
import { hasInEnvironment, listProcesses, type ProcessRow, readProcess } from './process-table.ts';
import { selectTree, type TreeProcess } from './tree-members.ts';

export type { TreeProcess };

/** One attempt: a signal for all of them, and how long they have to go. */
export type EndStep = { readonly signal: NodeJS.Signals; readonly grace: Millis };

export type EndOptions = {
  /** An environment entry (`NAME=value`) by which processes that left the tree are still found (Linux). */
  readonly marker?: string;
  /** What the kernel knows of them, where it keeps them together. */
  readonly group?: ControlGroup | null;
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
 * Lists a process and its living descendants, what is left of its process group if it led one, with a marker also
 * the processes that carry it in their environment, and the members of its group. This process and its ancestors are
 * never among them.
 */
export function listTree(
  root: number | TreeProcess,
  marker?: string,
  group: ControlGroup | null = null,
): TreeProcess[] {
  return openTree(root, { ...(marker !== undefined && { marker }), group })
    .scan()
    .map(({ pid, startedAt }) => ({ pid, startedAt }));
}

/**
 * Ends a process and all that came from it: each signal goes to every one of them, and the next follows
 * when one is still there after the grace. Says what it took and which would not go. Where it cannot look, all that it
 * knows of is killed before it fails.
 */
export async function endTree(root: number | TreeProcess, options: EndOptions = {}): Promise<EndResult> {
  const { signals = defaultSteps, clock = realClock } = options;
  const tree = openTree(root, options);
  let by: NodeJS.Signals | null = null;
  try {
    // One that forks and ends may be missed by one look; the kernel's own list misses none.
    const enough = typeof options.group?.isPopulated() === 'boolean' ? 1 : 2;
    let quiet = 0;
    for (const { signal, grace } of signals) {
      const began = clock.elapsed();
      const told = new Set<string>();
      while (quiet < enough) {
        const isQuiet = tree.signal(signal, told).length === 0 && !options.group?.isPopulated();
        if (isQuiet) quiet += 1;
        else {
          quiet = 0;
          by = signal;
          if (clock.elapsed() - began >= grace) break;
        }
        if (quiet < enough) await sleep(pollInterval);
      }
    }
    const left = [...new Set([...tree.scan().map(({ pid }) => pid), ...(options.group?.list() ?? [])])];
    return { ended: left.length === 0, by, left };
  } catch (error) {
    tree.killKnown();
    throw error;
  }
}

type Tree = {
  /** Those that live now. Who was seen once stays known, also when its parent is gone. */
  scan(): ProcessRow[];
  /** Signals all who were not told yet, and lets the stopped ones go on, so that they can hear it. */
  signal(signal: NodeJS.Signals, told: Set<string>): ProcessRow[];
  /** Kills the group, the root and all that were seen, without looking at anything. */
  killKnown(): void;
};

type TreeOptions = Pick<EndOptions, 'marker' | 'group' | 'isOver'>;

function openTree(root: number | TreeProcess, options: TreeOptions): Tree {
  const { marker, group = null, isOver = () => false } = options;
  const known = new Map<string, TreeProcess>();
  let identity = typeof root === 'number' ? null : root;
  /** The process groups that have no other members. */
  let wholeGroups: readonly number[] = [];

  function scan(): ProcessRow[] {
    const table = listProcesses();
    const pid = typeof root === 'number' ? root : root.pid;
    // Asked after the listing: a root that is not over by then was the one listed.
    if (isOver()) identity = { pid, startedAt: never };
    identity ??= { pid, startedAt: table.get(pid)?.startedAt ?? never };
    const members = new Set(group?.list());
    const isMarked = (other: number) =>
      members.has(other) || (marker !== undefined && hasInEnvironment(other, marker));
    const rows = selectTree(table, { root: identity, self: process.pid, known: known.values(), isMarked });
    for (const row of rows) known.set(nameOf(row), row);
    const ours = new Set(rows.map((row) => row.pid));
    const shared = new Set([...table.values()].filter((row) => !ours.has(row.pid)).map((row) => row.group));
    wholeGroups = [...new Set(rows.map((row) => row.group))].filter((id) => id > 1 && !shared.has(id));
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
    if (name === 'SIGKILL') killGroups();
    return rows;
  }

  /** Those that fork can outrun a signal to one process after the other, and none to a whole group. */
  function killGroups(): void {
    group?.kill();
    for (const id of wholeGroups) killIfThere(-id);
  }

  function killKnown(): void {
    group?.kill();
    const pid = typeof root === 'number' ? root : root.pid;
    const pids = new Set([...known.values()].map((row) => row.pid));
    if (pid > 1 && pid !== process.ppid && !isOver()) pids.add(pid);
    for (const each of pids) killIfThere(each);
  }

  return { scan, signal, killKnown };
}

function nameOf({ pid, startedAt }: TreeProcess): string {
  return `${pid} ${startedAt}`;
}

/** Sends a signal, unless the pid is another process's by now. */
function send(row: ProcessRow, signal: NodeJS.Signals): void {
  if (readProcess(row)?.startedAt === row.startedAt) signalIfThere(row.pid, signal);
}

/** Kills a process, or with a negative number a whole process group; that it is gone is as good. */
export function killIfThere(pid: number): void {
  signalIfThere(pid, 'SIGKILL');
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Gone meanwhile, or another user's: the next scan tells which.
    if (!['ESRCH', 'EPERM'].includes(systemCode(error) ?? '')) throw error;
  }
}
