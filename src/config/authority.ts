import type { Json } from '../types.ts';
import { type Config, defaultConfig, type Receiver } from './defaults.ts';

/*
 * What a repository's own files may decide without its user. `.orchestration/config.yaml` comes with a clone, so anyone
 * who can commit can write it. The repository may choose settings that only shape what orch keeps in this clone. A
 * setting that sends data elsewhere, keeps secrets, or lets an agent spend more needs the user's approval in this clone.
 */
type Decider =
  | 'repository'
  /** The user is asked, because the setting decides this. */
  | { readonly asks: string };

type Deciders<T> = {
  readonly [K in keyof T]:
    | Decider
    | (T[K] extends { readonly [key: string]: unknown } ? Deciders<T[K]> : never);
};

/** Who decides each setting. A new setting does not compile until it is listed. */
export const deciders = {
  epic: 'repository',
  checkpoint: {
    interval: 'repository',
    on: 'repository',
    cost: 'repository',
    keep: 'repository',
    snapshot: 'repository',
    maxFileSize: 'repository',
    stopGrace: { asks: 'how long an agent may continue after its budget is used up' },
  },
  // Without it a new epic has no limit at all, so it can only restrict.
  budget: 'repository',
  // Commands are approved one by one, in trust.ts.
  gates: 'repository',
  context: { window: 'repository', critical: 'repository', emergency: 'repository' },
  redact: {
    presets: { asks: 'whether known secrets are kept out of what orch records' },
    patterns: 'repository',
  },
  // The first sync to an address asks before it sends anything, and whether to include files.
  sync: {
    remote: { asks: 'where orch sync sends its records' },
    snapshots: 'repository',
    budgets: { asks: 'whether a budget raised in another clone counts here' },
  },
  // What it does about an agent is said, and a task that it ends is tried again.
  witness: {
    quiet: 'repository',
    stuck: 'repository',
    repeats: 'repository',
    patience: 'repository',
    actions: 'repository',
  },
  // A larger model costs more, and every convoy has its budget.
  routing: { models: 'repository', rules: 'repository', learn: 'repository' },
  // Each receiver is approved by itself, exactly as it is.
  notify: { asks: 'who is told what happens: it sends data, runs a command or writes a file' },
  // Names of epics and tasks, costs, and why something failed.
  telemetry: { asks: 'whether spans and metrics of agents are sent to an OpenTelemetry collector' },
  orchestrationFile: 'repository',
  worktrees: { asks: 'where the files of worktrees are written' },
  prices: { asks: 'what agents cost, and so when a budget is used up' },
  // Cleanup lists what it would remove and asks.
  retention: { failed: 'repository', snapshots: 'repository', trash: 'repository', archive: 'repository' },
} as const satisfies Deciders<Config>;

/** A setting that only counts after approval, with its value. */
export type Claim = { readonly key: string; readonly value: Json; readonly asks: string };

/** Lists the settings that need approval. `isRemote` knows the remotes in git's own config. */
export function findClaims(config: Config, isRemote: (name: string) => boolean = () => true): Claim[] {
  const { redact, prices, sync, checkpoint, worktrees } = config;
  const claims: (Claim | false)[] = [
    checkpoint.stopGrace > defaultConfig.checkpoint.stopGrace && {
      key: 'checkpoint.stopGrace',
      value: checkpoint.stopGrace,
      ...deciders.checkpoint.stopGrace,
    },
    !redact.presets && { key: 'redact.presets', value: false, ...deciders.redact.presets },
    sync.remote !== defaultConfig.sync.remote &&
      !isRemote(sync.remote) && { key: 'sync.remote', value: sync.remote, ...deciders.sync.remote },
    sync.budgets === 'accept' && { key: 'sync.budgets', value: sync.budgets, ...deciders.sync.budgets },
    worktrees !== null && { key: 'worktrees', value: worktrees, ...deciders.worktrees },
    ...config.notify.map((receiver) => ({
      key: claimOf(receiver),
      value: { ...receiver.to, on: receiver.on },
      ...deciders.notify,
    })),
    config.telemetry && { key: 'telemetry', value: true, ...deciders.telemetry },
    Object.keys(prices).length > 0 && {
      key: 'prices',
      value: Object.fromEntries(Object.entries(prices).map(([model, price]) => [model, { ...price }])),
      ...deciders.prices,
    },
  ];
  return claims.filter((claim) => claim !== false);
}

function claimOf({ name }: Receiver): string {
  return `notify.${name}`;
}

/** Replaces each claim by orch's default. */
export function withoutClaims(config: Config, claims: readonly Claim[]): Config {
  const has = (key: string) => claims.some((claim) => claim.key === key);
  const { checkpoint, redact, sync, prices } = defaultConfig;
  return {
    ...config,
    ...(has('checkpoint.stopGrace') && {
      checkpoint: { ...config.checkpoint, stopGrace: checkpoint.stopGrace },
    }),
    ...(has('redact.presets') && { redact: { ...config.redact, presets: redact.presets } }),
    sync: {
      ...config.sync,
      ...(has('sync.remote') && { remote: sync.remote }),
      ...(has('sync.budgets') && { budgets: sync.budgets }),
    },
    notify: config.notify.filter((receiver) => !has(claimOf(receiver))),
    ...(has('telemetry') && { telemetry: defaultConfig.telemetry }),
    ...(has('worktrees') && { worktrees: defaultConfig.worktrees }),
    ...(has('prices') && { prices }),
  };
}
