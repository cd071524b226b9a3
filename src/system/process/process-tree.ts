import { readFileSync, readlinkSync } from 'node:fs';
import { systemCode } from '../../errors.ts';
import type { Millis } from '../../types.ts';
import { type Clock, realClock, sleep } from '../clock.ts';
import type { ControlGroup } from './control-group.ts';
import { isOwnFile } from './identity.ts';
import {
  describeProcesses,
  hasInEnvironment,
  listProcesses,
  type NamedProcess,
  type ProcessRow,
  readProcess,
} from './process-table.ts';

/** One attempt: a signal for all processes, and how long they have to end. */
export type EndStep = { readonly signal: NodeJS.Signals; readonly grace: Millis };

type EndOptions = {
  /** An environment entry (`NAME=value`) by which processes that left the tree are found (Linux). */
  readonly marker?: string;
  /** The control group they were started in, if any. */
  readonly group?: ControlGroup | null;
  readonly signals?: readonly EndStep[];
  /** Whether the root has ended. Then its pid may be reused, and only what it left behind is ended. */
  readonly isOver?: () => boolean;
  readonly clock?: Clock;
};

export type EndResult = {
  /** Whether none is left. */
  readonly ended: boolean;
  /** The last signal that was needed; null if nothing was running. */
  readonly by: NodeJS.Signals | null;
  readonly left: readonly number[];
};

const defaultSteps: readonly EndStep[] = [
  { signal: 'SIGINT', grace: 5_000 },
  { signal: 'SIGTERM', grace: 5_000 },
  { signal: 'SIGKILL', grace: 2_000 },
];
const pollInterval: Millis = 25;
/** A tree that forks faster than it can be stopped is signalled as far as it is known. */
const maxFreezes = 100;
/** No process has this start time. */
const never = '';

/**
 * Lists a process and its living descendants, the rest of its process group if it led one, the processes with the
 * marker in their environment, and the members of its control group. Never lists this process or its ancestors.
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
 * Ends a process and everything it started. Each signal goes to all of them, and the next one follows if any is still
 * alive after the grace period. If listing fails, kills all known processes before throwing.
 */
