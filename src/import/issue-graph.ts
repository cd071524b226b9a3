import { groupBy } from '../keyed.ts';
import type { ImportedEdge, ImportedIssue } from './imported-issue.ts';

/* Which issues are parts of which, and what becomes of each. */

/** What becomes of an issue. */
export type IssueFate = 'task' | 'closed' | 'grouping' | 'notWork' | 'repeated' | 'leftOut' | 'lost';

export type IssueGraph = {
  readonly byId: ReadonlyMap<string, ImportedIssue>;
  /** Open parts of open issues, without those that would go round in a circle. */
  readonly partsOf: ReadonlyMap<string, readonly string[]>;
  readonly parentsOf: ReadonlyMap<string, readonly string[]>;
  /** Edges that would make an issue a part of itself. */
  readonly circular: ReadonlySet<ImportedEdge>;
  /** Every issue above one, nearest first. */
  ancestorsOf(id: string): readonly string[];
  /** Every issue below one. */
  descendantsOf(id: string): readonly string[];
};

/** Finds the issue that an edge means; ids may name another database. */
export function resolveTarget(byId: ReadonlyMap<string, ImportedIssue>, to: string): string {
  if (byId.has(to)) return to;
  const [, id] = /^external:[^:]*:(.+)$/.exec(to) ?? [];
  return id !== undefined && byId.has(id) ? id : to;
}

/** Links the open issues with their parts. */
export function linkParts(
  byId: ReadonlyMap<string, ImportedIssue>,
  edges: readonly ImportedEdge[],
): IssueGraph {
  const isOpen = (id: string) => byId.get(id)?.isClosed === false;
  const links = edges.flatMap((edge) => {
    if (edge.means !== 'part-of' && edge.means !== 'has-member') return [];
    const [part, whole] = edge.means === 'part-of' ? [edge.from, edge.to] : [edge.to, edge.from];
    const link = { edge, part: resolveTarget(byId, part), whole: resolveTarget(byId, whole) };
    return isOpen(link.part) && isOpen(link.whole) && link.part !== link.whole ? [link] : [];
  });
  const circular = new Set<ImportedEdge>();
  const byPart = groupBy(links, ({ part }) => part);
  // Depth first, with a stack of its own: chains may be longer than the call stack.
  const state = new Map<string, 'open' | 'done'>();
  for (const root of byPart.keys()) {
    const path = state.has(root) ? [] : [{ id: root, next: 0 }];
    if (path.length > 0) state.set(root, 'open');
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const link = byPart.get(top.id)?.[top.next++];
      if (link === undefined) {
        state.set(top.id, 'done');
        path.pop();
      } else if (state.get(link.whole) === 'open') circular.add(link.edge);
      else if (!state.has(link.whole)) {
        state.set(link.whole, 'open');
        path.push({ id: link.whole, next: 0 });
      }
    }
  }
  const straight = links.filter(({ edge }) => !circular.has(edge));
  const partsOf = collect(straight.map(({ whole, part }) => [whole, part]));
  const parentsOf = collect(straight.map(({ whole, part }) => [part, whole]));
  return {
    byId,
    partsOf,
    parentsOf,
    circular,
    ancestorsOf: (id) => reach(parentsOf, id),
    descendantsOf: (id) => reach(partsOf, id),
  };
}

function collect(pairs: readonly (readonly [string, string])[]): Map<string, string[]> {
  const found = new Map<string, Set<string>>();
  for (const [key, value] of pairs) {
    const known = found.get(key);
    if (known === undefined) found.set(key, new Set([value]));
    else known.add(value);
  }
  return new Map([...found].map(([key, values]) => [key, [...values]]));
}

/** Everything that can be reached from an id, without the id itself, breadth first. */
function reach(links: ReadonlyMap<string, readonly string[]>, from: string): string[] {
  const seen = new Set([from]);
  for (const id of seen) for (const next of links.get(id) ?? []) seen.add(next);
  seen.delete(from);
  return [...seen];
}
