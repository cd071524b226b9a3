import type { ModelPrice } from '../cost/pricing.ts';
import type { EpicId, Micros, Millis, Trigger } from '../types.ts';

export type { ModelPrice } from '../cost/pricing.ts';

/** The triggers a policy can turn on and off. */
export const optionalTriggers = [
  'session_start',
  'error',
  'task',
  'batch',
  'pre_compact',
  'context_tier',
  'issue_complete',
] as const satisfies readonly Trigger[];
export type OptionalTrigger = (typeof optionalTriggers)[number];

/** What to do when the context window fills up. */
export const contextActions = ['checkpoint', 'log', 'stop'] as const;
export type ContextAction = (typeof contextActions)[number];

/** What becomes of a higher budget that comes from another clone. */
export const budgetConsents = ['ask', 'accept'] as const;

/** A shell line, or a program and its arguments, for which no shell is started. */
export type CommandLine = string | readonly string[];

/** A command that says whether the code is healthy, and perhaps one that mends it. */
export type GateConfig = {
  readonly name: string;
  readonly run: CommandLine;
  readonly fix: CommandLine | null;
  readonly timeout: Millis;
};

/** The settings of a repository, resolved: every key is there, in the units orch counts in; null is off. */
export type Config = {
  /** The epic that is meant where none is named. */
  readonly epic: EpicId | null;
  readonly checkpoint: {
    readonly interval: Millis | null;
    readonly on: readonly OptionalTrigger[];
    /** Fractions of the budget at which one is made, each once; ascending. */
    readonly cost: readonly number[];
    /** How many documents stay in the tree. */
    readonly keep: number;
    readonly snapshot: boolean;
    /** Bytes past which an untracked file is left out of snapshots. */
    readonly maxFileSize: number;
    /** How long an agent that is stopped has to end by itself. */
    readonly stopGrace: Millis;
  };
  /** For a new epic. */
  readonly budget: Micros | null;
  readonly gates: 'auto' | readonly GateConfig[];
  readonly context: {
    /** In tokens. */
    readonly window: 'auto' | number;
    readonly critical: ContextAction;
    readonly emergency: ContextAction;
  };
  readonly redact: {
    readonly presets: boolean;
    /** Sources of regular expressions. */
    readonly patterns: readonly string[];
  };
  readonly sync: {
    readonly remote: string;
    readonly snapshots: boolean;
    /** Does a budget that another clone raised count here at once, or after a yes? */
    readonly budgets: (typeof budgetConsents)[number];
  };
  /** By model, over orch's own list. */
  readonly prices: { readonly [model: string]: ModelPrice };
  /** How long things are kept; null is for ever. */
  readonly retention: {
    readonly failed: Millis | null;
    readonly snapshots: Millis | null;
    readonly trash: Millis | null;
    /** After this, an epic that was completed is archived. */
    readonly archive: Millis | null;
  };
};

const minute: Millis = 60_000;
const day: Millis = 86_400_000;

export const defaultGateTimeout: Millis = 5 * minute;

/** What holds where nothing is said. */
export const defaultConfig: Config = {
  epic: null,
  checkpoint: {
    interval: 15 * minute,
    on: ['session_start', 'error', 'task', 'batch', 'pre_compact', 'context_tier'],
    cost: [0.8],
    keep: 5,
    snapshot: true,
    maxFileSize: 10 * 1024 * 1024,
    stopGrace: 5_000,
  },
  budget: null,
  gates: 'auto',
  context: { window: 'auto', critical: 'checkpoint', emergency: 'checkpoint' },
  redact: { presets: true, patterns: [] },
  sync: { remote: 'origin', snapshots: true, budgets: 'ask' },
  prices: {},
  retention: { failed: 7 * day, snapshots: 30 * day, trash: 30 * day, archive: 30 * day },
};
