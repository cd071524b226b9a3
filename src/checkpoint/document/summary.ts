import { spentIn } from '../../cost/money.ts';
import { lookUp } from '../../keyed.ts';
import { type Current, readCurrent } from '../../state/current.ts';
import type { Event, Fact } from '../../state/facts.ts';
import { compareStamps } from '../../state/join.ts';
import type { State } from '../../state/lists.ts';
import { findDoneTask } from '../../state/runs.ts';
import { cleanLine } from '../../text.ts';
import type { Json, Micros, SessionId, Trigger } from '../../types.ts';
import { count, formatUsd } from '../../units.ts';

const triggerWords: { readonly [T in Trigger]: string } = {
  session_start: 'Session started',
  interval: 'Still at work',
  cost: 'Cost threshold reached',
  budget: 'Budget used up',
  error: 'Failed',
  issue_complete: 'Issue done',
  task: 'Task done',
  batch: 'Batch done',
  context_tier: 'Context window is filling up',
  pre_compact: 'Before a compaction',
  pause: 'Paused',
  complete: 'Completed',
  manual: 'Saved by hand',
  recovery: 'Recovered after a crash',
  merge: 'Merged with another machine',
};

/** Why a checkpoint is made. */
type CheckpointCause = {
  readonly sessionId: SessionId;
  readonly trigger: Trigger;
  readonly reason: string | null;
  /** Does the reason only say how a session began or ended? Then what happened says more. */
  readonly isRoutine?: true | undefined;
};

/** What happened, in one line: the given reason, else the last message, else what was recorded. */
export function summarize(
  { sessionId, trigger, reason, isRoutine }: CheckpointCause,
  events: readonly Event[],
  before: State,
  after: State,
): string {
  const given = reason === null ? '' : cleanLine(reason, 400);
  if (given && !isRoutine) return given;
  // A checkpoint includes what other sessions recorded meanwhile; its title is about its own.
  const own = events.filter(({ session }) => session === sessionId);
  const told = describeWork(trigger, own, before, after) || describeWork(trigger, events, before, after);
  if (trigger === 'complete') return told ? `${triggerWords.complete}: ${told}` : triggerWords.complete;
  if (trigger === 'session_start' && !told) return [describeStart(events), given].filter(Boolean).join('. ');
  return told || given || triggerWords[trigger];
}

/** `Session 3 started with claude` */
function describeStart(events: readonly Event[]): string {
  const started = events.map(({ fact }) => fact).find((fact) => fact.kind === 'session_started');
  if (started?.kind !== 'session_started') return triggerWords.session_start;
  const { number, agent } = started;
  return `Session ${number} started${agent === null ? '' : ` with ${cleanLine(agent, 40)}`}`;
}

/** At most two things that happened; empty if nothing is worth a title. */
function describeWork(trigger: Trigger, events: readonly Event[], before: State, after: State): string {
  const facts = events.map(({ fact }) => fact);
  // At the start of a session, tasks, files and money are what it found.
  const tasks = trigger === 'session_start' ? '' : describeTasks(facts, after);
  const recorded = [...describeRecorded(facts), tasks, ...describeCurrent(facts, after)];
  const found =
    trigger === 'session_start'
      ? []
      : [
          describeCommits(before, after),
          describeFiles(facts, before, after),
          describeGates(facts),
          ...describeMoney(facts, before, after),
        ];
  const said = trigger === 'session_start' ? '' : findLastMessage(facts);
  return said || cleanLine([...recorded, ...found].filter(Boolean).slice(0, 2).join('; '), 400);
}

/** `tests 141/142`, if tests ran since the last checkpoint and were counted. */
function formatTestCounts(events: readonly Event[], after: State): string | false {
  const isNew = events.some(({ fact }) => fact.kind === 'current_set' && fact.key === 'testState');
  const tests = isNew ? readCurrent(after, 'testState') : null;
  if (typeof tests?.passed !== 'number') return false;
  return `tests ${tests.passed}/${typeof tests.total === 'number' ? tests.total : tests.passed + (tests.failed ?? 0)}`;
}

