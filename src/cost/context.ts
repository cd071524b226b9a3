/** How full an agent's context window is, from harmless to nearly over. */
export const tiers = ['NOMINAL', 'LOW', 'WARNING', 'CRITICAL', 'EMERGENCY'] as const;
export type Tier = (typeof tiers)[number];

/** Where the size of the window was learned. */
export type WindowSource = 'config' | 'agent' | 'model' | 'default';

/** What an agent's files say is in its window. */
export type ContextReading = {
  readonly tokens: number;
  readonly model: string | null;
  /** The window's size, where the agent tells it. */
  readonly window: number | null;
};

/** An agent's context window, as it is kept. */
export type ContextWindow = {
  readonly tokens: number;
  readonly window: number;
  /** 0 to 1, and past it where the size is wrong. */
  readonly fill: number;
  readonly tier: Tier;
  readonly source: WindowSource;
  /** The agent's own name for its session: clearing its context gives it another. */
  readonly agentSession: string;
  /** What last made room in it. */
  readonly madeRoom: 'compaction' | 'clear' | null;
};

/** The fill from which each tier begins. */
const beginnings: { readonly [T in Tier]: number } = {
  NOMINAL: 0,
  LOW: 0.55,
  WARNING: 0.7,
  CRITICAL: 0.8,
  EMERGENCY: 0.88,
};

const usualWindow = 200_000;
const millionWindow = 1_000_000;
/** A smaller drop is a message that was taken back, or another way of counting. */
const leastDrop = 10_000;
const mostLeft = 0.8;

/** The tier that a fill is in. */
export function tierOf(fill: number): Tier {
  return tiers.findLast((tier) => fill >= beginnings[tier]) ?? 'NOMINAL';
}

/** Tells whether a tier is above another; any is above none. */
export function isAbove(tier: Tier, other: Tier | null): boolean {
  return other === null || tiers.indexOf(tier) > tiers.indexOf(other);
}

/** The size of a window: what the user set, what the agent tells, what the model's name says, what is usual. */
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

/** What made room between two readings: a new session of the agent's is a clear, a large drop in one a compaction. */
export function whatMadeRoom(
  before: Pick<ContextWindow, 'tokens' | 'agentSession'>,
  after: Pick<ContextWindow, 'tokens' | 'agentSession'>,
): 'compaction' | 'clear' | null {
  if (before.agentSession !== after.agentSession) return 'clear';
  const drop = before.tokens - after.tokens;
  return drop > leastDrop && after.tokens < mostLeft * before.tokens ? 'compaction' : null;
}

/**
 * Measures a context window. `before` is what was known of the same session of orch: a size the agent told once
 * holds for its readings that do not tell it.
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
  const room = before && whatMadeRoom(before, { tokens, agentSession });
  const madeRoom = room ?? before?.madeRoom ?? null;
  return { tokens, window, fill, tier: tierOf(fill), source, agentSession, madeRoom };
}
