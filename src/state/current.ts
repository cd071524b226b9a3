import { isRecord } from '../checks.ts';
import { type ContextWindow, tiers } from '../cost/context-window.ts';
import type { Usage } from '../cost/ledger.ts';
import { isOid } from '../ids.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import type { CheckpointId, Json, Micros, Millis, Oid } from '../types.ts';
import { isRestoredCode, type RestoredCode } from './left-behind.ts';
import type { State } from './lists.ts';

/** What is being worked on. */
export type CurrentTask = { readonly text: string; readonly status: 'in_progress' | 'done' };

/** The latest test results. A count that was not given is null. */
export type TestState = {
  readonly status: 'passed' | 'failed';
  readonly passed: number | null;
  readonly failed: number | null;
  readonly total: number | null;
  /** The names of failing tests, if they were given. */
  readonly failing: readonly string[];
  /** What was expected, by the test's name. */
  readonly why?: Keyed<string>;
  readonly text: string | null;
};

/** The newest checkpoint whose code passed all gates. */
export type LastGreen = { readonly id: CheckpointId; readonly seq: number; readonly tree: Oid };

/** The contents of ORCHESTRATION.yaml when it was last read. */
export type ResumptionState = {
  readonly workflow: string | null;
  readonly phase: string | null;
  readonly status: string | null;
  readonly nextStep: string | null;
  /** Of the whole file: a different digest means that it must be read again. */
  readonly digest: string;
  /** When the file says it was last updated. */
  readonly at: Millis | null;
};

/** The agent that works or worked last, and its own id for the conversation, by which it can be resumed. */
export type CurrentAgent = {
  readonly name: string;
  readonly session: string;
  readonly model: string | null;
};

/** How the code differs from where the epic began. */
export type CodeChanges = {
  /** The tree that was compared with the base, and HEAD at that time. */
  readonly tree: Oid;
  readonly head: Oid | null;
  readonly files: number;
  /** How many of them differ from HEAD. */
  readonly uncommitted: number;
  /** Lines; null if there were too many files to count. */
  readonly added: number | null;
  readonly removed: number | null;
  /** Some of them, uncommitted ones first. */
  readonly named: readonly ChangedFile[];
};

export type ChangedFile = {
  readonly path: string;
  readonly change: 'added' | 'modified' | 'deleted';
  readonly added: number | null;
  readonly removed: number | null;
  /** `untracked` if HEAD does not have it. */
  readonly state: 'committed' | 'uncommitted' | 'untracked';
};

/** Two tasks whose work conflicts, or a task and what is merged. */
export type Collision = {
  readonly one: string;
  readonly other: string;
  readonly commits: readonly [one: Oid, other: Oid];
  readonly files: readonly string[];
};

/** The keys of `current` that orch itself writes. */
export type Current = {
  budget: Micros | null;
  currentTask: CurrentTask;
  testState: TestState;
  lastGreen: LastGreen;
  /** The user's latest request. */
  asked: { readonly text: string };
  /** The last plan the user approved. */
  approvedPlan: { readonly text: string };
  /** The commit HEAD was at when the epic began. */
  base: { readonly commit: Oid };
  changes: CodeChanges;
  /** The agent's message at the end of its last turn. */
  lastMessage: { readonly text: string };
  /** The agent's summary of the conversation from its last compaction. */
  compactSummary: { readonly text: string };
  contextWindow: ContextWindow;
  resumptionState: ResumptionState;
  /** Usage imported from transcripts, by model. */
  imported: Keyed<Usage>;
  /** The agents' own ids of the sessions that their hooks meter. */
  meteredAgents: readonly string[];
  /** The runs whose files a cleanup removed from the tree, and when; a run that continues later keeps files again. */
  clearedRuns: Keyed<Millis>;
  agent: CurrentAgent;
  /** The code that was last restored into a working tree. */
  restored: RestoredCode;
  /** How the last command that was to complete its session ended. */
  lastExit: { readonly session: string; readonly status: number | null; readonly signal: string | null };
  /** The epic is a convoy's: where its newest run began, and which run that is. */
  convoy: { readonly base: string | null; readonly run: string };
  /** Where the work of a convoy's tasks collides now, and what its workers were told. */
  collisions: {
    readonly current: readonly Collision[];
    readonly told: { readonly [pair: string]: readonly string[] };
  };
};

type Fields = { readonly [key: string]: Json };

const isText = (value: Json | undefined): value is string => typeof value === 'string';

type Check<T> = (value: Json | undefined) => value is Json & T;

/** Checks that an object has the right fields. Deeper values are trusted: orch wrote them. */
function checkFields<T>(areRight: (fields: Fields) => boolean): Check<T> {
  return (value): value is Json & T => isRecord(value) && areRight(value);
}

const isSaid = checkFields<{ readonly text: string }>(({ text }) => typeof text === 'string');

const isCollision = (value: Json): boolean => {
  if (!isRecord(value)) return false;
  const { one, other, commits, files } = value;
  const areTexts = (list: Json | undefined) =>
    Array.isArray(list) && list.every((each) => typeof each === 'string');
  return isText(one) && isText(other) && areTexts(commits) && areTexts(files);
};

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
      named.every((file) => isRecord(file) && typeof file.path === 'string'),
  ),
  lastMessage: isSaid,
  compactSummary: isSaid,
  imported: checkFields((models) => Object.values(models).every(isRecord)),
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
  collisions: checkFields(
    ({ current, told }) => Array.isArray(current) && current.every(isCollision) && isRecord(told),
  ),
  lastExit: checkFields(
    ({ session, status, signal }) =>
      isText(session) &&
      (status === null || typeof status === 'number') &&
      (signal === null || isText(signal)),
  ),
  convoy: checkFields(({ base, run }) => (base === null || (isText(base) && isOid(base))) && isText(run)),
};

/** The value of a key of `current`; null if it is missing or this orch does not understand it. */
export function readCurrent<K extends keyof Current>(state: State, key: K): Current[K] | null {
  const value = lookUp(state.current, key)?.value;
  const isRight: Check<Current[K]> = checks[key];
  return isRight(value) ? value : null;
}

/** The epic's budget; null if it has none. */
export function budgetOf(state: State): Micros | null {
  return readCurrent(state, 'budget');
}
