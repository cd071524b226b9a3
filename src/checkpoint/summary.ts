import { spentIn } from '../cost/money.ts';
import { readCurrent } from '../state/current.ts';
import type { Event, Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { findDoneTask } from '../state/run.ts';
import { cleanLine } from '../text.ts';
import type { Trigger } from '../types.ts';
import { count, formatUsd } from '../units.ts';

const nouns: { readonly [K in Fact['kind']]?: string } = {
  note: 'note',
  decision: 'decision',
  blocker: 'blocker',
  tried: 'failed attempt',
  question: 'question',
  file: 'file',
  issue: 'issue update',
  gate: 'gate result',
  cost: 'cost',
  task: 'task update',
  effect: 'effect update',
  budget_set: 'budget change',
};

const currentNouns: ReadonlyMap<string, string> = new Map([
  ['currentTask', 'task update'],
  ['testState', 'test result'],
]);

const triggerWords: { readonly [T in Trigger]: string } = {
  session_start: 'Session started',
  interval: 'Work goes on',
  cost: 'Cost threshold reached',
  budget: 'Budget used up',
  error: 'An error',
  issue_complete: 'Issue done',
  task: 'Task done',
  batch: 'Batch done',
  context_tier: 'Context window fills up',
  pre_compact: 'Before compaction',
  pause: 'Paused',
  complete: 'Completed',
  manual: 'Saved by hand',
  recovery: 'Recovered after a crash',
  merge: 'Merged with another machine',
};

/** What happened, in a line: the reason given, else the newest note, else what was recorded. */
export function summarize(
  trigger: Trigger,
  reason: string | null,
  events: readonly Event[],
  after: State,
): string {
  if (reason && cleanLine(reason)) return cleanLine(reason, 400);
  const note = events.findLast(({ fact }) => fact.kind === 'note' && cleanLine(fact.text) !== '');
  if (note?.fact.kind === 'note') return cleanLine(note.fact.text, 400);
  const done = trigger === 'task' ? listDoneTasks(events, after) : [];
  if (done.length > 0) return cleanLine(`${triggerWords.task}: ${done.join(', ')}`, 400);
  const counts = new Map<string, number>();
  for (const { fact } of events) {
    if (trigger === 'session_start' && fact.kind === 'budget_set') continue; // it began with one
    const noun = nounOf(fact);
    if (noun) counts.set(noun, (counts.get(noun) ?? 0) + 1);
  }
  const said = [...counts].map(([noun, amount]) => count(amount, noun)).join(', ');
  return said ? `${triggerWords[trigger]}: ${said}` : triggerWords[trigger];
}

function nounOf(fact: Fact): string | undefined {
  if (fact.kind === 'current_set') return currentNouns.get(fact.key);
  return fact.kind === 'cost' && fact.usage.corrected ? 'cost correction' : nouns[fact.kind];
}

/** The tasks of a plan that were done with these events, by their ids. */
function listDoneTasks(events: readonly Event[], { runs }: State): string[] {
  return [...new Set(events.flatMap(({ fact }) => findDoneTask(runs, fact) ?? []))];
}

/** `tests 141/142`, where they were run since the checkpoint before, and counted. */
function describeTests(events: readonly Event[], after: State): string | false {
  const isNew = events.some(({ fact }) => fact.kind === 'current_set' && fact.key === 'testState');
  const tests = isNew ? readCurrent(after, 'testState') : null;
  if (typeof tests?.passed !== 'number') return false;
  return `tests ${tests.passed}/${typeof tests.total === 'number' ? tests.total : tests.passed + (tests.failed ?? 0)}`;
}

/** The line of figures below the subject: what came since the checkpoint before. */
export function describeFigures(
  sessionNumber: number,
  events: readonly Event[],
  before: State,
  after: State,
  rebuiltOver: number,
): string {
  const files = events.flatMap(({ fact }) => (fact.kind === 'file' && fact.change !== 'read' ? [fact] : []));
  const sum = (part: 'added' | 'removed') => files.reduce((total, file) => total + (file[part] ?? 0), 0);
  const lines = sum('added') + sum('removed') > 0 ? ` +${sum('added')} −${sum('removed')}` : '';
  const spent = spentIn(after.ledger) - spentIn(before.ledger);
  const figures = [
    `Session ${sessionNumber}`,
    files.length > 0 && `${count(new Set(files.map(({ path }) => path)).size, 'file')}${lines}`,
    describeTests(events, after),
    spent !== 0 && `${spent > 0 ? '+' : '−'}${formatUsd(Math.abs(spent))}`,
    rebuiltOver > 0 && `rebuilt: ${count(rebuiltOver, 'checkpoint')} before this could not be read`,
  ];
  return figures.filter((figure) => figure !== false).join(' · ');
}
