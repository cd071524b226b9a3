import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import type { DeferredIssue, FoundIssue } from '../integration/spec-checkpoint.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { cleanLine } from '../text.ts';

/* What reviews find: critical and high stand in a batch's way, the rest is carried along. Pure. */

type Issues = State['issues'];

function isSevere({ severity }: { readonly severity: string | null }): boolean {
  return severity === 'critical' || severity === 'high';
}

/** The issues recorded for the epic, in the words of a review. */
function listRecorded(issues: Issues, statuses: readonly string[]): (FoundIssue & { readonly id: string })[] {
  return Object.entries(issues).flatMap(([id, { value }]) => {
    const { severity, title, location, status } = value;
    return severity !== null && statuses.includes(status)
      ? [{ id, severity, description: title ?? id, location }]
      : [];
  });
}

/** Refuses to complete anything over a critical or high issue that nobody has resolved. */
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
    `critical and high issues stand in the way:\n       ${lines.join('\n       ')}`,
    {
      hint: 'Nothing was changed. Resolve them; of a recorded one say so: orch record issue ID --status done',
      data: { issues: severe },
    },
  );
}

const sameIssue = (a: FoundIssue) => (b: FoundIssue) =>
  a.description === b.description && a.location === b.location;

/** What is left for later: what was, unless it was resolved since, and what has come up now. */
export function carryIssues(
  before: readonly DeferredIssue[],
  found: readonly FoundIssue[],
  issues: Issues,
  batch: number,
): DeferredIssue[] {
  const resolved = listRecorded(issues, ['done']);
  const carried = before.filter((issue) => !resolved.some(sameIssue(issue)));
  for (const { severity, description, location } of [
    ...found,
    ...listRecorded(issues, ['open', 'deferred']),
  ]) {
    const issue = { batch, severity, description, location };
    if (!isSevere(issue) && !carried.some(sameIssue(issue))) carried.push(issue);
  }
  return carried;
}

/** The same for the epic: what was found is recorded as deferred, what was open becomes it. */
export function recordDeferred(found: readonly FoundIssue[], issues: Issues): Fact[] {
  const open = Object.entries(issues).filter(
    ([, { value }]) => value.status === 'open' && value.severity !== null && !isSevere(value),
  );
  const known = listRecorded(issues, ['open', 'in_progress', 'deferred']);
  const fresh = found.filter((issue) => !known.some(sameIssue(issue)));
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