export async function endTree(root: number | TreeProcess, options: EndOptions = {}): Promise<EndResult> {
  const { signals = defaultSteps, clock = realClock } = options;
  const tree = openTree(root, options);
  let by: NodeJS.Signals | null = null;
  try {
    // One scan may miss a process that forks and ends; the kernel's own list misses none.
    const enough = typeof options.group?.isPopulated() === 'boolean' ? 1 : 2;
    let quiet = 0;
    for (const { signal, grace } of signals) {
      const began = clock.elapsed();
      const signalled = new Set<string>();
      while (quiet < enough) {
        const isQuiet = tree.signal(signal, signalled).length === 0 && !options.group?.isPopulated();
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
  /** Lists the living processes. One that was seen before stays known, even after its parent ends. */
  scan(): ProcessRow[];
  /** Signals all that are not in `signalled` yet, and resumes stopped ones so that they react. */
  signal(signal: NodeJS.Signals, signalled: Set<string>): ProcessRow[];
  /** Kills the control group, the root and all known processes, without listing again. */
  killKnown(): void;
};

type TreeOptions = Pick<EndOptions, 'marker' | 'group' | 'isOver'>;

function openTree(root: number | TreeProcess, options: TreeOptions): Tree {
  const { marker, group = null, isOver = () => false } = options;
  const known = new Map<string, TreeProcess>();
  let identity = typeof root === 'number' ? null : root;
  /** The process groups without foreign members. */
  let wholeGroups: readonly number[] = [];

  function scan(): ProcessRow[] {
    const table = listProcesses();
    const pid = typeof root === 'number' ? root : root.pid;
    // Checked after the listing: if the root has not ended by then, it is the process that was listed.
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
    for (let round = 0; round < maxFreezes && rows.some((row) => !stopped.has(nameOf(row))); round++) {
      for (const row of rows) {
        if (!stopped.has(nameOf(row))) send(row, 'SIGSTOP');
        stopped.add(nameOf(row));
      }
      rows = scan();
    }
    return rows;
  }

  function signal(name: NodeJS.Signals, signalled: Set<string>): ProcessRow[] {
    let rows = scan();
    const hasNew = rows.some((row) => !signalled.has(nameOf(row)));
    // SIGINT freezes nothing: a program may redraw its screen when it is resumed.
    const freezes = hasNew && name !== 'SIGINT';
    if (freezes) rows = freeze();
    for (const row of rows) {
      if (!signalled.has(nameOf(row))) send(row, name);
      signalled.add(nameOf(row));
      if (freezes || row.phase === 'stopped') send(row, 'SIGCONT');
    }
    if (name === 'SIGKILL') killGroups();
    return rows;
  }

  /** Forking processes can outrun signals to single pids, but not one to a whole group. */
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

/** Sends a signal, unless the pid has been reused. */
function send(row: ProcessRow, signal: NodeJS.Signals): void {
  if (readProcess(row)?.startedAt === row.startedAt) signalIfThere(row.pid, signal);
}

/** Kills a process, or a whole process group given as a negative number. It may already be gone. */
export function killIfThere(pid: number): void {
  signalIfThere(pid, 'SIGKILL');
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Gone, or owned by another user: the next scan tells which.
    if (!['ESRCH', 'EPERM'].includes(systemCode(error) ?? '')) throw error;
  }
}

/** A process that cannot be confused with a later one that reuses its pid. */
export type TreeProcess = { readonly pid: number; readonly startedAt: string };

type Membership = {
  readonly root: TreeProcess;
  /** This process, which is spared along with its ancestors. */
  readonly self: number;
  /** Processes seen earlier, which belong to the tree even if their parent is gone. */
  readonly known: Iterable<TreeProcess>;
  /** Whether a process outside of the tree carries the marker or is in the control group. */
  readonly isMarked: (pid: number) => boolean;
};

/**
 * Selects the living processes of a tree: the root, the rest of the process group it led, known and marked processes,
 * the groups that any of these lead, and the descendants of all of them.
 */
export function selectTree(
  table: ReadonlyMap<number, ProcessRow>,
  { root, self, known, isMarked }: Membership,
): ProcessRow[] {
  const spared = listAncestors(table, self);
  const children = groupByParent(table);
  const found = new Map<number, ProcessRow>();
  const add = (row: ProcessRow): void => {
    if (spared.has(row.pid) || found.has(row.pid)) return;
    found.set(row.pid, row);
    for (const child of children.get(row.pid) ?? []) add(child);
  };
  for (const each of [root, ...known]) {
    const row = table.get(each.pid);
    if (row?.startedAt === each.startedAt) add(row);
  }
  // A pid is not reused while a group has its number: if the pid belongs to another process, so does the group.
  const leadsGroup = root.pid > 1 && (!table.has(root.pid) || found.has(root.pid));
  for (const row of table.values()) {
    if (found.has(row.pid) || spared.has(row.pid)) continue;
    if ((leadsGroup && row.group === root.pid) || isMarked(row.pid)) add(row);
  }
  // A process that lost its parent and its environment may still be in its group, as under sudo.
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const row of table.values()) if (found.get(row.group)?.group === row.group) add(row);
  }
  return [...found.values()].filter(({ phase }) => phase !== 'over');
}

/** Lists a process, its ancestors, and the system's own processes. */
function listAncestors(table: ReadonlyMap<number, ProcessRow>, self: number): Set<number> {
  const ancestors = new Set([0, 1]);
  let pid: number | undefined = self;
  while (pid !== undefined && !ancestors.has(pid)) {
    ancestors.add(pid);
    pid = table.get(pid)?.parent;
  }
  return ancestors;
}

function groupByParent(table: ReadonlyMap<number, ProcessRow>): Map<number, ProcessRow[]> {
  const children = new Map<number, ProcessRow[]>();
  for (const row of table.values()) {
    const siblings = children.get(row.parent);
    if (siblings === undefined) children.set(row.parent, [row]);
    else siblings.push(row);
  }
  return children;
}

/**
 * Finds processes that may have come from a command (Linux): they belong to this user, started after it, run in its
 * folder or below, and have lost their parent. They are only reported, never ended: one could be the user's own.
 */
export function findStrays(since: string, folder: string): NamedProcess[] {
  if (process.platform !== 'linux') return [];
  const table = listProcesses();
  const isLater = (row: ProcessRow) => Number(row.startedAt) >= Number(since);
  const isAbandoned = (row: ProcessRow): boolean => {
    const parent = table.get(row.parent);
    if (row.parent === 1 || parent === undefined) return true;
    return isLater(parent) ? parent.pid !== row.pid && isAbandoned(parent) : adopts(parent.pid);
  };
  const rows = [...table.values()].filter(
    (row) =>
      row.phase !== 'over' &&
      isLater(row) &&
      row.pid !== process.pid &&
      isOwnFile(`/proc/${row.pid}`) &&
      worksIn(row.pid, folder) &&
      isAbandoned(row),
  );
  return describeProcesses(rows.map(({ pid }) => pid));
}

/** Finds the processes whose current folder is this one or below (Linux; other systems do not tell). */
export function findWorkingIn(folder: string): NamedProcess[] {
  if (process.platform !== 'linux') return [];
  const rows = [...listProcesses().values()].filter(
    ({ pid, phase }) => phase !== 'over' && worksIn(pid, folder),
  );
  return describeProcesses(rows.map(({ pid }) => pid));
}

function worksIn(pid: number, folder: string): boolean {
  try {
    const current = readlinkSync(`/proc/${pid}/cwd`);
    return current === folder || current.startsWith(`${folder}/`);
  } catch {
    return false; // gone
  }
}

/** Tells whether a process adopts orphans, as a user's systemd does. */
function adopts(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'systemd\n';
  } catch {
    return false; // gone
  }
}
