import type { Json } from '../types.ts';
import { type Config, defaultConfig } from './defaults.ts';

/*
 * What a repository's own files may decide without its user. A clone brings `.orchestration/config.yaml` along, so
 * whoever can commit can write it. A setting that only shapes what orch keeps in this clone is the repository's to
 * choose. One that sends something away, keeps secrets, or lets an agent spend more counts after a yes in this clone.
 */
type Decider =
  | 'repository'
  /** Asked about, because it decides this. */
  | { readonly asks: string };

type Deciders<T> = {
  readonly [K in keyof T]:
    | Decider
    | (T[K] extends { readonly [key: string]: unknown } ? Deciders<T[K]> : never);
};

/** Every setting, with who decides it: a new one does not compile until that is said. */
export const deciders = {
  epic: 'repository',
  checkpoint: {
    interval: 'repository',
    on: 'repository',
    cost: 'repository',
    keep: 'repository',
    snapshot: 'repository',
    maxFileSize: 'repository',
    stopGrace: { asks: 'how long an agent may go on after its budget is used up' },
  },
  // A new epic has none without it, so it can only hold back.
  budget: 'repository',
  // Commands: each one is approved by itself, in integration/trust.ts.
  gates: 'repository',
  context: { window: 'repository', critical: 'repository', emergency: 'repository' },
  redact: {
    presets: { asks: 'whether known secrets are kept out of what orch records' },
    patterns: 'repository',
  },
  // Which addresses are published to, and whether files go along, the first sync asks about.
  sync: {
    remote: { asks: 'where orch sync sends what it recorded' },
    snapshots: 'repository',
    budgets: { asks: 'whether a budget that another clone raises counts here' },
  },
  prices: { asks: 'what an agent is said to cost, and so when a budget is used up' },
  // A cleanup names all that it would remove, and asks.
  retention: { failed: 'repository', snapshots: 'repository', trash: 'repository', archive: 'repository' },
} as const satisfies Deciders<Config>;

/** A setting that counts only after a yes, and what it says. */
export type Claim = { readonly key: string; readonly value: Json; readonly asks: string };

/** What a config says that is not for the repository to decide. `isRemote` knows the remotes in git's own config. */
export function findClaims(config: Config, isRemote: (name: string) => boolean = () => true): Claim[] {
  const { redact, prices, sync, checkpoint } = config;
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
    Object.keys(prices).length > 0 && {
      key: 'prices',
      value: Object.fromEntries(Object.entries(prices).map(([model, price]) => [model, { ...price }])),
      ...deciders.prices,
    },
  ];
  return claims.filter((claim) => claim !== false);
}

/** The config with orch's own default in the place of each claim. */
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
    ...(has('prices') && { prices }),
  };
}
