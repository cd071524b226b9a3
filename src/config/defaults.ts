import type { ModelPrice } from '../cost/pricing.ts';
import type { EpicId, Micros, Millis, Trigger } from '../types.ts';

export type { ModelPrice } from '../cost/pricing.ts';

/** The triggers a config can turn on and off. */
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

/** What to do with a budget that another clone raised. */
export const budgetConsents = ['ask', 'accept'] as const;

/** What orch does with the user's ORCHESTRATION.yaml. */
export const orchestrationFileUses = ['write', 'read', 'off'] as const;
export type OrchestrationFileUse = (typeof orchestrationFileUses)[number];

/** What the witness may do about an agent in trouble, mildest first. */
export const witnessActions = ['nudge', 'escalate', 'end'] as const;
export type WitnessAction = (typeof witnessActions)[number];

/** How capable a model is, and how expensive, among those of one agent. */
export const tiers = ['small', 'medium', 'large'] as const;
export type Tier = (typeof tiers)[number];

/** Tasks with one of these labels, and files like these, begin with this tier. */
export type RoutingRule = {
  readonly labels?: readonly string[] | undefined;
  readonly files?: readonly string[] | undefined;
  readonly tier: Tier;
};

/** What happens that people may want to hear of. */
export const noticeKinds = [
  'question',
  'task_failed',
  'convoy_done',
  'convoy_failed',
  'budget',
  'stuck',
] as const;
export type NoticeKind = (typeof noticeKinds)[number];

/** A shell line, or a program and its arguments, which run without a shell. */
export type CommandLine = string | readonly string[];

/** Who hears of what happens, and of what. */
export type Receiver = {
  readonly name: string;
  readonly on: readonly NoticeKind[];
  readonly to: /** `url` may be the name of an environment variable, as `$NAME`; `secret` is the name of one, to sign with. */
    | { readonly kind: 'webhook'; readonly url: string; readonly secret: string | null }
    | { readonly kind: 'command'; readonly run: CommandLine }
    /** Seen from the main checkout. */
    | { readonly kind: 'file'; readonly path: string };
};

/** A command that says whether the code is healthy. */
export type Gate = {
  readonly name: string;
  readonly run: CommandLine;
  /** Repairs what the gate complains about, if a command can. */
  readonly fix: CommandLine | null;
  readonly timeout: Millis;
};

/** A repository's settings with every key present, in orch's own units; null means off. */
export type Config = {
  /** The epic to use if none is named. */
  readonly epic: EpicId | null;
  readonly checkpoint: {
    readonly interval: Millis | null;
    readonly on: readonly OptionalTrigger[];
    /** Fractions of the budget at which one is made, once each; ascending. */
    readonly cost: readonly number[];
    /** How many documents stay in the tree. */
    readonly keep: number;
    readonly snapshot: boolean;
    /** Bytes past which an untracked file is left out of snapshots. */
    readonly maxFileSize: number;
    /** How long an agent that is being stopped has to exit. */
    readonly stopGrace: Millis;
  };
  /** For a new epic. */
  readonly budget: Micros | null;
  readonly gates: 'auto' | readonly Gate[];
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
    readonly budgets: (typeof budgetConsents)[number];
  };
  /** What looks after agents that work. */
  readonly witness: {
    /** Without a sign of life for this long, an agent is quiet. */
    readonly quiet: Millis;
    /** And for this long, it is stuck. */
    readonly stuck: Millis;
    /** So many times the same step with the same result is a loop. */
    readonly repeats: number;
    /** How long each action has to work before the next one. */
    readonly patience: Millis;
    /** What it may do, in this order. */
    readonly actions: readonly WitnessAction[];
  };
  /** Which model does a convoy's task whose plan says `auto`. */
  readonly routing: {
    /** By agent, the smallest first. */
    readonly models: { readonly [agent: string]: readonly string[] };
    readonly rules: readonly RoutingRule[];
    /** Whether how earlier tasks went counts. */
    readonly learn: boolean;
  };
  /** Who is told what happens while the user is away. */
  readonly notify: readonly Receiver[];
  /** Are spans and metrics sent to the OpenTelemetry collector that the environment names? */
  readonly telemetry: boolean;
  /** write: read its plan and name the latest checkpoint in it; read: only read it; off: ignore it. */
  readonly orchestrationFile: OrchestrationFileUse;
  /** The folder for worktrees, seen from the main checkout; null: beside it. */
  readonly worktrees: string | null;
  /** By model; they override orch's own list. */
  readonly prices: { readonly [model: string]: ModelPrice };
  /** How long things are kept; null means forever. */
  readonly retention: {
    readonly failed: Millis | null;
    readonly snapshots: Millis | null;
    readonly trash: Millis | null;
    /** How long after its completion an epic is archived. */
    readonly archive: Millis | null;
  };
};

const minute: Millis = 60_000;
const day: Millis = 86_400_000;

export const defaultGateTimeout: Millis = 5 * minute;

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
  witness: {
    quiet: 5 * minute,
    stuck: 30 * minute,
    repeats: 8,
    patience: 10 * minute,
    actions: ['nudge', 'escalate', 'end'],
  },
  routing: { models: { claude: ['haiku', 'sonnet', 'opus'] }, rules: [], learn: false },
  notify: [],
  telemetry: false,
  orchestrationFile: 'write',
  worktrees: null,
  prices: {},
  retention: { failed: 7 * day, snapshots: 30 * day, trash: 30 * day, archive: 30 * day },
};
