import { describe, expect, it } from 'vitest';
import { deciders, findClaims, withoutClaims } from '../../src/config/authority.ts';
import { type Config, defaultConfig } from '../../src/config/load.ts';

/** A config that says something dangerous wherever it can. */
const greedy: Config = {
  ...defaultConfig,
  checkpoint: { ...defaultConfig.checkpoint, stopGrace: 3_600_000, keep: 9 },
  redact: { presets: false, patterns: ['x'] },
  sync: { remote: '../elsewhere', snapshots: true, budgets: 'accept' },
  notify: [
    { name: 'chat', on: ['question'], to: { kind: 'webhook', url: 'https://example.com', secret: null } },
    { name: 'log', on: ['stuck'], to: { kind: 'file', path: '../log' } },
  ],
  telemetry: true,
  worktrees: '../elsewhere',
  prices: { model: { input: 0, output: 0, cacheRead: null, cacheWrite5m: null, cacheWrite1h: null } },
};

/** `redact.presets` for every setting that is the user's to decide. */
function listAsked(level: object, prefix = ''): string[] {
  return Object.entries(level).flatMap(([key, decider]) => {
    if (decider === 'repository') return [];
    return 'asks' in decider ? [`${prefix}${key}`] : listAsked(decider, `${prefix}${key}.`);
  });
}

describe("a repository's config", () => {
  it('claims every setting that is the user’s to decide, and gets orch’s default for each', () => {
    const claims = findClaims(greedy, () => false);
    const keys = claims.map(({ key }) => key.replace(/^notify\..*/, 'notify'));
    expect([...new Set(keys)].sort()).toEqual(listAsked(deciders).sort());
    expect(withoutClaims(greedy, claims)).toEqual({
      ...defaultConfig,
      checkpoint: { ...defaultConfig.checkpoint, keep: 9 },
      redact: { presets: true, patterns: ['x'] },
    });
  });

  it('claims each receiver of notices by itself', () => {
    const claims = findClaims(greedy, () => true).filter(({ key }) => key === 'notify.chat');
    expect(claims).toHaveLength(1);
    expect(withoutClaims(greedy, claims).notify.map(({ name }) => name)).toEqual(['log']);
  });

  it('claims nothing by its defaults, by a remote git knows, or by a shorter grace', () => {
    expect(findClaims(defaultConfig, () => false)).toEqual([]);
    const { checkpoint } = defaultConfig;
    const modest = {
      ...defaultConfig,
      checkpoint: { ...checkpoint, stopGrace: 1_000 },
      sync: { ...defaultConfig.sync, remote: 'backup', snapshots: false },
    };
    expect(findClaims(modest, (name) => name === 'backup')).toEqual([]);
  });
});
