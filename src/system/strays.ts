import { readFileSync, readlinkSync } from 'node:fs';
import { isOwnFile } from './process.ts';
import { listProcesses, type NamedProcess, nameProcesses, type ProcessRow } from './process-table.ts';

/**
 * Finds what may have come from a command, though nothing proves it: processes of this user that began after it, work
 * in its folder or below, and were left by their parents (Linux). They are named, never ended: one could be the user's.
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
  return nameProcesses(rows.map(({ pid }) => pid));
}

function worksIn(pid: number, folder: string): boolean {
  try {
    const current = readlinkSync(`/proc/${pid}/cwd`);
    return current === folder || current.startsWith(`${folder}/`);
  } catch {
    return false; // gone meanwhile
  }
}

/** Does this process take in those whose parent ended, as a user's systemd does? */
function adopts(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'systemd\n';
  } catch {
    return false; // gone meanwhile
  }
}
