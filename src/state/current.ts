import { lookUp } from '../keyed.ts';
import type { CheckpointId, Json, Micros, Oid } from '../types.ts';
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
  readonly text: string | null;
};

/** The newest checkpoint whose code passed all gates. */
export type LastGreen = { readonly id: CheckpointId; readonly seq: number; readonly tree: Oid };

/** What stands under a key of `current`; these are the ones orch itself writes. */
export type Current = {
  budget: Micros | null;
  currentTask: CurrentTask;
  testState: TestState;
  lastGreen: LastGreen;
  /** What the user asked for last. */
  asked: { readonly text: string };
};

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const checks: { readonly [K in keyof Current]: (value: Json | undefined) => boolean } = {
  budget: (value) => typeof value === 'number',
  currentTask: (value) =>
    isObject(value) &&
    typeof value.text === 'string' &&
    (value.status === 'in_progress' || value.status === 'done'),
  testState: (value) =>
    isObject(value) &&
    (value.status === 'passed' || value.status === 'failed') &&
    Array.isArray(value.failing),
  lastGreen: (value) => isObject(value) && typeof value.id === 'string' && typeof value.seq === 'number',
  asked: (value) => isObject(value) && typeof value.text === 'string',
};

/** What stands there, or null where nothing does, or something this orch does not understand. */
export function readCurrent<K extends keyof Current>(state: State, key: K): Current[K] | null {
  const value = lookUp(state.current, key)?.value;
  return checks[key](value) ? (value as unknown as Current[K]) : null; // just checked
}

/** The epic's budget, or null where there is none. */
export function budgetOf(state: State): Micros | null {
  return readCurrent(state, 'budget');
}
