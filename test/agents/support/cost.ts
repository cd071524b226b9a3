import type { AnthropicUsage, Given } from './anthropic.ts';
import type { readTranscripts } from './claude.ts';

/** What Sonnet 4.5 costs, in dollars. */
export function priceOf(given: readonly Given[]): number {
  const dollars = given.map(({ usage }) => {
    const { ephemeral_5m_input_tokens, ephemeral_1h_input_tokens } = usage.cache_creation;
    return (
      usage.input_tokens * 3 +
      ephemeral_5m_input_tokens * 3.75 +
      ephemeral_1h_input_tokens * 6 +
      usage.cache_read_input_tokens * 0.3 +
      usage.output_tokens * 15
    );
  });
  return dollars.reduce((sum, each) => sum + each, 0) / 1_000_000;
}

/** What transcripts say was used: every message once, as its last line has it, without what only it knows of. */
export function usageIn(transcripts: ReturnType<typeof readTranscripts>): Given[] {
  const messages = new Map<string, Given>();
  for (const { message, requestId } of transcripts.flatMap(({ lines }) => lines)) {
    if (message?.usage === undefined || requestId === undefined) continue;
    const { id, model } = message;
    messages.set(`${id} ${requestId}`, { id, model, usage: knownParts(message.usage) });
  }
  return [...messages.values()];
}

function knownParts(usage: AnthropicUsage): AnthropicUsage {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  const { ephemeral_5m_input_tokens, ephemeral_1h_input_tokens } = usage.cache_creation;
  return {
    input_tokens,
    output_tokens,
    cache_creation_input_tokens,
    cache_read_input_tokens,
    cache_creation: { ephemeral_5m_input_tokens, ephemeral_1h_input_tokens },
  };
}
