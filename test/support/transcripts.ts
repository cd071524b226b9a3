import fc from 'fast-check';
import type { Tokens } from '../../src/cost/tokens.ts';

/** A message as Claude Code writes it, as far as it matters. */
export type WrittenMessage = {
  readonly id: string;
  readonly request?: string | undefined;
  readonly model: string;
  readonly tokens: Tokens;
  readonly costUSD?: number | undefined;
};

/** A line of a transcript, without its newline. */
export function formatMessage({ id, request = `req_${id}`, model, tokens, costUSD }: WrittenMessage): string {
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = tokens;
  return JSON.stringify({
    type: 'assistant',
    uuid: `uuid-${id}-${output}`,
    sessionId: 'agent-session',
    timestamp: '2026-08-01T10:00:00.000Z',
    requestId: request,
    costUSD,
    message: {
      id,
      model,
      role: 'assistant',
      content: [{ type: 'text', text: `Grüße, 界 und 🚀: "usage" ${id}` }],
      usage: {
        input_tokens: input,
        output_tokens: output,
        cache_read_input_tokens: cacheRead,
        cache_creation_input_tokens: cacheWrite5m + cacheWrite1h,
        cache_creation: {
          ephemeral_5m_input_tokens: cacheWrite5m,
          ephemeral_1h_input_tokens: cacheWrite1h,
        },
      },
    },
  });
}

/** What the agent says of itself at the end. */
export function formatAccount(
  models: { [model: string]: { tokens: Tokens; costUSD: number } },
  more: object = {},
): string {
  const modelUsage = Object.fromEntries(
    Object.entries(models).map(([model, { tokens, costUSD }]) => [
      model,
      {
        inputTokens: tokens.input,
        outputTokens: tokens.output,
        cacheReadInputTokens: tokens.cacheRead,
        cacheCreationInputTokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
        costUSD,
      },
    ]),
  );
  return JSON.stringify({ type: 'cost-state', sessionId: 'agent-session', modelUsage, ...more });
}

/** Lines of others, and what is left of a line. */
export const foreignLines = [
  '',
  '{',
  '{"type":"assistant","message":{"id":"torn","model":"claude-opus-5","usage":{"input_tok',
  'null',
  '[]',
  '"usage"',
  '{"type":"user","message":{"content":"what does \\"usage\\" mean?"}}',
  '{"type":"assistant","message":{"usage":{"input_tokens":5}}}',
  '{"type":"assistant","message":{"id":7,"model":["x"],"usage":{"input_tokens":5}}}',
  '{"type":"assistant","message":{"id":"n","model":"m","usage":{"input_tokens":-5,"output_tokens":1e300}}}',
  '{"type":"assistant","message":{"id":"n","model":"m","usage":{"input_tokens":"5","output_tokens":1.5}}}',
  '{"type":"assistant","session_id":"s","message":{"id":"n","model":"m","usage":{"input_tokens":5}}}',
  '{"type":"assistant","message":{"id":"s","model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}}}',
  '{"type":"result","modelUsage":[]}',
  '{"type":"cost-state","modelUsage":{"m":null}}',
  '{"type":"event_msg","payload":{"type":"token_count","info":null}}',
  '{"type":"turn.completed"}',
  '\u0000\u0001\u0002 "usage"',
];

const count = fc.nat({ max: 5_000 });
export const someTokens: fc.Arbitrary<Tokens> = fc.record({
  input: count,
  output: fc.integer({ min: 1, max: 5_000 }),
  cacheRead: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
});

export const pricedModels = [
  'claude-opus-5',
  'claude-opus-4-6',
  'claude-sonnet-5',
  'claude-sonnet-4-5-20250929',
  'claude-haiku-4-5-20251001',
];
