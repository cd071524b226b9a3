/** How full an agent's context window is. */
export const tiers = ['NOMINAL', 'LOW', 'WARNING', 'CRITICAL', 'EMERGENCY'] as const;
export type Tier = (typeof tiers)[number];

/** How the size of the window is known. */
type WindowSource = 'config' | 'agent' | 'model' | 'default';

/** What an agent's files say about its context window. */
export type ContextReading = {
  readonly tokens: number;
  readonly model: string | null;
  /** The window's size, if the agent reports it. */
  readonly window: number | null;
};

/** An agent's context window, as recorded. */
export type ContextWindow = {
  readonly tokens: number;
  readonly window: number;
  /** 0 to 1; above 1 if the assumed size is wrong. */
  readonly fill: number;
  readonly tier: Tier;
  readonly source: WindowSource;
  /** The agent's own id for the conversation; clearing the context starts a new one. */
  readonly agentSession: string;
  /** What last freed space in it. */
  readonly madeRoom: 'compaction' | 'clear' | null;
};

/** The fill at which each tier starts. */
const beginnings: { readonly [T in Tier]: number } = {
  NOMINAL: 0,
  LOW: 0.55,
  WARNING: 0.7,
  CRITICAL: 0.8,
  EMERGENCY: 0.88,
};

const usualWindow = 200_000;
const millionWindow = 1_000_000;
/** A smaller drop is a withdrawn message, or a different way of counting. */
const leastDrop = 10_000;
const mostLeft = 0.8;

/** The tier of a fill. */
export function tierOf(fill: number): Tier {
  return tiers.findLast((tier) => fill >= beginnings[tier]) ?? 'NOMINAL';
}

/** Is a tier above another? Any tier is above null. */
export function isTierAbove(tier: Tier, other: Tier | null): boolean {
  return other === null || tiers.indexOf(tier) > tiers.indexOf(other);
}

/** The size of a window: from the config, the agent, the model's name, or the default. */
export function findWindow(
  configured: 'auto' | number,
  told: number | null,
  model: string | null,
): { readonly window: number; readonly source: WindowSource } {
  if (configured !== 'auto') return { window: configured, source: 'config' };
  if (told !== null && told > 0) return { window: told, source: 'agent' };
  if (model?.endsWith('[1m]')) return { window: millionWindow, source: 'model' };
  return { window: usualWindow, source: 'default' };
}

/** What freed space between two readings: a new conversation is a clear, a large drop within one a compaction. */
export function detectFreedSpace(
  before: Pick<ContextWindow, 'tokens' | 'agentSession'>,
  after: Pick<ContextWindow, 'tokens' | 'agentSession'>,
): 'compaction' | 'clear' | null {
  if (before.agentSession !== after.agentSession) return 'clear';
  const drop = before.tokens - after.tokens;
  return drop > leastDrop && after.tokens < mostLeft * before.tokens ? 'compaction' : null;
}

/**
 * Measures a context window. `before` is the previous measurement in the same orch session: a size the agent reported
 * once also holds for its readings without one.
 */
export function measureContext(
  reading: ContextReading,
  agentSession: string,
  configured: 'auto' | number,
  before: ContextWindow | null,
): ContextWindow {
  const { tokens, model } = reading;
  const told = reading.window ?? (before?.source === 'agent' ? before.window : null);
  const { window, source } = findWindow(configured, told, model);
  const fill = Math.round((tokens / window) * 10_000) / 10_000;
  const room = before && detectFreedSpace(before, { tokens, agentSession });
  const madeRoom = room ?? before?.madeRoom ?? null;
  return { tokens, window, fill, tier: tierOf(fill), source, agentSession, madeRoom };
}
