import { basename } from 'node:path';
import { readTextIfThere } from '../disk.ts';
import { readStat } from './identity.ts';
import { listProcesses } from './process-table.ts';

/** One process in a chain of parents. */
export type Ancestor = {
  readonly pid: number;
  /** Later processes have larger values; null if unknown. */
  readonly startedAt: number | null;
  /** Adopts processes whose parent ended, so it says nothing about their origin. */
  readonly isReaper: boolean;
  /** ORCH_SESSION in its environment. */
  readonly session: string | null;
};

export type Ancestry = {
  /** The process itself, its parent, and so on. */
  readonly chain: readonly Ancestor[];
  /** Null if unknown. */
  readonly hasTerminal: boolean | null;
  /** The names of its control groups. */
  readonly groups: readonly string[];
};

/** Init systems. Process 1 of a system or container is one whatever its name. */
const reapers = /^(systemd|init|launchd|tini|dumb-init|docker-init|catatonit|s6-svscan|runsvdir)$/;
/** A table that changes while it is read could contain a cycle. */
const longestChain = 256;

/** Finds where a process on this machine came from. */
export function traceAncestry(pid = process.pid): Ancestry {
  const chain = process.platform === 'linux' ? chainFromProc(pid) : chainFromPs(pid);
  return {
    chain,
    hasTerminal: findTerminal(pid),
    groups: readIfAllowed(`/proc/${pid}/cgroup`)
      .split('\n')
      .map((line) => basename(line)),
  };
}

function findTerminal(pid: number): boolean | null {
  if (process.platform === 'linux') return Number(readStat(pid)?.[4] ?? 0) !== 0;
  return pid === process.pid ? process.stdin.isTTY === true : null;
}

function chainFromProc(pid: number): Ancestor[] {
  const chain: Ancestor[] = [];
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

function chainFromPs(pid: number): Ancestor[] {
  const table = listProcesses();
  const chain: Ancestor[] = [];
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

/** Reads a file below `/proc`; empty if the process is gone or belongs to another user. */
function readIfAllowed(path: string): string {
  try {
    return readTextIfThere(path) ?? '';
  } catch {
    return '';
  }
}
