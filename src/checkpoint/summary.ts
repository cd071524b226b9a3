import { spentIn } from '../cost/money.ts';
import { readCurrent } from '../state/current.ts';
import type { Event } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { cleanLine } from '../text.ts';
import type { SessionId, Trigger } from '../types.ts';
import { count, formatUsd } from '../units.ts';
import {
  findSaid,
  sayCommits,
  sayCurrent,
  sayFiles,
  sayGates,
  sayMoney,
  sayRecorded,
  sayTasks,
} from './happened.ts';

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
export type Occasion = {
  readonly sessionId: SessionId;
  readonly trigger: Trigger;
  readonly reason: string | null;
  /** Is the reason only how a session began or ended? Then what happened in it says more. */
  readonly isRoutine?: true | undefined;
};

/** What happened, in a line: the reason given, else what was said last, else what was recorded. */
export function summarize(
  { sessionId, trigger, reason, isRoutine }: Occasion,
  events: readonly Event[],
  before: State,
  after: State,
): string {
  const given = reason === null ? '' : cleanLine(reason, 400);
  if (given && !isRoutine) return given;
  // A checkpoint takes in what other sessions recorded meanwhile; its title is about its own.
  const own = events.filter(({ session }) => session === sessionId);
  const told = sayHappened(trigger, own, before, after) || sayHappened(trigger, events, before, after);
  if (trigger === 'complete') return told ? `${triggerWords.complete}: ${told}` : triggerWords.complete;
  if (trigger === 'session_start' && !told) return [sayStarted(events), given].filter(Boolean).join('. ');
  return told || given || triggerWords[trigger];
}

/** `Session 3 started with claude` */
function sayStarted(events: readonly Event[]): string {
  const started = events.map(({ fact }) => fact).find((fact) => fact.kind === 'session_started');
  if (started?.kind !== 'session_started') return triggerWords.session_start;
  const { number, agent } = started;
  return `Session ${number} started${agent === null ? '' : ` with ${cleanLine(agent, 40)}`}`;
}

/** At most two things that happened; empty where there is none worth a title. */
function sayHappened(trigger: Trigger, events: readonly Event[], before: State, after: State): string {
  const facts = events.map(({ fact }) => fact);
  // Tasks, files and money at the start of a session are those it found.
  const tasks = trigger === 'session_start' ? '' : sayTasks(facts, after);
  const recorded = [...sayRecorded(facts), tasks, ...sayCurrent(facts, after)];
  const found =
    trigger === 'session_start'
      ? []
      : [
          sayCommits(before, after),
          sayFiles(facts, before, after),
          sayGates(facts),
          ...sayMoney(facts, before, after),
        ];
  const said = trigger === 'session_start' ? '' : findSaid(facts);
  return said || cleanLine([...recorded, ...found].filter(Boolean).slice(0, 2).join('; '), 400);
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
