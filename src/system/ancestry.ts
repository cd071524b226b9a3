import { basename } from 'node:path';
import { readTextIfThere } from './files.ts';
import { readStat } from './process.ts';
import { listProcesses } from './process-table.ts';

/** What the system says of a process, as far as it tells where it came from. */
export type Forebear = {
  readonly pid: number;
  /** Grows with time, on the scale of this system; null where it is not known. */
  readonly startedAt: number | null;
  /** Does it adopt processes whose parent is gone? Then it says nothing of where they came from. */
  readonly isReaper: boolean;
  /** The session in the environment it was started with. */
  readonly session: string | null;
};

/** Where a process came from. */
export type Descent = {
  /** The process itself, its parent, and so on, up to the system's first one. */
  readonly chain: readonly Forebear[];
  /** Null where it is not known. */
  readonly hasTerminal: boolean | null;
  /** The names of the control groups it is in. */
  readonly groups: readonly string[];
};

/** Init systems and the like. The first process of a system or container is one whatever its name. */
const reapers = /^(systemd|init|launchd|tini|dumb-init|docker-init|catatonit|s6-svscan|runsvdir)$/;
/** Longer than any chain of processes; a table that changes while it is read could make a circle. */
const longestChain = 256;

/** Where a process of this machine came from; this one, where no other is named. */
export function traceDescent(pid = process.pid): Descent {
  const chain = process.platform === 'linux' ? chainFromProc(pid) : chainFromPs(pid);
  return {
    chain,
    hasTerminal: findTerminal(pid),
    groups: readIfAllowed(`/proc/${pid}/cgroup`)
      .split('\n')
      .map((line) => basename(line)),
  };
}

/** The words a process was started with; null where the system does not tell. */
export function readCommandLine(pid: number): string[] | null {
  return process.platform === 'linux' ? readIfAllowed(`/proc/${pid}/cmdline`).split('\0') : null;
}

function findTerminal(pid: number): boolean | null {
  if (process.platform === 'linux') return Number(readStat(pid)?.[4] ?? 0) !== 0;
  return pid === process.pid ? process.stdin.isTTY === true : null;
}

function chainFromProc(pid: number): Forebear[] {
  const chain: Forebear[] = [];
  for (let at = pid; at > 1 && chain.length < longestChain; ) {
    const stat = readStat(at);
    if (stat === null) break;
    const [, session = null] =
      /(?:^|\0)ORCH_SESSION=([^\0]+)/.exec(readIfAllowed(`/proc/${at}/environ`)) ?? [];
    const isReaper = reapers.test(readIfAllowed(`/proc/${at}/comm`).trim());
    chain.push({ pid: at, startedAt: Number(stat[19]), isReaper, session });
    at = Number(stat[1]);
  }
  return chain;
}

function chainFromPs(pid: number): Forebear[] {
  const table = listProcesses();
  const chain: Forebear[] = [];
  for (
    let row = table.get(pid);
    row && row.pid > 1 && chain.length < longestChain;
    row = table.get(row.parent)
  ) {
    const startedAt = Date.parse(row.startedAt);
    chain.push({
      pid: row.pid,
      startedAt: Number.isNaN(startedAt) ? null : startedAt,
      isReaper: false,
      session: null,
    });
  }
  return chain;
}

/** What stands in a file of the system's; nothing where it is gone, or another user's. */
function readIfAllowed(path: string): string {
  try {
    return readTextIfThere(path) ?? '';
  } catch {
    return '';
  }
}
