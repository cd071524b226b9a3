import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pidExists } from './identity.ts';

/**
 * All processes that came from one command, tracked by the kernel (cgroup v2). None can leave by changing its parent,
 * its session or its environment.
 */
export type ControlGroup = {
  readonly path: string;
  /** Calls `launch`; the process it starts is in the group from its first instruction. */
  startIn<T>(launch: () => T): T;
  /** The pids in it and in groups below it. */
  list(): number[];
  /** Kills all of them at once, however fast they fork. Needs no descriptors and no memory. */
  kill(): void;
  /** Null if unknown, because a process was started outside of it. */
  isPopulated(): boolean | null;
  /** Closes it, and removes it if it is empty. */
  close(): void;
};

/** The kernel reads `0` as the writing process. */
const thisProcess = Buffer.from('0');
const all = Buffer.from('1');

/** Makes a group below this process's own; null if the system has none or forbids it. */
export function createControlGroup(random: string): ControlGroup | null {
  const own = findOwnGroup();
  if (own === null) return null;
  removeAbandoned(own);
  const path = join(own, `orch-${process.pid}-${random}`);
  try {
    mkdirSync(path);
    return open(path, own);
  } catch {
    remove(path);
    return null; // read-only in most containers, another user's in some sessions
  }
}

/** Opens a group that another process made; null if it is gone. */
export function openControlGroup(path: string): ControlGroup | null {
  if (!/^orch-\d+-\w+$/.test(basename(path)) || !existsSync(join(path, 'cgroup.kill'))) return null;
  try {
    return open(path, dirname(path));
  } catch {
    return null; // just removed
  }
}

function open(path: string, above: string): ControlGroup {
  const opened: number[] = [];
  const openToWrite = (file: string): number => {
    const fd = openSync(file, 'w');
    opened.push(fd);
    return fd;
  };
  try {
    // Opened in advance: killing must work even when descriptors have run out.
    return control(path, opened, {
      enter: openToWrite(join(path, 'cgroup.procs')),
      leave: openToWrite(join(above, 'cgroup.procs')),
      kill: openToWrite(join(path, 'cgroup.kill')),
    });
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
}

function control(
  path: string,
  opened: readonly number[],
  fds: { readonly enter: number; readonly leave: number; readonly kill: number },
): ControlGroup {
  // If a process was started outside of the group, or this process is inside, its list proves nothing.
  let isBroken = listMembers(path).includes(process.pid);
  return {
    path,
    startIn: (launch) => {
      // A child starts in its parent's group. Starting it is one synchronous call, so nothing else gets in.
      isBroken = !tryWrite(fds.enter, thisProcess);
      try {
        return launch();
      } finally {
        if (!isBroken) isBroken = !tryWrite(fds.leave, thisProcess);
      }
    },
    list: () => (isBroken ? [] : listMembers(path)),
    kill: () => {
      if (!isBroken) tryWrite(fds.kill, all);
    },
    isPopulated: () => (isBroken ? null : !isUnpopulated(path)),
    close: () => {
      for (const fd of opened) closeSync(fd);
      remove(path);
    },
  };
}

function tryWrite(fd: number, bytes: Buffer): boolean {
  try {
    return writeSync(fd, bytes) === bytes.length;
  } catch {
    return false; // the kernel forbids it: the caller works without the group
  }
}

function listMembers(path: string): number[] {
  try {
    const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const pids = readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    // The kernel shows a process of another pid namespace as 0.
    return [...pids.filter((pid) => pid > 0), ...below.flatMap(({ name }) => listMembers(join(path, name)))];
  } catch (error) {
    if (!existsSync(path)) return [];
    throw error;
  }
}

function isUnpopulated(path: string): boolean {
  try {
    return /^populated 0$/m.test(readFileSync(join(path, 'cgroup.events'), 'utf8'));
  } catch {
    return !existsSync(path);
  }
}

/** Removes a group and those below it if they are empty; the kernel refuses otherwise. */
function remove(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(path, entry.name));
    rmdirSync(path);
  } catch {
    // already gone, or still in use
  }
}

/** Removes the groups of orch processes that were killed. */
function removeAbandoned(above: string): void {
  let names: string[] = [];
  try {
    names = readdirSync(above);
  } catch {
    return; // unreadable, so none of the groups is ours
  }
  for (const name of names) {
    const [, pid] = /^orch-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !pidExists(Number(pid))) remove(join(above, name));
  }
}

/** Finds the folder of this process's own group; null without cgroup v2. */
function findOwnGroup(): string | null {
  if (process.platform !== 'linux') return null;
  try {
    const [, group] = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
    const [, root, mount] = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(mounts) ?? [];
    if (group === undefined || root === undefined || mount === undefined) return null;
    const isBelow = root === '/' || group === root || group.startsWith(`${root}/`);
    if (group.includes('/..') || !isBelow) return null; // not visible in this container
    return join(mount, root === '/' ? group : group.slice(root.length));
  } catch {
    return null; // no /proc
  }
}
