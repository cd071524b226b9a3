import { sizeOf } from '../../src/checkpoint/brief/brief-text.ts';

/** How many tokens a brief says this text takes. */
export function estimateTokens(text: string): number {
  return Math.ceil(sizeOf(text) / 4);
}
