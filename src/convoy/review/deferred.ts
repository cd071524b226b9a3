import type { Fact } from '../../state/facts.ts';
import type { State } from '../../state/lists.ts';
import { type Finding, keyOf, placeOf } from './findings.ts';

/* What reviews found and left for later: issues of the convoy's epic, so that briefs, reports and the final review have it. */

const prefixOf = (task: string) => `review/${task}/`;

type Known = Pick<Finding, 'severity' | 'file' | 'line' | 'title'>;

/** Lists what reviews of a task, or of all tasks, have left open. */
export function listOpenFindings({ issues }: Pick<State, 'issues'>, task: string | null): Known[] {
  const prefix = task === null ? 'review/' : prefixOf(task);
  return Object.entries(issues).flatMap(([id, { value }]) => {
    if (!id.startsWith(prefix) || value.status !== 'deferred' || value.severity === null) return [];
    const [, file = null, line = null] = /^(.*?)(?::(\d+))?$/.exec(value.location ?? '') ?? [];
    return [
      {
        ...{ severity: value.severity, file: file || null, line: line === null ? null : Number(line) },
        title: value.title ?? id,
      },
    ];
  });
}

/** Records what a review of a task defers. What an earlier one deferred and this one no longer finds is done. */
export function deferredFacts(
  { issues }: Pick<State, 'issues'>,
  task: string,
  deferred: readonly Finding[],
): Fact[] {
  const prefix = prefixOf(task);
  const found = new Map(deferred.map((finding) => [`${prefix}${keyOf(finding)}`, finding]));
  const over = Object.entries(issues).filter(
    ([id, { value }]) => id.startsWith(prefix) && value.status === 'deferred' && !found.has(id),
  );
  return [
    ...[...found].map(([id, finding]): Fact => {
      const { severity, title } = finding;
      return { kind: 'issue', id, title, status: 'deferred', severity, location: placeOf(finding) };
    }),
    ...over.map(([id, { value }]): Fact => {
      const { title, severity, location } = value;
      return { kind: 'issue', id, title, status: 'done', severity, location };
    }),
  ];
}
