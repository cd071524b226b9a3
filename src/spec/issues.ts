import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { cleanLine } from '../text.ts';
import type { DeferredIssue, FoundIssue } from './spec-checkpoint.ts';

/* What reviews find: critical and high issues block a batch, the others are deferred. Pure. */

type Issues = State['issues'];

function isSevere({ severity }: { readonly severity: string | null }): boolean {
  return severity === 'critical' || severity === 'high';
}

/** Lists the epic's recorded issues in the form a review reports them. */
function listRecorded(issues: Issues, statuses: readonly string[]): (FoundIssue & { readonly id: string })[] {
  return Object.entries(issues).flatMap(([id, { value }]) => {
    const { severity, title, location, status } = value;
    return severity !== null && statuses.includes(status)
      ? [{ id, severity, description: title ?? id, location }]
      : [];
  });
}

/** Refuses to complete tasks while a critical or high issue is unresolved. */
export function refuseSevere(found: readonly FoundIssue[], issues: Issues, isNew: boolean): void {
  const recorded = isNew ? listRecorded(issues, ['open', 'in_progress']) : [];
  const severe = [...found, ...recorded].filter(isSevere);
  if (severe.length === 0) return;
  const lines = severe.map(({ severity, description, location, ...recorded }) => {
    const name = 'id' in recorded ? `${recorded.id} ` : '';
    return cleanLine(`${severity}: ${name}${description}${location === null ? '' : ` (${location})`}`);
  });
  throw new OrchError(
    'GATE_FAILED',
    `critical and high issues must be resolved first:\n       ${lines.join('\n       ')}`,
    {
      hint: 'Nothing was changed. Resolve them, and mark a recorded issue as done: orch record issue ID --status done',
      data: { issues: severe },
    },
  );
}

const isSameIssue = (a: FoundIssue) => (b: FoundIssue) =>
  a.description === b.description && a.location === b.location;

/** Lists the deferred issues: the earlier ones that are not resolved, and the new ones. */
export function deferIssues(
  before: readonly DeferredIssue[],
  found: readonly FoundIssue[],
  issues: Issues,
  batch: number,
): DeferredIssue[] {
  const resolved = listRecorded(issues, ['done']);
  const carried = before.filter((issue) => !resolved.some(isSameIssue(issue)));
  for (const { severity, description, location } of [
    ...found,
    ...listRecorded(issues, ['open', 'deferred']),
  ]) {
    const issue = { batch, severity, description, location };
    if (!isSevere(issue) && !carried.some(isSameIssue(issue))) carried.push(issue);
  }
  return carried;
}

/** Makes the facts that record found and open issues as deferred. */
export function makeDeferredFacts(found: readonly FoundIssue[], issues: Issues): Fact[] {
  const open = Object.entries(issues).filter(
    ([, { value }]) => value.status === 'open' && value.severity !== null && !isSevere(value),
  );
  const known = listRecorded(issues, ['open', 'in_progress', 'deferred']);
  const fresh = found.filter((issue) => !known.some(isSameIssue(issue)));
  return [
    ...open.map(([id, { value }]): Fact => {
      const { title, severity, location } = value;
      return { kind: 'issue', id, title, severity, location, status: 'deferred' };
    }),
    ...fresh.map(({ severity, description, location }): Fact => {
      const id = `deferred-${hash('sha256', JSON.stringify([description, location])).slice(0, 8)}`;
      return { kind: 'issue', id, title: description, severity, location, status: 'deferred' };
    }),
  ];
}
