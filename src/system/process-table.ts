import { readdirSync, readFileSync } from 'node:fs';
import { OrchError } from '../errors.ts';
import { readStat } from './process.ts';
import { inheritedEnvironment, readOutput } from './spawn.ts';

/** One process as the system lists it. */
export type ProcessRow = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In the system's own words; a pid that is used again has another. */
  readonly startedAt: string;
  readonly phase: 'running' | 'stopped' | 'over';
};

/** Every process of this machine, by pid. */
export function listProcesses(): Map<number, ProcessRow> {
  const rows = process.platform === 'linux' ? listFromProc() : listFromPs();
  return new Map(rows.map((row) => [row.pid, row]));
}

/** The process as it is now, null where it is gone; where asking again is costly, as it was listed. */
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
  // A main thread that ended before the others is shown like a zombie, and its process goes on.
  const hasEnded = Number(stat[17]) <= 1;
  return {
    pid,
    parent: Number(stat[1]),
    group: Number(stat[2]),
    startedAt,
    phase: phaseOf(stat[0] ?? '', hasEnded),
  };
}

function phaseOf(state: string, hasEnded = true): ProcessRow['phase'] {
  if (/^[ZX]/.test(state)) return hasEnded ? 'over' : 'running';
  return /^T/.test(state) ? 'stopped' : 'running';
}

/** `lstart` has spaces in it, so it comes last. */
const psArguments = ['-axo', 'pid=,ppid=,pgid=,stat=,lstart='];

/** Asks `ps`, where there is no `/proc` to read. */
export function listFromPs(): ProcessRow[] {
  const stdout = readOutput('ps', psArguments, { ...inheritedEnvironment(), LC_ALL: 'C' });
  // It lists at least itself: an empty answer must not pass for "nothing runs".
  if (!stdout) throw new OrchError('INTERNAL', 'the running processes cannot be listed');
  return parsePs(stdout);
}

/** Reads what `ps` prints, a process a line. */
export function parsePs(text: string): ProcessRow[] {
  return [...text.matchAll(/^ *(\d+) +(\d+) +(\d+) +(\S+) +(.+?) *$/gm)].map(
    ([, pid, parent, group, state = '', startedAt = '']) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      startedAt,
      phase: phaseOf(state),
    }),
  );
}

/** Was the process started with this `NAME=value` in its environment? No where the system does not tell. */
export function hasInEnvironment(pid: number, entry: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const environment = readFileSync(`/proc/${pid}/environ`);
    return environment.includes(entry) && environment.toString().split('\0').includes(entry);
  } catch {
    return false; // gone, or another user's
  }
}

/** A process for people: its pid, and its command line where that is known. */
export type NamedProcess = { readonly pid: number; readonly command: string };

/** Says of processes what they are, as far as the system tells. */
export function nameProcesses(pids: readonly number[]): NamedProcess[] {
  return pids.map((pid) => ({ pid, command: readCommandLine(pid) }));
}

/** Longer ones are cut: it is to be recognised, not to be repeated. */
const longestCommand = 200;

function readCommandLine(pid: number): string {
  try {
    const words =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ')
        : readOutput('ps', ['-o', 'args=', '-p', String(pid)], inheritedEnvironment());
    return words.trim().slice(0, longestCommand);
  } catch {
    return ''; // gone, or out of descriptors: the pid alone has to do
  }
}

const mostNamed = 5;

/** `pid 12 (sleep 60), pid 13 (sh)`. */
export function listNames(processes: readonly NamedProcess[]): string {
  const names = processes
    .slice(0, mostNamed)
    .map(({ pid, command }) => `pid ${pid}${command && ` (${command})`}`);
  const more = processes.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** `; still running: pid 12 (sleep 60)`, or nothing: for the end of a sentence that says what was ended. */
export function describeLeft(left: readonly NamedProcess[]): string {
  return left.length === 0 ? '' : `; still running: ${listNames(left)}`;
}
