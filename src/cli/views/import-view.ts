import type { ImportedPlan, ImportReport } from '../../index.ts';
import { cleanLine } from '../../text.ts';
import { count } from '../../units.ts';
import type { Output } from '../output.ts';

/** More would scroll what matters off the screen. */
const mostShown = 20;

/** Every issue has these, and no one looks for them in a plan. */
const expected = new Set([
  ...['created_at', 'created_by', 'updated_at', 'owner', 'started_at', 'source_repo', 'source_repo_path'],
  ...['createdAt', 'updatedAt', 'author', 'assignees', 'original_size', 'closed_by_session'],
]);

/** Accounts for everything that was read, in lines for people. */
export function formatImport({ paint }: Output, { report, plan }: ImportedPlan): string[] {
  const { issues, dependencies, files } = report;
  return [
    `Read ${count(issues.read, 'issue')} from ${listFew(files, 3)}`,
    `  ${joinParts(issueParts(report))}`,
    ...(dependencies.read === 0
      ? []
      : [
          `${dependencies.read} ${dependencies.read === 1 ? 'dependency' : 'dependencies'}`,
          `  ${joinParts(dependencyParts(report))}`,
        ]),
    ...remarks(report).map((remark) => paint('dim', remark)),
    // The error of a refused import names them.
    ...(plan === null ? [] : formatLost(report).map((line) => paint('yellow', line))),
  ];
}

type Part = readonly [amount: number, text: string];

function joinParts(parts: readonly Part[]): string {
  const shown = parts.flatMap(([amount, text]) => (amount === 0 ? [] : [`${amount} ${text}`]));
  return shown.length === 0 ? 'nothing' : shown.join(', ');
}

function issueParts({ issues, notWork }: ImportReport): Part[] {
  const types = Object.entries(notWork).map(([type, amount]) => `${cleanLine(type, 40)} ${amount}`);
  return [
    [issues.tasks, issues.tasks === 1 ? 'becomes a task' : 'become tasks'],
    [issues.closed, 'closed'],
    [issues.grouping, 'only group others'],
    [issues.notWork, `not work${types.length === 0 ? '' : ` (${types.join(', ')})`}`],
    [issues.repeated, 'repeated'],
    [issues.leftOut, 'not in the convoy'],
    [issues.lost, 'lost'],
  ];
}

function dependencyParts({ dependencies }: ImportReport): Part[] {
  return [
    [dependencies.needs, dependencies.needs === 1 ? 'becomes needs' : 'become needs'],
    [dependencies.satisfied, 'satisfied'],
    [dependencies.informing, 'kept as labels or text'],
    [dependencies.leftOut, 'not in the convoy'],
    [dependencies.lost, 'lost'],
  ];
}

function remarks(report: ImportReport): string[] {
  const { joins, unfinished, notInPlan, memories, redacted, notes } = report;
  const fields = Object.entries(notInPlan)
    .filter(([field]) => !expected.has(field))
    .map(([field, amount]) => `${cleanLine(field, 40)} ${amount}`);
  return [
    ...notes,
    ...Object.entries(unfinished).map(
      ([status, ids]) =>
        `${count(ids.length, 'task')} with status ${cleanLine(status, 40)}${explainStatus(status)}: ${listFew(ids)}`,
    ),
    ...(joins === 0
      ? []
      : [`Added ${count(joins, 'task')} that wait${joins === 1 ? 's' : ''} for a large group`]),
    ...(redacted.length === 0
      ? []
      : [
          `Removed secrets from ${count(redacted.length, 'task')}: ${listFew(redacted)}. They are still in the tracker`,
        ]),
    ...(memories.length === 0
      ? []
      : [
          `A plan has no place for memories: ${listFew(memories.map(({ key }) => key))}. What agents need of them belongs in their CLAUDE.md or AGENTS.md now`,
        ]),
    ...(fields.length === 0 ? [] : [`Not in the plan: ${listFew(fields)}`]),
  ];
}

function explainStatus(status: string): string {
  if (status === 'in_progress' || status === 'hooked') return ' (look for work on branches first)';
  if (status === 'deferred') return ' (remove those that are still to wait)';
  return status === 'blocked' ? ' (look for what blocks them)' : '';
}

function formatLost({ lost }: ImportReport): string[] {
  if (lost.length === 0) return [];
  const shown = lost.slice(0, mostShown).map(({ what, why }) => `  ${what}: ${why}`);
  const more = lost.length - shown.length;
  return ['Lost:', ...shown, ...(more > 0 ? [`  and ${more} more; --json lists all`] : [])];
}

function listFew(texts: readonly string[], most = 8): string {
  const few = texts.slice(0, most).map((text) => cleanLine(text, 80));
  return `${few.join(', ')}${texts.length > few.length ? ` and ${texts.length - few.length} more` : ''}`;
}
