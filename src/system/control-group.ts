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
import { pidExists } from './process.ts';

/**
 * The processes that came from one command, as the kernel itself keeps them together (cgroup v2). None leaves it by
 * changing its parent, its session or its environment.
 */
export type ControlGroup = {
  readonly path: string;
  /** Calls `launch`; the process it starts is in the group from its first instruction on. */
  startIn<T>(launch: () => T): T;
  /** Those in it now, also in groups below it. */
  list(): number[];
  /** Ends all of them at once, however fast they fork. It takes neither descriptors nor memory. */
  kill(): void;
  /** Is somebody in it? Null where it does not tell, because something was started that is not in it. */
  isPopulated(): boolean | null;
  /** Lets go of it, and removes it if it is empty. */
  close(): void;
};

/** `0` stands for the writing process. */
const thisProcess = Buffer.from('0');
const all = Buffer.from('1');

/** Makes a group below the one this process is in; null where the system has none, or does not let us. */
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

/** Opens a group that a process made which is gone by now; null where the group is gone too. */
export function openControlGroup(path: string): ControlGroup | null {
  if (!/^orch-\d+-\w+$/.test(basename(path)) || !existsSync(join(path, 'cgroup.kill'))) return null;
  try {
    return open(path, dirname(path));
  } catch {
    return null; // removed meanwhile
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
    // Opened now: when descriptors have run out, it must still be possible to end them.
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
  /** Was something started that is not in it, or is this process itself in it? Then it proves nothing. */
  let isBroken = listMembers(path).includes(process.pid);
  return {
    path,
    startIn: (launch) => {
      // A child begins where its parent is. Starting it is one synchronous call, so nothing else gets in meanwhile.
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
    return false; // the kernel does not let us: the caller goes on without it
  }
}

function listMembers(path: string): number[] {
  try {
    const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const pids = readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    // A process of another pid namespace reads as 0.
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

/** Removes a group and those below it, as far as they are empty: the kernel removes no other. */
function remove(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(path, entry.name));
    rmdirSync(path);
  } catch {
    // gone already, or somebody is in it
  }
}

/** Removes the groups of processes that were killed before they could. */
function removeAbandoned(above: string): void {
  for (const name of listOurs(above)) {
    const [, pid] = /^orch-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !pidExists(Number(pid))) remove(join(above, name));
  }
}

function listOurs(above: string): string[] {
  try {
    return readdirSync(above).filter((name) => name.startsWith('orch-'));
  } catch {
    return []; // not to be read: then there is none of ours
  }
}

/** The folder of the group this process is in; null where there is no cgroup v2. */
function findOwnGroup(): string | null {
  if (process.platform !== 'linux') return null;
  try {
    const [, group] = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
    const [, root, mount] = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(mounts) ?? [];
    if (group === undefined || root === undefined || mount === undefined) return null;
    const isBelow = root === '/' || group === root || group.startsWith(`${root}/`);
    if (group.includes('/..') || !isBelow) return null; // it is outside of what this container sees
    return join(mount, root === '/' ? group : group.slice(root.length));
  } catch {
    return null; // no /proc
  }
}
