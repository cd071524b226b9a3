import { spentIn } from '../cost/money.ts';
import { lookUp } from '../keyed.ts';
import { type Current, readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import { compareStamps } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import { findDoneTask } from '../state/run.ts';
import { cleanLine } from '../text.ts';
import type { Json, Micros } from '../types.ts';
import { count, formatUsd } from '../units.ts';

/* What the facts of a checkpoint say, each in the few words that a title has room for. */

/** A note, or what an agent said at the end of its turn, whichever came last: it is a title by itself. */
export function findSaid(facts: readonly Fact[]): string {
  const last = facts.findLast(
    (fact) => fact.kind === 'note' || (fact.kind === 'current_set' && fact.key === 'lastMessage'),
  );
  if (last === undefined) return '';
  if (last.kind === 'note') return cleanLine(last.text, 400);
  return last.kind === 'current_set' ? quote(readText(last.value), 400) : '';
}

function readText(value: Json): string {
  const isObject = typeof value === 'object' && value !== null && 'text' in value;
  return isObject && typeof value.text === 'string' ? value.text : '';
}

/** One line of it, without the marks of Markdown that a title has no use for. */
function quote(text: string, maxBytes = 140): string {
  return cleanLine(text.replace(/^[ \t]*(?:#{1,6}|[-*>])[ \t]+/gm, '').replaceAll('**', ''), maxBytes);
}

const recorded: { readonly [K in Fact['kind']]?: (fact: Extract<Fact, { kind: K }>) => string } = {
  restored: ({ checkpoint, isUndo }) =>
    isUndo || checkpoint === null ? 'Restore undone' : `Restored checkpoint ${checkpoint.seq}`,
  decision: ({ text }) => `Decision: ${quote(text)}`,
  blocker: ({ text, resolvedAt }) =>
    `${resolvedAt === null ? 'Blocker' : 'Blocker resolved'}: ${quote(text)}`,
  tried: ({ text }) => `Tried, failed: ${quote(text)}`,
  question: ({ text, answer }) => `${answer === null ? 'Question' : 'Answered'}: ${quote(text)}`,
  issue: ({ id, status, title }) =>
    `Issue ${quote(id, 60)} ${status.replace('_', ' ')}${title ? `: ${quote(title)}` : ''}`,
};

/** What people and agents put on record: the newest of each kind. */
export function sayRecorded(facts: readonly Fact[]): string[] {
  return Object.entries(recorded).flatMap(([kind, say]) => {
    const found = facts.filter((fact) => fact.kind === kind);
    const last = found.at(-1);
    if (last === undefined) return [];
    const text = (say as (fact: Fact) => string)(last); // the key of the table is the kind of the fact
    return [found.length > 1 ? `${text} (and ${found.length - 1} more)` : text];
  });
}

export function sayCommits({ commits: known }: State, { commits }: State): string {
  const made = Object.entries(commits).filter(([oid]) => lookUp(known, oid) === undefined);
  const last = made.toSorted(([, a], [, b]) => compareStamps(a.stamp, b.stamp)).at(-1)?.[1];
  return last ? `${count(made.length, 'commit')}: ${quote(last.value.subject)}` : '';
}

/** The tasks of a plan: one with effects is done when they are. */
export function sayTasks(facts: readonly Fact[], { runs }: State): string {
  const failed = facts.flatMap((fact) => (fact.kind === 'task' && fact.status === 'failed' ? [fact.id] : []));
  if (failed.length > 0) return `Task failed: ${failed.join(', ')}`;
  const done = new Set(facts.flatMap((fact) => findDoneTask(runs, fact) ?? []));
  return done.size > 0 ? `Task done: ${[...done].join(', ')}` : '';
}

/** What was approved and asked for, what is being worked on, and how the tests are. */
export function sayCurrent(facts: readonly Fact[], after: State): string[] {
  const read = <K extends keyof Current>(key: K) =>
    facts.some((fact) => fact.kind === 'current_set' && fact.key === key) ? readCurrent(after, key) : null;
  const [plan, asked, task, tests] = [
    read('approvedPlan'),
    read('asked'),
    read('currentTask'),
    read('testState'),
  ];
  return [
    plan ? `Plan approved: ${quote(plan.text)}` : '',
    asked ? `Asked: ${quote(asked.text)}` : '',
    task ? `${task.status === 'done' ? 'Task done' : 'Task'}: ${quote(task.text)}` : '',
    tests ? sayTests(tests) : '',
  ];
}

function sayTests({ status, passed, failed, total }: Current['testState']): string {
  if (status === 'passed') return passed === null ? 'Tests pass' : `${count(passed, 'test')} passed`;
  const all = total ?? (passed ?? 0) + (failed ?? 0);
  return failed === null ? 'Tests fail' : `${failed} of ${count(all, 'test')} failed`;
}

/** The files that changed: as recorded, and as git sees them, which knows of those no tool told of. */
export function sayFiles(facts: readonly Fact[], before: State, after: State): string {
  const paths = new Set(
    facts.flatMap((fact) => (fact.kind === 'file' && fact.change !== 'read' ? [fact.path] : [])),
  );
  const [known, now] = [readCurrent(before, 'changes'), readCurrent(after, 'changes')];
  const digest = ({ path, change, added, removed }: Current['changes']['named'][number]) =>
    JSON.stringify([path, change, added, removed]);
  const seen = new Set(known?.named.map(digest));
  if (known) for (const file of now?.named ?? []) if (!seen.has(digest(file))) paths.add(file.path);
  if (paths.size === 0) return '';
  const shown = [...paths].slice(0, 2).map((path) => cleanLine(path, 80));
  return `${count(paths.size, 'file')}: ${shown.join(', ')}${paths.size > 2 ? ' …' : ''}`;
}

export function sayGates(facts: readonly Fact[]): string {
  const gates = facts.flatMap((fact) => (fact.kind === 'gate' && fact.status !== 'skipped' ? [fact] : []));
  const red = new Set(gates.flatMap(({ name, status }) => (status === 'passed' ? [] : [name])));
  if (red.size > 0) return `Gates red: ${[...red].join(', ')}`;
  return gates.length > 0 ? 'Gates green' : '';
}

export function sayMoney(facts: readonly Fact[], before: State, after: State): string[] {
  const set = facts.findLast((fact) => fact.kind === 'budget_set');
  const spent = spentIn(after.ledger) - spentIn(before.ledger);
  const isCorrected = facts.some((fact) => fact.kind === 'cost' && fact.usage.corrected);
  return [
    set?.kind === 'budget_set' ? sayBudget(set.limit) : '',
    spent > 0 ? `${formatUsd(spent)} spent` : '',
    spent <= 0 && isCorrected ? `Cost corrected by ${formatUsd(-spent)}` : '',
  ];
}

function sayBudget(limit: Micros | null): string {
  return limit === null ? 'Budget lifted' : `Budget set to ${formatUsd(limit)}`;
}
