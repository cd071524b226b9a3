import { readlinkSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { number, orNull, text, withFields } from '../../checks.ts';
import { hash } from '../../digest.ts';
import { systemCode } from '../../errors.ts';
import { readTextIfThere, realPath, statIfThere } from '../disk.ts';

/** Identifies a process, so that a later one can tell whether it still runs. */
export type ProcessIdentity = {
  readonly host: string;
  readonly boot: string | null;
  readonly pidNamespace: string | null;
  readonly pid: number;
  /** In system ticks; differs when a pid is reused. */
  readonly startedAt: string | null;
};

export const isProcessIdentity = withFields<ProcessIdentity>({
  host: text,
  boot: orNull(text),
  pidNamespace: orNull(text),
  pid: number,
  startedAt: orNull(text),
});

/** Reads the fields of `/proc/<pid>/stat`, starting with the state; null without such a process or without `/proc`. */
export function readStat(pid: number): string[] | null {
  try {
    const stat = readTextIfThere(`/proc/${pid}/stat`);
    // The second field is the command in parentheses, which may itself contain spaces and parentheses.
    return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? null;
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return null; // it ended during the read
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
    return null; // no /proc: with an unknown namespace, no process counts as "elsewhere"
  }
}

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
 * Finds the process that called this one, past the shells in between, which end with the call. Without `/proc`, this
 * is the parent.
 */
export function findCaller(pid = process.ppid): number {
  const name = readTextIfThere(`/proc/${pid}/comm`) ?? '';
  const parent = Number(readStat(pid)?.[1]);
  return shells.test(name) && parent > 1 ? findCaller(parent) : pid;
}

/** Tells whether a process is an ancestor of this one; false if unknown. */
export function isAncestorProcess(pid: number, child = process.pid): boolean {
  const parent = Number(readStat(child)?.[1]);
  return parent > 1 && (parent === pid || isAncestorProcess(pid, parent));
}

/** Signals an ancestor of this process, whose pid cannot have been reused; false if it is not certainly one. */
export function signalAncestor(pid: number, signal: NodeJS.Signals): boolean {
  return isAncestorProcess(pid) && process.kill(pid, signal);
}

/** Reads a process's command line, program first: empty if the process is gone, null if unknown (no `/proc`). */
export function readArguments(pid: number): string[] | null {
  if (process.platform !== 'linux') return null;
  return readTextIfThere(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
}

export function identifyThisProcess(): ProcessIdentity {
  return identifyProcess(process.pid);
}

/** Tells whether a process still runs. `elsewhere`: it is on another machine or in another container. */
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

/** In a container without an init, a zombie stays forever. */
function isZombie(pid: number): boolean {
  const stat = readStat(pid);
  // A process whose main thread ended first looks like a zombie too, but still runs.
  return stat !== null && /^[ZX]/.test(stat[0] ?? '') && Number(stat[17]) <= 1;
}

/** Tells whether a pid is in use, by any user. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM'; // it exists and belongs to another user
  }
}

export function hostName(): string {
  return hostname();
}

let machine: string | null = null;

/** Identifies this machine across restarts, without revealing its name. */
export function machineId(): string {
  machine ??= hash('sha256', `orch\0${readTextIfThere('/etc/machine-id') || hostname()}`).slice(0, 16);
  return machine;
}

/** Tells whether this user owns a file; true on systems without users. */
export function isOwnFile(path: string): boolean {
  const user = process.geteuid?.();
  return user === undefined || statIfThere(path)?.uid === user;
}

/** The folders where agents keep the user's data, as set by their own variables. */
export function userFolders() {
  const userHome = homedir();
  return {
    userHome,
    claudeHome: process.env.CLAUDE_CONFIG_DIR || join(userHome, '.claude'),
    codexHome: process.env.CODEX_HOME || join(userHome, '.codex'),
  };
}

/** The command that starts this program again. */
export function thisCommand(): readonly string[] {
  return [process.execPath, realPath(process.argv[1] ?? '')];
}

export function nodeVersion(): string {
  return process.versions.node;
}
