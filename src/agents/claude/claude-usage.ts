import { asCount, asFields, asName, asNanos, type Fields } from '../../cost/json-fields.ts';
import { sumTokens, type Tokens } from '../../cost/tokens.ts';
import type { OwnFigure, UsageLine } from '../transcript/usage.ts';

/** Reads a line of a Claude Code transcript, or the last one of `claude -p --output-format stream-json`. */
export function readClaudeLine(line: Fields, text: string): UsageLine | null {
  if (line.type === 'assistant') return readMessage(line, text);
  if (line.type === 'cost-state' || line.type === 'result') return readAccount(line);
  if (line.type === 'system' && line.subtype === 'compact_boundary') {
    const left = asCount(asFields(line.compactMetadata)?.postTokens);
    return { kind: 'compacted', left: left > 0 ? left : null };
  }
  return null;
}

function readMessage(line: Fields, text: string): UsageLine | null {
  // The stream's lines show the usage at the start of a message, so only its transcript is counted, and its result
  // compared. In a terminal the transcript has both spellings of the session.
  if ('session_id' in line && !('sessionId' in line)) return null;
  const message = asFields(line.message);
  const usage = asFields(message?.usage);
  const model = asName(message?.model);
  if (message === null || usage === null || model === null) return null;
  const tokens = readTokens(usage);
  const nanos = asNanos(line.costUSD);
  if (sumTokens(tokens) === 0 && !nanos) return null;
  const key = keyOf(line, message, text);
  const at = Date.parse(asName(line.timestamp) ?? '');
  return {
    kind: 'message',
    key,
    model,
    tokens,
    nanos,
    ...(at > 0 && { at }),
    ...(line.isSidechain === true && { isSubagent: true }),
  };
}

/** Third-party gateways leave out the request id. A message without any id is identified by its text. */
function keyOf(line: Fields, message: Fields, text: string): string {
  const id = asName(message.id);
  if (id !== null) return `${id}\n${asName(line.requestId) ?? ''}`;
  return `\n${asName(line.uuid) ?? text}`;
}

function readTokens(usage: Fields): Tokens {
  const written = asCount(usage.cache_creation_input_tokens);
  const split = asFields(usage.cache_creation);
  const cacheWrite1h = asCount(split?.ephemeral_1h_input_tokens);
  const cacheWrite5m = asCount(split?.ephemeral_5m_input_tokens);
  return {
    input: asCount(usage.input_tokens),
    output: asCount(usage.output_tokens),
    cacheRead: asCount(usage.cache_read_input_tokens),
    // Whatever the split does not mention went to the default cache, which lasts five minutes.
    cacheWrite5m: Math.max(cacheWrite5m, written - cacheWrite1h),
    cacheWrite1h,
  };
}

function readAccount(line: Fields): UsageLine | null {
  const models = asFields(line.modelUsage);
  if (models === null) return null;
  const isGuess = line.hasUnknownModelCost === true;
  const figures = Object.entries(models).flatMap(([name, value]): OwnFigure[] => {
    const used = asFields(value);
    const model = asName(name);
    if (used === null || model === null) return [];
    return [{ model, tokens: readOwnTokens(used), nanos: asNanos(used.costUSD) ?? 0, isGuess }];
  });
  if (figures.length === 0) return null;
  return { kind: 'account', session: asName(line.sessionId) ?? asName(line.session_id), figures };
}

/** The account does not distinguish the two caches. */
function readOwnTokens(used: Fields): Tokens {
  return {
    input: asCount(used.inputTokens),
    output: asCount(used.outputTokens),
    cacheRead: asCount(used.cacheReadInputTokens),
    cacheWrite5m: asCount(used.cacheCreationInputTokens),
    cacheWrite1h: 0,
  };
}
