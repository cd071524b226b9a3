import { asCount, asFields, asName, type Fields } from '../../cost/json-fields.ts';
import { noTokens, type Tokens } from '../../cost/tokens.ts';
import type { UsageLine } from '../transcript/usage.ts';

/** Reads a line of Codex: an event of `codex exec --json`, or a line of a rollout file. */
export function readCodexLine(line: Fields): UsageLine | null {
  const payload = asFields(line.payload);
  switch (line.type) {
    case 'thread.started':
      return namedThread(line.thread_id, false);
    // Despite its name, it counts from the start of the thread, including earlier runs.
    case 'turn.completed':
      return total(line.usage);
    case 'session_meta':
      return namedThread(payload?.id, true);
    case 'turn_context': {
      const model = asName(payload?.model);
      return model === null ? null : { kind: 'model', model };
    }
    case 'event_msg':
      return payload?.type === 'token_count' ? countedTotal(asFields(payload.info)) : null;
    default:
      return null;
  }
}

function namedThread(id: unknown, isWholeFile: boolean): UsageLine | null {
  const thread = asName(id);
  return thread === null ? null : { kind: 'thread', thread, isWholeFile };
}

function total(usage: unknown): UsageLine | null {
  const used = asFields(usage);
  return used === null ? null : { kind: 'total', tokens: readTokens(used) };
}

function countedTotal(info: Fields | null): UsageLine | null {
  const line = total(info?.total_token_usage);
  const tokens = asCount(asFields(info?.last_token_usage)?.input_tokens);
  if (line?.kind !== 'total' || tokens === 0) return line;
  return { ...line, context: { tokens, window: asCount(info?.model_context_window) || null } };
}

/** Input includes cached tokens, and output includes reasoning. */
function readTokens(used: Fields): Tokens {
  const cacheRead = Math.min(asCount(used.cached_input_tokens), asCount(used.input_tokens));
  const input = asCount(used.input_tokens) - cacheRead;
  return { ...noTokens, input, output: asCount(used.output_tokens), cacheRead };
}
