import { type ContextWindow, tiers } from '../cost/context.ts';
import type { Usage } from '../cost/ledger.ts';
import { isOid } from '../ids.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import type { CheckpointId, Json, Micros, Millis, Oid } from '../types.ts';
import { isRestoredCode, type RestoredCode } from './left-behind.ts';
import type { State } from './lists.ts';

/** What is being worked on. */
export type CurrentTask = { readonly text: string; readonly status: 'in_progress' | 'done' };

/** What the tests said last. A count that nobody gave is null. */
export type TestState = {
  readonly status: 'passed' | 'failed';
  readonly passed: number | null;
  readonly failed: number | null;
  readonly total: number | null;
  /** The names of failing tests, as far as they were given. */
  readonly failing: readonly string[];
  /** What was expected and not so, by the test's name. */
  readonly why?: Keyed<string>;
  readonly text: string | null;
};

/** The newest checkpoint whose code passed all gates. */
export type LastGreen = { readonly id: CheckpointId; readonly seq: number; readonly tree: Oid };

/** What the ORCHESTRATION.yaml said when it was last read. */
export type ResumptionState = {
  readonly workflow: string | null;
  readonly phase: string | null;
  readonly status: string | null;
  readonly nextStep: string | null;
  /** Of all it said: another one is read again. */
  readonly digest: string;
  /** When it was brought up to date, by itself. */
  readonly at: Millis | null;
};

/** The agent that works, or worked last, and its own name for the conversation: by it, it can go on. */
export type CurrentAgent = {
  readonly name: string;
  readonly session: string;
  readonly model: string | null;
};

/** How the code differs from what it was when the epic began. */
export type CodeChanges = {
  /** The trees that were compared, and HEAD between them. */
  readonly tree: Oid;
  readonly head: Oid | null;
  readonly files: number;
  /** How many of them differ from HEAD. */
  readonly uncommitted: number;
  /** Lines; null where there were too many files to count. */
  readonly added: number | null;
  readonly removed: number | null;
  /** Some of them: what is not committed first. */
  readonly named: readonly ChangedFile[];
};

export type ChangedFile = {
  readonly path: string;
  readonly change: 'added' | 'modified' | 'deleted';
  readonly added: number | null;
  readonly removed: number | null;
  /** `untracked` where HEAD does not have it. */
  readonly state: 'committed' | 'uncommitted' | 'untracked';
};

/** What stands under a key of `current`; these are the ones orch itself writes. */
export type Current = {
  budget: Micros | null;
  currentTask: CurrentTask;
  testState: TestState;
  lastGreen: LastGreen;
  /** What the user asked for last. */
  asked: { readonly text: string };
  /** The last plan of the agent's that the user approved. */
  approvedPlan: { readonly text: string };
  /** The commit that HEAD was when the epic began. */
  base: { readonly commit: Oid };
  changes: CodeChanges;
  /** What the agent said at the end of its last turn. */
  lastMessage: { readonly text: string };
  /** What the agent made of its conversation when it last compacted it. */
  compactSummary: { readonly text: string };
  contextWindow: ContextWindow;
  resumptionState: ResumptionState;
  /** What was counted of imported transcripts, by model. */
  imported: Keyed<Usage>;
  /** The agents' own names of the sessions that their hooks meter. */
  meteredAgents: readonly string[];
  /** The runs whose files a cleanup took out of the tree, and when: one that goes on after that has them again. */
  clearedRuns: Keyed<Millis>;
  agent: CurrentAgent;
  /** The code that was last brought back into a working tree. */
  restored: RestoredCode;
};

type Fields = { readonly [key: string]: Json };

const isObject = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isText = (value: Json | undefined): value is string => typeof value === 'string';

type Check<T> = (value: Json | undefined) => value is Json & T;

/** An object whose fields are as they should be. What they mean beyond that is taken on trust: orch wrote them. */
function checkFields<T>(areRight: (fields: Fields) => boolean): Check<T> {
  return (value): value is Json & T => isObject(value) && areRight(value);
}

const isSaid = checkFields<{ readonly text: string }>(({ text }) => typeof text === 'string');

const checks: { readonly [K in keyof Current]: Check<Current[K]> } = {
  budget: (value): value is number => typeof value === 'number',
  currentTask: checkFields(
    ({ text, status }) => typeof text === 'string' && (status === 'in_progress' || status === 'done'),
  ),
  testState: checkFields(
    ({ status, failing }) => (status === 'passed' || status === 'failed') && Array.isArray(failing),
  ),
  lastGreen: checkFields(({ id, seq }) => typeof id === 'string' && typeof seq === 'number'),
  asked: isSaid,
  approvedPlan: isSaid,
  // Both become arguments of git.
  base: checkFields(({ commit }) => isText(commit) && isOid(commit)),
  changes: checkFields(
    ({ tree, head, files, uncommitted, named }) =>
      isText(tree) &&
      isOid(tree) &&
      (head === null || (isText(head) && isOid(head))) &&
      typeof files === 'number' &&
      typeof uncommitted === 'number' &&
      Array.isArray(named) &&
      named.every((file) => isObject(file) && typeof file.path === 'string'),
  ),
  lastMessage: isSaid,
  compactSummary: isSaid,
  imported: checkFields((models) => Object.values(models).every(isObject)),
  meteredAgents: (value): value is string[] =>
    Array.isArray(value) && value.every((name) => typeof name === 'string'),
  clearedRuns: checkFields((runs) => Object.values(runs).every((at) => typeof at === 'number')),
  resumptionState: checkFields(({ digest }) => typeof digest === 'string'),
  contextWindow: checkFields(
    ({ tokens, window, fill, tier }) =>
      [tokens, window, fill].every((amount) => typeof amount === 'number') &&
      tiers.some((known) => known === tier),
  ),
  restored: (value): value is Json & RestoredCode => isRestoredCode(value),
  agent: checkFields(({ name, session }) => typeof name === 'string' && typeof session === 'string'),
};

/** What stands there, or null where nothing does, or something this orch does not understand. */
export function readCurrent<K extends keyof Current>(state: State, key: K): Current[K] | null {
  const value = lookUp(state.current, key)?.value;
  const isRight: Check<Current[K]> = checks[key];
  return isRight(value) ? value : null;
}

/** The epic's budget, or null where there is none. */
export function budgetOf(state: State): Micros | null {
  return readCurrent(state, 'budget');
}
