import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { number, orNull, text, withFields } from '../checks.ts';
import { hash } from '../digest.ts';
import { systemCode } from '../errors.ts';
import { readTextIfThere, statIfThere } from './files.ts';

/** Which process this is, so that a later one can tell whether it still runs. */
export type ProcessIdentity = {
  readonly host: string;
  readonly boot: string | null;
  readonly pidNamespace: string | null;
  readonly pid: number;
  /** In the system's own ticks; a pid that is used again has another. */
  readonly startedAt: string | null;
};

/** Is this a process as it was written to a file? */
export const isProcessIdentity = withFields<ProcessIdentity>({
  host: text,
  boot: orNull(text),
  pidNamespace: orNull(text),
  pid: number,
  startedAt: orNull(text),
});

/**
 * What Linux says of a process in `/proc/<pid>/stat`, from its state on; null where there is no such process,
 * or no `/proc`.
 */
export function readStat(pid: number): string[] | null {
  try {
    const stat = readTextIfThere(`/proc/${pid}/stat`);
    // The second field is the command in parentheses, which may itself hold spaces and parentheses.
    return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? null;
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return null; // it ended while it was being read
    throw error;
  }
}

function startTimeOf(pid: number): string | null {
  return readStat(pid)?.[19] ?? null;
}

function readLinkIfThere(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // no /proc here: the namespace is unknown, and unknown never matches as "elsewhere"
  }
}

/** A process on this machine, as it is now. */
export function identifyProcess(pid: number): ProcessIdentity {
  return {
    host: machineId(),
    boot: readTextIfThere('/proc/sys/kernel/random/boot_id'),
    pidNamespace: readLinkIfThere('/proc/self/ns/pid'),
    pid,
    startedAt: startTimeOf(pid),
  };
}

const shells = /^(?:ba|da|a|z|k|mk|fi|tc|c)?sh\n?$/;

/**
 * The process that had this one started: shells between them only pass the call on, and are gone when it is answered.
 * Where they cannot be told (no `/proc`), the one above this.
 */
export function findCaller(pid = process.ppid): number {
  const name = readTextIfThere(`/proc/${pid}/comm`) ?? '';
  const parent = Number(readStat(pid)?.[1]);
  return shells.test(name) && parent > 1 ? findCaller(parent) : pid;
}

/** Was this process started by that one, or by one that it started? Where that cannot be told, no. */
export function isAbove(pid: number, child = process.pid): boolean {
  const parent = Number(readStat(child)?.[1]);
  return parent > 1 && (parent === pid || isAbove(pid, parent));
}

/** Signals a process that this one comes from. No other can have its pid then; false where that is not certain. */
export function signalAbove(pid: number, signal: NodeJS.Signals): boolean {
  return isAbove(pid) && process.kill(pid, signal);
}

/** The words a process was started with, its program first; null where that cannot be told (no `/proc`). */
export function readArguments(pid: number): string[] | null {
  return readTextIfThere(`/proc/${pid}/cmdline`)?.split('\0') ?? null;
}

export function identifyThisProcess(): ProcessIdentity {
  return identifyProcess(process.pid);
}

/**
 * Does the process still run? `elsewhere` where this one cannot tell:
 * another machine, or another container on this one.
 */
export function checkProcess(
  other: ProcessIdentity,
  self = identifyThisProcess(),
): 'alive' | 'dead' | 'elsewhere' {
  if (other.host !== self.host) return 'elsewhere';
  if (other.boot !== self.boot) return 'dead';
  if (other.pidNamespace !== self.pidNamespace) return 'elsewhere';
  if (!pidExists(other.pid)) return 'dead';
  return other.startedAt === startTimeOf(other.pid) && !isZombie(other.pid) ? 'alive' : 'dead';
}

/** One that ended, and that nobody buried: in a container without an init it stays for ever. */
function isZombie(pid: number): boolean {
  const stat = readStat(pid);
  // A main thread that ended before the others is shown alike, and its process goes on.
  return stat !== null && /^[ZX]/.test(stat[0] ?? '') && Number(stat[17]) <= 1;
}

/** Is there a process of this pid, whoever's it is? */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM'; // it exists, and is another user's
  }
}

/** What people call this machine. */
export function hostName(): string {
  return hostname();
}

let machine: string | null = null;

/** One word for this machine, the same after a restart, and not its name. */
export function machineId(): string {
  machine ??= hash('sha256', `orch\0${readTextIfThere('/etc/machine-id') || hostname()}`).slice(0, 16);
  return machine;
}

/** Does this user own the file? Where the system has no users, yes. */
export function isOwnFile(path: string): boolean {
  const user = process.geteuid?.();
  return user === undefined || statIfThere(path)?.uid === user;
}
