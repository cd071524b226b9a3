import type { Millis } from '../../types.ts';
import { listProcesses, type ProcessRow } from './process-table.ts';

/** What a process and everything it started do. */
export type TreeWork = {
  readonly isAlive: boolean;
  /** Was one of them stopped, so that it cannot continue by itself? */
  readonly isFrozen: boolean;
  /** CPU time so far: the process's own, and that of all it has started. */
  readonly own: Millis;
  readonly others: Millis;
};

/** Measures a process and its living descendants. */
export function measureTree(root: number): TreeWork {
  return sumTree(listProcesses(), root);
}

/** Adds up what a table of processes says about one of them and its descendants. */
export function sumTree(table: ReadonlyMap<number, ProcessRow>, root: number): TreeWork {
  const top = table.get(root);
  if (top === undefined || top.phase === 'over')
    return { isAlive: false, isFrozen: false, own: 0, others: 0 };
  const children = new Map<number, ProcessRow[]>();
  for (const row of table.values()) children.set(row.parent, [...(children.get(row.parent) ?? []), row]);
  let others = top.cpu.ended;
  let isFrozen = top.phase === 'stopped';
  const open = [...(children.get(root) ?? [])];
  const seen = new Set([root]);
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    if (seen.has(row.pid)) continue;
    seen.add(row.pid);
    others += row.cpu.own + row.cpu.ended;
    isFrozen ||= row.phase === 'stopped';
    open.push(...(children.get(row.pid) ?? []));
  }
  return { isAlive: true, isFrozen, own: top.cpu.own, others };
}