/** The line of figures below the subject: what changed since the last checkpoint. */
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
    formatTestCounts(events, after),
    spent !== 0 && `${spent > 0 ? '+' : '−'}${formatUsd(Math.abs(spent))}`,
    rebuiltOver > 0 && `rebuilt: ${count(rebuiltOver, 'checkpoint')} before this could not be read`,
  ];
  return figures.filter((figure) => figure !== false).join(' · ');
}

/* What the facts of a checkpoint say, each short enough for a title. */

/** The last note or end-of-turn message, whichever is newer: it makes a title on its own. */
function findLastMessage(facts: readonly Fact[]): string {
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

/** One line, without Markdown that a title has no use for. */
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

/** What people and agents recorded: the newest of each kind. */
function describeRecorded(facts: readonly Fact[]): string[] {
  return Object.entries(recorded).flatMap(([kind, describe]) => {
    const found = facts.filter((fact) => fact.kind === kind);
    const last = found.at(-1);
    if (last === undefined) return [];
    const text = (describe as (fact: Fact) => string)(last); // its key is the kind of the fact
    return [found.length > 1 ? `${text} (and ${found.length - 1} more)` : text];
  });
}

function describeCommits({ commits: known }: State, { commits }: State): string {
  const made = Object.entries(commits).filter(([oid]) => lookUp(known, oid) === undefined);
  const last = made.toSorted(([, a], [, b]) => compareStamps(a.stamp, b.stamp)).at(-1)?.[1];
  return last ? `${count(made.length, 'commit')}: ${quote(last.value.subject)}` : '';
}

/** The tasks of a plan; a task with effects is done when they are. */
function describeTasks(facts: readonly Fact[], { runs }: State): string {
  const failed = facts.flatMap((fact) => (fact.kind === 'task' && fact.status === 'failed' ? [fact.id] : []));
  if (failed.length > 0) return `Task failed: ${failed.join(', ')}`;
  const done = new Set(facts.flatMap((fact) => findDoneTask(runs, fact) ?? []));
  return done.size > 0 ? `Task done: ${[...done].join(', ')}` : '';
}

/** The approved plan, the request, the current task, and the tests. */
function describeCurrent(facts: readonly Fact[], after: State): string[] {
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
    tests ? describeTests(tests) : '',
  ];
}

function describeTests({ status, passed, failed, total }: Current['testState']): string {
  if (status === 'passed') return passed === null ? 'Tests pass' : `${count(passed, 'test')} passed`;
  const all = total ?? (passed ?? 0) + (failed ?? 0);
  return failed === null ? 'Tests fail' : `${failed} of ${count(all, 'test')} failed`;
}

/** The changed files: as recorded, and as git sees them, which also knows files no tool reported. */
function describeFiles(facts: readonly Fact[], before: State, after: State): string {
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

function describeGates(facts: readonly Fact[]): string {
  const gates = facts.flatMap((fact) => (fact.kind === 'gate' && fact.status !== 'skipped' ? [fact] : []));
  const red = new Set(gates.flatMap(({ name, status }) => (status === 'passed' ? [] : [name])));
  if (red.size > 0) return `Gates red: ${[...red].join(', ')}`;
  return gates.length > 0 ? 'Gates green' : '';
}

function describeMoney(facts: readonly Fact[], before: State, after: State): string[] {
  const set = facts.findLast((fact) => fact.kind === 'budget_set');
  const spent = spentIn(after.ledger) - spentIn(before.ledger);
  const isCorrected = facts.some((fact) => fact.kind === 'cost' && fact.usage.corrected);
  return [
    set?.kind === 'budget_set' ? describeBudget(set.limit) : '',
    spent > 0 ? `${formatUsd(spent)} spent` : '',
    spent <= 0 && isCorrected ? `Cost corrected by ${formatUsd(-spent)}` : '',
  ];
}

function describeBudget(limit: Micros | null): string {
  return limit === null ? 'Budget lifted' : `Budget set to ${formatUsd(limit)}`;
}
