import { readdirSync, readFileSync } from 'node:fs';
import { OrchError } from '../../errors.ts';
import type { Millis } from '../../types.ts';
import { readStat } from './identity.ts';
import { inheritedEnvironment, readOutput } from './spawn.ts';

export type ProcessRow = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In the system's own format; differs when a pid is reused. */
  readonly startedAt: string;
  readonly phase: 'running' | 'stopped' | 'over';
  /** CPU time: its own, and that of its children that have ended. */
  readonly cpu: { readonly own: Millis; readonly ended: Millis };
};

/** Lists every process on this machine, by pid. */
export function listProcesses(): Map<number, ProcessRow> {
  const rows = process.platform === 'linux' ? listFromProc() : listFromPs();
  return new Map(rows.map((row) => [row.pid, row]));
}

/** Reads a process again, null if it is gone; returns it as listed where reading is expensive. */
export function readProcess(listed: ProcessRow): ProcessRow | null {
  return process.platform === 'linux' ? readFromProc(listed.pid) : listed;
}

function listFromProc(): ProcessRow[] {
  return readdirSync('/proc').flatMap((name) =>
    /^\d+$/.test(name) ? (readFromProc(Number(name)) ?? []) : [],
  );
}

function readFromProc(pid: number): ProcessRow | null {
  const stat = readStat(pid);
  const startedAt = stat?.[19];
  if (stat === null || startedAt === undefined) return null;
  // A process whose main thread ended first looks like a zombie, but still runs.
  const hasEnded = Number(stat[17]) <= 1;
  return {
    pid,
    parent: Number(stat[1]),
    group: Number(stat[2]),
    startedAt,
    phase: phaseOf(stat[0] ?? '', hasEnded),
    cpu: { own: readTicks(stat[11], stat[12]), ended: readTicks(stat[13], stat[14]) },
  };
}

/** Linux reports times in hundredths of a second, whatever the kernel counts in. */
function readTicks(...ticks: readonly (string | undefined)[]): Millis {
  return ticks.reduce((sum, each) => sum + (Number(each) || 0) * 10, 0);
}

function phaseOf(state: string, hasEnded = true): ProcessRow['phase'] {
  if (/^[ZX]/.test(state)) return hasEnded ? 'over' : 'running';
  return /^T/.test(state) ? 'stopped' : 'running';
}

/** `lstart` contains spaces, so it comes last. */
const psArguments = ['-axo', 'pid=,ppid=,pgid=,stat=,time=,lstart='];

/** Lists processes with `ps`, on systems without `/proc`. */
export function listFromPs(): ProcessRow[] {
  const stdout = readOutput('ps', psArguments, { ...inheritedEnvironment(), LC_ALL: 'C' });
  // `ps` lists at least itself: empty output must not pass for "nothing runs".
  if (!stdout) throw new OrchError('INTERNAL', 'the running processes could not be listed');
  return parsePs(stdout);
}

/** Parses the output of `ps`, one process per line. */
export function parsePs(text: string): ProcessRow[] {
  return [...text.matchAll(/^ *(\d+) +(\d+) +(\d+) +(\S+) +([\d:.-]+) +(.+?) *$/gm)].map(
    ([, pid, parent, group, state = '', time = '', startedAt = '']) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      startedAt,
      phase: phaseOf(state),
      cpu: { own: parseTime(time), ended: 0 },
    }),
  );
}

/** Parses `[[days-]hours:]minutes:seconds`, as `ps` prints CPU times. */
function parseTime(text: string): Millis {
  const [clock = '', days = '0'] = text.split('-').reverse();
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return (Number(days) * 86_400 + seconds) * 1_000;
}

/** Tells whether a process was started with this `NAME=value` in its environment; false if unknown. */
export function hasInEnvironment(pid: number, entry: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const environment = readFileSync(`/proc/${pid}/environ`);
    return environment.includes(entry) && environment.toString().split('\0').includes(entry);
  } catch {
    return false; // gone, or owned by another user
  }
}

/** A process to show to people; the command is empty if unknown. */
export type NamedProcess = { readonly pid: number; readonly command: string };

/** Adds command lines to pids, as far as the system knows them. */
export function describeProcesses(pids: readonly number[]): NamedProcess[] {
  return pids.map((pid) => ({ pid, command: readCommandLine(pid) }));
}

/** Enough to recognise a command. */
const longestCommand = 200;

function readCommandLine(pid: number): string {
  try {
    const words =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ')
        : readOutput('ps', ['-o', 'args=', '-p', String(pid)], inheritedEnvironment());
    return words.trim().slice(0, longestCommand);
  } catch {
    return ''; // gone, or out of descriptors
  }
}

const mostNamed = 5;

/** Formats processes: `pid 12 (sleep 60), pid 13 (sh)`. */
export function formatProcesses(processes: readonly NamedProcess[]): string {
  const names = processes
    .slice(0, mostNamed)
    .map(({ pid, command }) => `pid ${pid}${command && ` (${command})`}`);
  const more = processes.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Formats `; still running: pid 12 (sleep 60)` for the end of a sentence; empty if nothing is left. */
export function describeRemaining(left: readonly NamedProcess[]): string {
  return left.length === 0 ? '' : `; still running: ${formatProcesses(left)}`;
}
