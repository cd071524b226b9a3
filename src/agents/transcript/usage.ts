import { isRecord, readChecked } from '../../checks.ts';
import type { Nanos } from '../../cost/json-fields.ts';
import type { Tokens } from '../../cost/tokens.ts';
import type { Millis } from '../../types.ts';
import { readClaudeLine } from '../claude/claude-usage.ts';
import { readCodexLine } from '../codex/codex-usage.ts';

/** What a model has used so far in an agent's session, according to the agent. */
export type OwnFigure = {
  readonly model: string;
  readonly tokens: Tokens;
  readonly nanos: Nanos;
  /** The agent did not know a model's price either, and used another one's. */
  readonly isGuess: boolean;
};

/** What a line of an agent's transcript or event stream says about cost. */
export type UsageLine =
  /** One answer of the model. It is written several times and may grow. */
  | {
      readonly kind: 'message';
      readonly key: string;
      readonly model: string;
      readonly tokens: Tokens;
      /** The agent's own figure. */
      readonly nanos: Nanos | null;
      /** When the model answered; a fork repeats its parent's answers. */
      readonly at?: Millis;
      /** It belongs to a subagent, so it is not in the agent's own window. */
      readonly isSubagent?: true;
    }
  /** The agent's own account of a session so far. */
  | { readonly kind: 'account'; readonly session: string | null; readonly figures: readonly OwnFigure[] }
  /** The following lines belong to this thread. A rollout file has only one, whatever else it quotes. */
  | { readonly kind: 'thread'; readonly thread: string; readonly isWholeFile: boolean }
  /** The thread uses this model from here on. */
  | { readonly kind: 'model'; readonly model: string }
  /** Everything the thread has used so far, with any model. */
  | {
      readonly kind: 'total';
      readonly tokens: Tokens;
      /** What is in its window, if known. */
      readonly context?: { readonly tokens: number; readonly window: number | null };
    }
  /** The window was compacted; `left` is what remains in it, if known. */
  | { readonly kind: 'compacted'; readonly left: number | null };

/** Every field with usage ends in one of these: `usage`, `total_token_usage`, `modelUsage`. */
const usageFields = [Buffer.from('usage"'), Buffer.from('modelUsage"')];
/** Other lines of interest; each has its type near the start. */
const kinds = /"(?:turn_context|session_meta|thread\.started|compact_boundary)"/;

/** Can this line say anything about cost? Searching for a word is far cheaper than parsing the line. */
export function mayContainUsage(line: Buffer): boolean {
  return usageFields.some((field) => line.includes(field)) || kinds.test(line.toString('latin1', 0, 256));
}

/** Reads one line an agent wrote; null if it is broken, foreign, or says nothing about cost. */
export function readUsageLine(text: string): UsageLine | null {
  const line = readChecked(text, isRecord);
  return line === null ? null : (readClaudeLine(line, text) ?? readCodexLine(line));
}
