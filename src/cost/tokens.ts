/** Tokens by price kind; each token counts in one kind only. */
export type Tokens = {
  /** Sent, and neither read from nor written to a cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  /** Written to the five-minute cache. */
  readonly cacheWrite5m: number;
  /** Written to the one-hour cache. */
  readonly cacheWrite1h: number;
};

export const noTokens: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

/** Combines two counts kind by kind. */
export function combineTokens(a: Tokens, b: Tokens, combine: (x: number, y: number) => number): Tokens {
  return {
    input: combine(a.input, b.input),
    output: combine(a.output, b.output),
    cacheRead: combine(a.cacheRead, b.cacheRead),
    cacheWrite5m: combine(a.cacheWrite5m, b.cacheWrite5m),
    cacheWrite1h: combine(a.cacheWrite1h, b.cacheWrite1h),
  };
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return combineTokens(a, b, (x, y) => x + y);
}

/** How much a count has grown; never negative. */
export function subtractTokens(later: Tokens, earlier: Tokens): Tokens {
  return combineTokens(later, earlier, (x, y) => Math.max(0, x - y));
}

/** Tokens of every kind. */
export function sumTokens(tokens: Tokens): number {
  return tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite5m + tokens.cacheWrite1h;
}
