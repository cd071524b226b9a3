import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayContainUsage, readUsageLine } from '../../src/agents/transcript/usage.ts';
import { noTokens } from '../../src/cost/tokens.ts';
import { foreignLines, formatAccount, formatMessage } from '../support/transcripts.ts';

const tokens = { input: 3, output: 200, cacheRead: 1_000, cacheWrite5m: 40, cacheWrite1h: 7 };

describe('a line of Claude Code', () => {
  it('is a message with what it used', () => {
    const line = formatMessage({ id: 'msg_1', model: 'claude-opus-5', tokens });
    expect(readUsageLine(line)).toEqual({
      kind: 'message',
      at: 1785578400000,
      key: 'msg_1\nreq_msg_1',
      model: 'claude-opus-5',
      tokens,
      nanos: null,
    });
  });

  it('is one in a terminal too, where the session is spelled twice, but not in a stream', () => {
    const folder = new URL('../fixtures/agents/claude/', import.meta.url);
    const kinds = (path: string) =>
      readFileSync(new URL(path, folder), 'utf8')
        .split('\n')
        .map((line) => readUsageLine(line)?.kind);
    expect(kinds('transcripts/terminal.jsonl')).toContain('message');
    expect(kinds('stream/work.jsonl')).not.toContain('message');
  });

  it('may have the agent’s own figure', () => {
    const line = formatMessage({ id: 'a', model: 'm', tokens, costUSD: 0.0123456789 });
    expect(readUsageLine(line)).toMatchObject({ nanos: 12_345_679 });
  });

  it('may not tell the caches apart', () => {
    const usage = { input_tokens: 1, cache_creation_input_tokens: 50 };
    const line = JSON.stringify({ type: 'assistant', message: { id: 'a', model: 'm', usage } });
    expect(readUsageLine(line)).toMatchObject({
      key: 'a\n',
      tokens: { input: 1, cacheWrite5m: 50, cacheWrite1h: 0 },
    });
  });

  it('without an id is known by its uuid, or by its words', () => {
    const message = { model: 'm', usage: { output_tokens: 1 } };
    expect(readUsageLine(JSON.stringify({ type: 'assistant', uuid: 'u', message }))).toMatchObject({
      key: '\nu',
    });
    const bare = JSON.stringify({ type: 'assistant', message });
    expect(readUsageLine(bare)).toMatchObject({ key: `\n${bare}` });
  });

  it.each(['cost-state', 'result'])('%s is the agent’s own account', (type) => {
    const line = formatAccount({ 'claude-opus-5': { tokens, costUSD: 1.5 } }, { type });
    expect(readUsageLine(line)).toEqual({
      kind: 'account',
      session: 'agent-session',
      figures: [
        {
          model: 'claude-opus-5',
          tokens: { ...tokens, cacheWrite5m: 47, cacheWrite1h: 0 },
          nanos: 1.5e9,
          isGuess: false,
        },
      ],
    });
  });

  it('says where the agent guessed', () => {
    const line = formatAccount({ m: { tokens, costUSD: 1 } }, { hasUnknownModelCost: true });
    expect(readUsageLine(line)).toMatchObject({ figures: [{ isGuess: true }] });
  });
});

describe('a line of Codex', () => {
  const used = { input_tokens: 100, cached_input_tokens: 60, output_tokens: 9, reasoning_output_tokens: 4 };
  const total = { kind: 'total', tokens: { ...noTokens, input: 40, cacheRead: 60, output: 9 } };

  it('of exec --json tells the thread and its total', () => {
    expect(readUsageLine('{"type":"thread.started","thread_id":"t1"}')).toEqual({
      kind: 'thread',
      thread: 't1',
      isWholeFile: false,
    });
    expect(readUsageLine(JSON.stringify({ type: 'turn.completed', usage: used }))).toEqual(total);
  });

  it('of a rollout file also tells the model', () => {
    expect(readUsageLine('{"type":"session_meta","payload":{"id":"t1"}}')).toMatchObject({ thread: 't1' });
    expect(readUsageLine('{"type":"turn_context","payload":{"model":"gpt-5"}}')).toEqual({
      kind: 'model',
      model: 'gpt-5',
    });
    const info = { total_token_usage: used, last_token_usage: { input_tokens: 1 } };
    const event = { type: 'event_msg', payload: { type: 'token_count', info } };
    expect(readUsageLine(JSON.stringify(event))).toEqual({
      ...total,
      context: { tokens: 1, window: null },
    });
  });
});

describe('a line of others', () => {
  it.each(foreignLines)('%j says nothing', (line) => {
    expect(readUsageLine(line)).toBeNull();
  });

  it('never throws, whatever it is', () => {
    const any = fc.oneof(
      fc.json(),
      fc.string(),
      fc.object().map((value) => JSON.stringify(value)),
    );
    const kinds = ['assistant', 'result', 'cost-state', 'turn.completed', 'event_msg', 'session_meta'];
    const shaped = fc
      .record({
        type: fc.constantFrom(...kinds),
        message: fc.anything(),
        modelUsage: fc.anything(),
        usage: fc.anything(),
        payload: fc.anything(),
      })
      .map((value) => JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? null : inner)) ?? '');
    fc.assert(
      fc.property(fc.oneof(any, shaped), (text) => {
        readUsageLine(text);
      }),
      { numRuns: 3_000 },
    );
  });

  it('is told from those that say something without being read', () => {
    const lines = [
      formatMessage({ id: 'a', model: 'm', tokens }),
      formatAccount({ m: { tokens, costUSD: 1 } }),
      '{"type":"thread.started","thread_id":"t"}',
      '{"type":"turn.completed","usage":{"input_tokens":1}}',
      '{"type":"session_meta","payload":{"id":"t"}}',
      '{"type":"turn_context","payload":{"model":"gpt-5"}}',
      '{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1}}}}',
    ];
    expect(mayContainUsage(Buffer.from('{"type":"user","message":{"content":"Hello"}}'))).toBe(false);
    for (const line of lines) {
      expect(readUsageLine(line)).not.toBeNull();
      expect(mayContainUsage(Buffer.from(line))).toBe(true);
    }
  });
});
