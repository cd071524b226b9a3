import type { Millis } from '../types.ts';
import { asFields, type Fields, type Nanos } from './fields.ts';
import type { Tokens } from './tokens.ts';
import { readClaudeLine } from './usage-claude.ts';
import { readCodexLine } from './usage-codex.ts';

/** What an agent says a model has used up so far in a session of its own. */
export type OwnFigure = {
  readonly model: string;
  readonly tokens: Tokens;
  readonly nanos: Nanos;
  /** The agent does not know the price of some model either, and took another one's. */
  readonly isGuess: boolean;
};

/** What a line of an agent's transcript or event stream says of its cost. */
export type UsageLine =
  /** One answer of the model. The same one is written several times, and may have grown. */
  | {
      readonly kind: 'message';
      readonly key: string;
      readonly model: string;
      readonly tokens: Tokens;
      /** The agent's own figure for it. */
      readonly nanos: Nanos | null;
      /** When the model gave it; a fork repeats what its parent was told before. */
      readonly at?: Millis;
      /** It is of an agent that the agent started itself, and not in its own window. */
      readonly isAside?: true;
    }
  /** The agent's own account of a session, up to now. */
  | { readonly kind: 'account'; readonly session: string | null; readonly figures: readonly OwnFigure[] }
  /** From here on the lines are of this thread. A rollout file is of one thread only, whatever else it quotes. */
  | { readonly kind: 'thread'; readonly thread: string; readonly isWholeFile: boolean }
  /** From here on the thread uses this model. */
  | { readonly kind: 'model'; readonly model: string }
  /** All that the thread has used up to now, by whatever models. */
  | {
      readonly kind: 'total';
      readonly tokens: Tokens;
      /** What is in its window, where that is told too. */
      readonly context?: { readonly tokens: number; readonly window: number | null };
    }
  /** Room was made in the window; null where what is left in it is not told. */
  | { readonly kind: 'compacted'; readonly left: number | null };

/** Every field that tells what was used ends in one of these: `usage`, `total_token_usage`, `modelUsage`. */
const telltales = [Buffer.from('usage"'), Buffer.from('modelUsage"')];
/** What the other lines of interest are; each says so at its beginning. */
const kinds = /"(?:turn_context|session_meta|thread\.started|compact_boundary)"/;

/** Can this line say anything of cost? Looking for a word is far cheaper than reading a line. */
export function mayTellUsage(line: Buffer): boolean {
  return telltales.some((telltale) => line.includes(telltale)) || kinds.test(line.toString('latin1', 0, 256));
}

/** Reads one line of what an agent wrote. A line that is broken, another's, or says nothing of cost gives null. */
export function readUsageLine(text: string): UsageLine | null {
  const line = parseObject(text);
  return line === null ? null : (readClaudeLine(line, text) ?? readCodexLine(line));
}

function parseObject(text: string): Fields | null {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return null; // torn, or never JSON: others write into these files too
  }
}
