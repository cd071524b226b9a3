import type { ProcessRow } from './process-table.ts';

/** A process that is not mistaken for a later one with the same pid. */
export type TreeProcess = { readonly pid: number; readonly startedAt: string };

export type Membership = {
  /** Where the tree begins; a start time that differs says that the pid is another's by now. */
  readonly root: TreeProcess;
  /** The asking process, which is spared with its ancestors. */
  readonly self: number;
  /** Those seen earlier: they belong to the tree even if their parent is gone. */
  readonly known: Iterable<TreeProcess>;
  /** Does a process that left the tree still show where it came from? */
  readonly isMarked: (pid: number) => boolean;
};

/**
 * Picks the living processes of a tree: root, descendants, what is left of the group the root led, the known and the
 * marked, the groups that one of these leads, and the descendants of all these.
 */
export function selectTree(
  table: ReadonlyMap<number, ProcessRow>,
  { root, self, known, isMarked }: Membership,
): ProcessRow[] {
  const spared = listAncestors(table, self);
  const children = groupByParent(table);
  const found = new Map<number, ProcessRow>();
  const add = (row: ProcessRow): void => {
    if (spared.has(row.pid) || found.has(row.pid)) return;
    found.set(row.pid, row);
    for (const child of children.get(row.pid) ?? []) add(child);
  };
  for (const each of [root, ...known]) {
    const row = table.get(each.pid);
    if (row?.startedAt === each.startedAt) add(row);
  }
  // A pid is not given away while a group goes by it: where it is another's, so is the group.
  const leadsGroup = root.pid > 1 && (!table.has(root.pid) || found.has(root.pid));
  for (const row of table.values()) {
    if (found.has(row.pid) || spared.has(row.pid)) continue;
    if ((leadsGroup && row.group === root.pid) || isMarked(row.pid)) add(row);
  }
  // Who has neither its parent nor its environment any more may still have its group, as what sudo started does.
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const row of table.values()) if (found.get(row.group)?.group === row.group) add(row);
  }
  return [...found.values()].filter(({ phase }) => phase !== 'over');
}

/** A process, those it descends from, and the system's own. */
function listAncestors(table: ReadonlyMap<number, ProcessRow>, self: number): Set<number> {
  const ancestors = new Set([0, 1]);
  let pid: number | undefined = self;
  while (pid !== undefined && !ancestors.has(pid)) {
    ancestors.add(pid);
    pid = table.get(pid)?.parent;
  }
  return ancestors;
}

function groupByParent(table: ReadonlyMap<number, ProcessRow>): Map<number, ProcessRow[]> {
  const children = new Map<number, ProcessRow[]>();
  for (const row of table.values()) {
    const siblings = children.get(row.parent);
    if (siblings === undefined) children.set(row.parent, [row]);
    else siblings.push(row);
  }
  return children;
}
