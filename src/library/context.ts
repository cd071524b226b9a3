import { type Budget, describeBudget } from '../cost/budget.ts';
import { listReadings, noUsage } from '../cost/ledger.ts';
import { OrchError } from '../errors.ts';
import { parseEpicId, parseSessionId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import type { EpicView } from '../session/context.ts';
import { decisionFact, fileFact, issueFact, noteFact, taskFact, testFact } from '../session/facts.ts';
import { costOf } from '../session/fate.ts';
import { describeMoney } from '../session/status.ts';
import { readCurrent, type TestState } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import { compareStamps } from '../state/join.ts';
import type { Entry, IssueUpdate, List, State } from '../state/lists.ts';
import { type Random, realRandom } from '../system/clock.ts';
import type { EpicId, SessionId } from '../types.ts';
import { toMicros, toUsd } from '../units.ts';

/** The work of an agent, as it stands. */
export type AgentContext = {
  /** What is being worked on. */
  readonly currentTask: string | null;
  /** Paths from the top of the repository. */
  readonly filesModified: readonly string[];
  readonly issuesUpdated: readonly {
    readonly id: string;
    readonly title?: string | null;
    readonly status: IssueUpdate['status'];
  }[];
  readonly testState: TestState | null;
  readonly decisions: readonly { readonly text: string; readonly rationale?: string | null }[];
  readonly notes: readonly string[];
};

/**
 * What a program knows while its session runs: the work, the money, and which session it is. It is a value: functions
 * return a changed copy, and what was added to it is recorded with `checkCheckpointTrigger`, `pauseSession` and
 * `completeSession`.
 */
export type OrchestrationContext = AgentContext & {
  readonly epicId: EpicId;
  readonly sessionId: SessionId;
  readonly sessionNumber: number;
  readonly parentSessionId: SessionId | null;
  /** What this session has cost, in dollars. */
  readonly sessionCostUsd: number;
  /** The part of it that `updateSessionCost` added: it is recorded once, however often the context is handed over. */
  readonly addedCostUsd: number;
  /** For the whole epic. */
  readonly budget: Budget;
  readonly lastCheckpoint: { readonly timestamp: string; readonly costUsd: number } | null;
};

/** `sess-7hq2m4` */
export function generateSessionId(): SessionId {
  return parseSessionId(`sess-${realRandom.id(6)}`);
}

/** `epic-7hq2m4` */
export function generateEpicId(): EpicId {
  return parseEpicId(`epic-${realRandom.id(6)}`);
}

export type ContextInput = {
  /** Made up where they are not given. */
  readonly epicId?: string;
  readonly sessionId?: string;
  readonly sessionNumber?: number;
  readonly parentSessionId?: string | null;
  /** For the whole epic, in dollars. */
  readonly budget?: number | null;
};

/** A context in which nothing has happened yet. It is only a value: `startSession` starts a session, and gives one. */
export function createSessionContext(input: ContextInput = {}): OrchestrationContext {
  const { epicId, sessionId, sessionNumber = 1, parentSessionId = null, budget = null } = input;
  return {
    epicId: epicId === undefined ? generateEpicId() : parseEpicId(epicId),
    sessionId: sessionId === undefined ? generateSessionId() : parseSessionId(sessionId),
    sessionNumber,
    parentSessionId: parentSessionId === null ? null : parseSessionId(parentSessionId),
    sessionCostUsd: 0,
    addedCostUsd: 0,
    budget: describeBudget(0, budget === null ? null : toMicros(budget)),
    lastCheckpoint: null,
    currentTask: null,
    filesModified: [],
    issuesUpdated: [],
    testState: null,
    decisions: [],
    notes: [],
  };
}

/** What came of a cost: the context with it, and whether there is still money. */
export type CostUpdate = {
  readonly context: OrchestrationContext;
  /** Said once, when 80 % are reached. */
  readonly warning: BudgetNotice | null;
  /** The money is gone: stop working. */
  readonly stop: BudgetNotice | null;
};

export type BudgetNotice = { readonly kind: 'budget'; readonly spentUsd: number; readonly limitUsd: number };

/** Adds a cost, in dollars, to a context. Once the budget is used up nothing more may be added. */
export function updateSessionCost(context: OrchestrationContext, usd: number): CostUpdate {
  if (isBudgetExceeded(context))
    throw new OrchError('BUDGET_EXCEEDED', `the budget of ${context.epicId} is used up`, {
      hint: `Give it more, such as: resumeSession('${context.epicId}', { budget: '+10' })`,
      data: { epicId: context.epicId },
    });
  const added = toMicros(usd);
  const { spentUsd, limitUsd, estimatedUsd = 0 } = context.budget;
  const spent = toMicros(spentUsd) + added;
  const limit = limitUsd === null ? null : toMicros(limitUsd);
  const budget = describeBudget(spent, limit, toMicros(estimatedUsd));
  const plus = (amount: number) => toUsd(toMicros(amount) + added);
  const notice = limitUsd === null ? null : ({ kind: 'budget', spentUsd: toUsd(spent), limitUsd } as const);
  return {
    context: {
      ...context,
      budget,
      sessionCostUsd: plus(context.sessionCostUsd),
      addedCostUsd: plus(context.addedCostUsd),
    },
    warning: budget.level === 'warning' && context.budget.level === 'ok' ? notice : null,
    stop: budget.level === 'exceeded' ? notice : null,
  };
}

/** Anything that says how an epic stands with its money: a context, a status, what recording gave back. */
export type WithBudget = { readonly budget: Budget };

/** Is the money gone? */
export function isBudgetExceeded({ budget }: WithBudget): boolean {
  return budget.level === 'exceeded';
}

/** How an epic stands with its money. */
export function getBudgetStatus({ budget }: WithBudget): Budget {
  return budget;
}

/** The context of a session as it is recorded. */
export function readContext(
  view: EpicView,
  session: Pick<OrchestrationContext, 'sessionId' | 'sessionNumber' | 'parentSessionId'>,
): OrchestrationContext {
  const { state, saved, epic } = view;
  const of = <T extends { readonly session: SessionId }>(list: List<T>) =>
    inOrder(list).filter(([, { value }]) => value.session === session.sessionId);
  const task = readCurrent(state, 'currentTask');
  return {
    epicId: epic,
    ...session,
    sessionCostUsd: toUsd(costOf(state, session.sessionId)),
    addedCostUsd: 0,
    budget: describeMoney(state),
    lastCheckpoint: saved && { timestamp: saved.document.timestamp, costUsd: saved.document.costUsd },
    currentTask: task?.status === 'in_progress' ? task.text : null,
    filesModified: of(state.files).map(([path]) => path),
    issuesUpdated: of(state.issues).map(([id, { value }]) => ({
      id,
      title: value.title,
      status: value.status,
    })),
    testState: readCurrent(state, 'testState'),
    decisions: of(state.decisions).map(([, { value }]) => ({ text: value.text, rationale: value.rationale })),
    notes: of(state.notes).map(([, { value }]) => value.text),
  };
}

function inOrder<T>(list: List<T>): [string, Entry<T>][] {
  return Object.entries(list).sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
}

/** What costs that a context added are counted under: a meter, so that handing it over twice counts once. */
const programMeter = 'program';

/** The facts in a context that are not recorded yet. */
export function findNewFacts(random: Random, context: OrchestrationContext, state: State): Fact[] {
  const texts = (list: List<{ readonly text: string }>) =>
    new Set(Object.values(list).map(({ value }) => value.text));
  const [notes, decisions] = [texts(state.notes), texts(state.decisions)];
  const task = readCurrent(state, 'currentTask');
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const micros = toMicros(context.addedCostUsd);
  const isCounted = listReadings(state.ledger).some(
    ({ session, model, usage }) =>
      session === context.sessionId && model === programMeter && usage.micros >= micros,
  );
  return [
    ...(context.currentTask !== null && context.currentTask !== task?.text
      ? [taskFact(context.currentTask, false)]
      : []),
    ...context.filesModified.filter((path) => !lookUp(state.files, path)).map((path) => fileFact(path, {})),
    ...context.issuesUpdated
      .filter(({ id, status }) => lookUp(state.issues, id)?.value.status !== status)
      .map(({ id, title = null, status }) =>
        issueFact(state, id, { ...(title !== null && { title }), status }),
      ),
    ...(context.testState && !isSame(context.testState, readCurrent(state, 'testState'))
      ? [testFact(context.testState)]
      : []),
    ...context.decisions
      .filter(({ text }) => !decisions.has(text))
      .map(({ text, rationale = null }) => decisionFact(random, text, rationale)),
    ...context.notes.filter((text) => !notes.has(text)).map((text) => noteFact(random, text)),
    ...(micros > 0 && !isCounted
      ? [{ kind: 'meter' as const, model: programMeter, usage: { ...noUsage, micros } }]
      : []),
  ];
}
