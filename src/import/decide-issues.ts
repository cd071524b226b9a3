import { groupBy } from '../keyed.ts';
import type { ImportedEdge, ImportedIssue, Lost } from './imported-issue.ts';
import { type IssueFate, type IssueGraph, resolveTarget } from './issue-graph.ts';

/* What becomes of each issue. */

export type KeptIssues = {
  readonly byId: ReadonlyMap<string, ImportedIssue>;
  /** How many were the same, or older versions. */
  readonly repeated: number;
  /** Different versions, neither of them newer. */
  readonly lost: readonly Lost[];
};

/** Keeps one version of each issue: the newest, if several have its id. */
export function keepOnce(issues: readonly ImportedIssue[]): KeptIssues {
  const byId = new Map<string, ImportedIssue>();
  const lost: Lost[] = [];
  let repeated = 0;
  for (const issue of issues) {
    const known = byId.get(issue.id);
    if (known === undefined) byId.set(issue.id, issue);
    else if (isSame(known, issue) || known.updatedAt !== issue.updatedAt) {
      repeated++;
      if (known.updatedAt < issue.updatedAt) byId.set(issue.id, issue);
    } else
      lost.push({
        kind: 'issue',
        id: issue.id,
        what: `${issue.id} in ${issue.place}`,
        why: `another issue has the same id: ${known.place}`,
      });
  }
  return { byId, repeated, lost };
}

function isSame({ place: _, ...a }: ImportedIssue, { place: __, ...b }: ImportedIssue): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

type Decided = { readonly fate: IssueFate; readonly why?: string };

/** Decides what becomes of each issue. */
export function decideIssues(
  { byId }: KeptIssues,
  graph: IssueGraph,
  edges: readonly ImportedEdge[],
): Map<string, Decided> {
  const hadParts = new Set(
    edges.flatMap(({ means, from, to }) =>
      means === 'part-of' && resolveTarget(byId, to) !== from ? [resolveTarget(byId, to)] : [],
    ),
  );
  const fates = new Map(
    [...byId.values()].map((issue) => [issue.id, decideIssue(issue, hadParts.has(issue.id))]),
  );
  loseConditions(graph, edges, fates);
  return fates;
}

function decideIssue({ isClosed, kind }: ImportedIssue, hasParts: boolean): Decided {
  if (isClosed) return { fate: 'closed' };
  switch (kind) {
    case 'work':
      return { fate: 'task' };
    case 'epic':
      return { fate: hasParts ? 'grouping' : 'task' };
    case 'container':
      return { fate: 'grouping' };
    case 'gate':
    case 'record':
      return { fate: 'notWork' };
    case 'merge':
      return { fate: 'lost', why: 'it is finished work that waits to be merged: merge it first' };
  }
}

/**
 * Loses issues that run only after a failure, where a plan cannot say so. As an ordinary task they would run when they
 * must not.
 */
function loseConditions(
  graph: IssueGraph,
  edges: readonly ImportedEdge[],
  fates: Map<string, Decided>,
): void {
  const { byId } = graph;
  const conditions = groupBy(
    edges.filter(({ means, from }) => means === 'on-failure' && fates.get(from)?.fate === 'task'),
    ({ from }) => from,
  );
  const waits = groupBy(
    edges.filter(({ means }) => ['waits', 'waits-for-parts', 'waits-for-any'].includes(means)),
    ({ from }) => from,
  );
  const isPending = (to: string) => byId.get(resolveTarget(byId, to))?.isClosed !== true;
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const [id, own] of conditions) {
      if (fates.get(id)?.fate !== 'task') continue;
      const why = whyNever(id, own);
      if (why === null) continue;
      fates.set(id, { fate: 'lost', why });
      hasChanged = true;
    }
  }

  function whyNever(id: string, own: readonly ImportedEdge[]): string | null {
    const targets = own.map(({ to }) => resolveTarget(byId, to));
    for (const target of targets) {
      const issue = byId.get(target);
      if (issue === undefined) return `it runs only if ${target} fails, which is not in the export`;
      if (issue.isClosed && !issue.hasFailed)
        return `it runs only if ${target} fails, and that was closed without a failure`;
      if (!issue.isClosed && (fates.get(target)?.fate !== 'task' || target === id))
        return `it runs only if ${target} fails, which is no task`;
    }
    const pending = [...new Set(targets)].filter(isPending);
    if (pending.length === 0) return null;
    const others = [id, ...graph.ancestorsOf(id)]
      .flatMap((each) => waits.get(each) ?? [])
      .filter(({ to }) => isPending(to));
    return pending.length > 1 || others.length > 0
      ? `it runs only if ${pending.join(' and ')} ${pending.length > 1 ? 'fail' : 'fails'}${others.length > 0 ? ', and waits for others too' : ''}: a plan cannot say that yet`
      : null;
  }
}
