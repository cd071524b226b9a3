import { noUsage } from '../cost/ledger.ts';
import { OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { TestState } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { FileChange, IssueUpdate, List, Note, State } from '../state/lists.ts';
import type { Random } from '../system/clock.ts';
import { cleanLine, cleanText } from '../text.ts';
import type { Micros, Millis } from '../types.ts';
import { formatUsd, parseUsd, toUsd } from '../units.ts';

/* The facts that can be recorded. Pure except for generated ids. */

/** Refuses a text that is empty once invisible characters are removed. */
function textOf(what: string, text: string): string {
  if (typeof text === 'string' && cleanText(text).trim() !== '') return text;
  throw new OrchError('USAGE', `the ${what} needs a text`, {
    hint: `Try: orch record ${what} "your text"`,
  });
}

export function noteFact(random: Random, text: string): Fact {
  return { kind: 'note', id: `n-${random.id(6)}`, text: textOf('note', text) };
}

export function triedFact(random: Random, text: string, why: string | null): Fact {
  return { kind: 'tried', id: `t-${random.id(6)}`, text: textOf('tried', text), why };
}

/** A question to the user; `waits`: the agent needs the answer before it goes on. */
export function questionFact(random: Random, text: string, waits = false): Fact & { readonly id: string } {
  const id = `q-${random.id(6)}`;
  const asked = {
    kind: 'question' as const,
    id,
    text: textOf('question', text),
    answer: null,
    resolvedAt: null,
  };
  return waits ? { ...asked, waits: true } : asked;
}

/** Answers an open question, and records the answer as a decision of the user. */
export function answerFacts(
  random: Random,
  state: State,
  name: string,
  answer: string,
  { at, byAgent }: { readonly at: Millis; readonly byAgent: boolean },
): readonly Fact[] {
  const { id, text } = findOpen(state.questions, 'question', name);
  if (cleanText(answer).trim() === '')
    throw new OrchError('USAGE', 'the answer needs a text', {
      hint: `Try: orch record question ${id} --answer "what the user said"`,
    });
  // An agent only reports what the user said; only the user's own answer counts as theirs.
  const decided = byAgent
    ? decisionFact(random, `${text} ${answer}`, 'the answer the agent got')
    : { ...decisionFact(random, `${text} ${answer}`, null), by: 'user' as const };
  return [decided, { kind: 'question', id, text, answer, resolvedAt: at }];
}

export function decisionFact(
  random: Random,
  text: string,
  rationale: string | null,
): Extract<Fact, { kind: 'decision' }> {
  return { kind: 'decision', id: `d-${random.id(6)}`, text: textOf('decision', text), rationale };
}

export function blockerFact(random: Random, text: string): Fact {
  return { kind: 'blocker', id: `b-${random.id(6)}`, text: textOf('blocker', text), resolvedAt: null };
}

/** Resolves an open blocker, named by its id, the start of the id, or a part of its text. */
export function resolvedFact(state: State, name: string, at: Millis): Fact {
  return { kind: 'blocker', ...findOpen(state.blockers, 'blocker', name), resolvedAt: at };
}

function findOpen(
  list: List<Note>,
  what: string,
  name: string,
): { readonly id: string; readonly text: string } {
  const open = Object.entries(list).filter(([, { value }]) => value.resolvedAt === null);
  const exact = open.filter(([id]) => id === name);
  const wanted = name.toLowerCase();
  const near = open.filter(
    ([id, { value }]) => id.startsWith(name) || value.text.toLowerCase().includes(wanted),
  );
  const [found, ...others] = exact.length > 0 ? exact : near;
  const title = ([id, { value }]: (typeof open)[number]) => `${id} (${value.text.slice(0, 60)})`;
  if (found === undefined || name.trim() === '')
    throw new OrchError('USAGE', `no open ${what} matches ${JSON.stringify(name)}`, {
      hint: open.length === 0 ? `There is no open ${what}.` : `Open: ${open.map(title).join(', ')}`,
      data: { open: open.map(([id]) => id) },
    });
  if (others.length > 0)
    throw new OrchError('USAGE', `${JSON.stringify(name)} matches ${near.length} open ${what}s`, {
      hint: `Name one by its id: ${near.map(title).join(', ')}`,
      data: { open: near.map(([id]) => id) },
    });
  return { id: found[0], text: found[1].value.text };
}

/** The current task, or that it is done. */
export function taskFact(text: string, isDone: boolean): Fact {
  const status = isDone ? 'done' : 'in_progress';
  return { kind: 'current_set', key: 'currentTask', value: { text: textOf('task', text), status } };
}

/** A file that changed or should be read, by its path in the repository. */
export function fileFact(
  path: string,
  details: Partial<Omit<FileChange, 'session'>>,
): Fact & { readonly kind: 'file' } {
  const { change = 'modified', added = null, removed = null, priority = null, why = null } = details;
  return { kind: 'file', path, change, added, removed, priority, why };
}

/** Updates an issue; fields that are not given keep their value. */
export function issueFact(state: State, id: string, update: Partial<Omit<IssueUpdate, 'session'>>): Fact {
  const name = issueId(id);
  const known = lookUp(state.issues, name)?.value;
  return {
    kind: 'issue',
    id: name,
    title: update.title ?? known?.title ?? null,
    status: update.status ?? known?.status ?? 'open',
    severity: update.severity ?? known?.severity ?? null,
    location: update.location ?? known?.location ?? null,
  };
}

/** One line, so that the next record with this id finds the issue. */
function issueId(id: string): string {
  const line = cleanLine(id, 200);
  if (line !== '') return line;
  throw new OrchError('USAGE', 'an issue needs an id', {
    hint: 'Try: orch record issue T3 "its title" --status open',
  });
}

/** The test results. Refuses contradictory counts. */
export function testFact(tests: TestState): Fact {
  const { status, passed, failed, total, failing, text } = tests;
  if (failing.length > (failed ?? failing.length))
    throw contradiction(`${failed} failed, but ${failing.length} are named`);
  if (total !== null && (passed ?? 0) + (failed ?? 0) > total)
    throw contradiction(`${(passed ?? 0) + (failed ?? 0)} ran, but there are only ${total}`);
  return {
    kind: 'current_set',
    key: 'testState',
    value: { status, passed, failed, total, failing: [...failing], text },
  };
}

function contradiction(what: string): OrchError {
  return new OrchError('USAGE', `these test results contradict each other: ${what}`, {
    hint: 'Try: orch record test --passed 141 --failed 1 "the name of the one that failed"',
  });
}

/** More than one record can cost: a typing mistake must not use up what an epic can count. */
const mostAtOnce: Micros = 1_000_000_000_000;

export type CostDetails = {
  readonly model?: string | null;
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
};

function parseCost(amount: string | number): Micros {
  const text = String(amount).trim();
  const isNumber = /^\$?(\d+\.?\d*|\.\d+)(e-?\d+)?$/i.test(text);
  // Anything finer than a micro-dollar is rounded: agents print costs as they computed them.
  const micros = parseUsd(text) ?? (isNumber ? Math.round(Number(text.replace('$', '')) * 1_000_000) : null);
  if (micros === null || micros > mostAtOnce)
    throw new OrchError('USAGE', `${JSON.stringify(amount)} is not an amount of money`, {
      hint: 'Give dollars from 0 to 1000000, such as 0.25',
    });
  return micros;
}

/** Corrects a cost that was recorded by hand: takes back `wrong`, and counts `right` instead. */
export function correctionFact(right: string | number, wrong: string | number, available: Micros): Fact {
  const corrected = parseCost(wrong);
  if (corrected > available)
    throw new OrchError(
      'USAGE',
      `cannot take back ${formatUsd(corrected)}: only ${formatUsd(available)} was recorded by hand in this clone`,
      {
        hint: 'Give the amount that was recorded wrongly. Costs from agents or with --model cannot be taken back.',
        data: { correctableUsd: toUsd(available) },
      },
    );
  return { kind: 'cost', model: null, usage: { ...noUsage, micros: parseCost(right), corrected } };
}

/** Adds to the session's cost. */
export function costFact(amount: string | number, details: CostDetails = {}): Fact {
  const micros = parseCost(amount);
  const { model = null, input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = details;
  return { kind: 'cost', model, usage: { ...noUsage, micros, input, output, cacheRead, cacheWrite } };
}
