import type { decideIssues } from './decide-issues.ts';
import type { ImportedEdge } from './imported-issue.ts';
import { type IssueGraph, resolveTarget } from './issue-graph.ts';
import { openNeedsGraph } from './needs-graph.ts';

/* What becomes of each dependency, and who needs whom because of it. */

export type EdgeFate = {
  readonly edge: ImportedEdge;
  readonly fate: 'needs' | 'satisfied' | 'informing' | 'leftOut' | 'lost';
  readonly why?: string;
};

export type DecidedEdges = {
  readonly edges: EdgeFate[];
  /** By issue, and by join. */
  readonly needs: ReadonlyMap<string, readonly string[]>;
  /** Issues that run only if what they need fails. */
  readonly onFailure: ReadonlySet<string>;
  /** Tasks that wait for all of a group, and the group. */
  readonly joins: ReadonlyMap<string, string>;
};

/** A group larger than this gets a task that waits for it, so that waiting for a group of a thousand is one line. */
const mostSpelledOut = 8;

export function decideEdges(
  graph: IssueGraph,
  fates: ReturnType<typeof decideIssues>,
  edges: readonly ImportedEdge[],
): DecidedEdges {
  const { byId } = graph;
  const decided: EdgeFate[] = [];
  const needs = openNeedsGraph<number>();
  const onFailure = new Set<string>();
  const joins = new Map<string, string>();
  /** Which dependencies wait for a group through its join. */
  const waitingForGroup = new Map<string, number[]>();
  const descendants = new Map<
    string,
    { readonly list: readonly string[]; readonly set: ReadonlySet<string> }
  >();

  for (const [index, edge] of edges.entries()) decided.push({ edge, ...decide(edge, index) });
  const nodes = [...byId.keys(), ...joins.keys()];
  for (const { cycle, reasons } of needs.breakCycles(nodes))
    for (const reason of reasons) lose(reason, `tasks would wait for one another: ${cycle.join(' → ')}`);
  return {
    edges: decided,
    needs: new Map(nodes.map((id) => [id, needs.needsOf(id)])),
    onFailure,
    joins,
  };

  function lose(reason: number, why: string): void {
    // A join's own need stands for every dependency that waits for the group.
    const all = reason >= 0 ? [reason] : (waitingForGroup.get([...joins.values()][-1 - reason] ?? '') ?? []);
    for (const index of all) {
      const edge = edges[index];
      if (edge !== undefined) decided[index] = { edge, fate: 'lost', why };
    }
  }

  function fateOf(id: string) {
    return fates.get(id)?.fate;
  }

  function decide(edge: ImportedEdge, index: number): Omit<EdgeFate, 'edge'> {
    const from = resolveTarget(byId, edge.from);
    const to = resolveTarget(byId, edge.to);
    const own = fateOf(from);
    if (edge.means === 'informs') return { fate: 'informing' };
    if (own === undefined)
      return edge.type === 'task list (text)'
        ? { fate: 'informing' }
        : { fate: 'lost', why: `${edge.from} is not in the export` };
    if (own === 'closed') return { fate: 'satisfied' };
    if (own === 'notWork') return { fate: 'informing' };
    if (own === 'lost') return { fate: 'lost', why: `${edge.from} itself is lost` };
    if (from === to) return { fate: 'lost', why: 'it waits for itself' };
    const target = fateOf(to);
    if (target === undefined) return { fate: 'lost', why: explainUnknown(edge.to) };
    if (edge.means === 'part-of' || edge.means === 'has-member') {
      if (graph.circular.has(edge)) return { fate: 'lost', why: 'it would make an issue a part of itself' };
      return { fate: target === 'closed' ? 'satisfied' : 'informing' };
    }
    if (edge.means === 'on-failure') return decideOnFailure(from, to, index, own);
    if (edge.means === 'waits-for-any')
      return target === 'closed'
        ? { fate: 'satisfied' }
        : { fate: 'lost', why: 'it waits for the first of several: a plan waits for all' };
    return decideWait(edge, from, to, index);
  }

  function decideOnFailure(from: string, to: string, index: number, own: string): Omit<EdgeFate, 'edge'> {
    if (fateOf(to) === 'closed') return { fate: 'satisfied' };
    if (own !== 'task' || fateOf(to) !== 'task')
      return { fate: 'lost', why: 'a group has no failure of its own: it would have to be a task' };
    needs.add(from, to, index);
    onFailure.add(from);
    return { fate: 'needs' };
  }

  function decideWait(edge: ImportedEdge, from: string, to: string, index: number): Omit<EdgeFate, 'edge'> {
    const target = fateOf(to);
    const parts = below(to);
    const waitsForParts = target === 'grouping' || edge.means === 'waits-for-parts';
    if (target === 'notWork')
      return {
        fate: 'lost',
        why: `${to} is a ${byId.get(to)?.type}, which no task does: wait for it yourself`,
      };
    if (target === 'lost') return { fate: 'lost', why: `${to} itself is lost` };
    if (waitsForParts && parts.set.has(from))
      return { fate: 'lost', why: `it waits for ${to}, of which it is a part` };
    const wanted = [
      ...(target === 'task' ? [to] : []),
      ...(waitsForParts && parts.list.length > 0 ? waitFor(to, parts.list, index) : []),
    ];
    if (wanted.length === 0) return { fate: 'satisfied' };
    const isOwnPart = below(from).set.has(to);
    if (isOwnPart && fateOf(from) === 'grouping') return { fate: 'informing' };
    // The parts of what waits, wait too, unless it waits for one of them.
    const waiting = [
      ...(fateOf(from) === 'task' ? [from] : []),
      ...(isOwnPart ? [] : below(from).list),
    ].filter((id) => id !== to);
    if (waiting.length === 0) return { fate: 'satisfied' };
    let added = 0;
    for (const id of waiting)
      for (const need of wanted) {
        if (id === need) continue;
        needs.add(id, need, index);
        added++;
      }
    return added > 0 ? { fate: 'needs' } : { fate: 'lost', why: 'it waits for itself' };
  }

  /** Returns what to wait for to wait for all of a group. */
  function waitFor(group: string, parts: readonly string[], index: number): readonly string[] {
    if (parts.length <= mostSpelledOut) return parts;
    let join = `${group}-done`;
    while (byId.has(join)) join += '-all';
    const known = waitingForGroup.get(group);
    if (known === undefined) {
      waitingForGroup.set(group, [index]);
      joins.set(join, group);
      for (const part of parts) needs.add(join, part, -joins.size);
    } else known.push(index);
    return [join];
  }

  /** The tasks below an issue. */
  function below(id: string) {
    let known = descendants.get(id);
    if (known === undefined) {
      const list = graph.descendantsOf(id).filter((part) => fateOf(part) === 'task');
      known = { list, set: new Set(graph.descendantsOf(id)) };
      descendants.set(id, known);
    }
    return known;
  }
}

function explainUnknown(to: string): string {
  if (to === '') return 'it names no issue';
  if (to.startsWith('external:')) return `${to} is in another database, which was not read`;
  // What Gas Town calls a wisp lives only while a worker follows it.
  if (to.includes('-wisp-'))
    return `${to} is not in the export: a wisp, which has no meaning outside Gas Town`;
  return `${to} is not in the export`;
}
