import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, readTranscripts, runClaude, startClaude } from './support/claude.ts';
import { priceOf, usageIn } from './support/cost.ts';
import { recordHooks } from './support/hooks.ts';
import { parseLines } from './support/ran.ts';
import { bashTool, runUntilCleanUp, writeTool } from './support/script.ts';
import { until } from './support/until.ts';

const allowBash = ['--allowedTools', 'Bash'];

describe.skipIf(!claudeProgram)('Claude Code, headless', () => {
  it('does what the script says, and asks nobody but the stand-in', async () => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordHooks(repository);
    const model = await startAnthropicModel([
      { text: 'I write.', tools: [writeTool(repository.folder, 'a.txt', 'one\n')] },
      { text: 'Written.' },
    ]);
    const ran = await runClaude(repository, 'write a file', { url: model.url });
    expect(ran).toMatchObject({ status: 0, result: { subtype: 'success', result: 'Written.' } });
    expect(readFileSync(join(repository.folder, 'a.txt'), 'utf8')).toBe('one\n');
    expect(model.script.left()).toBe(0);
    expect(model.others).toEqual([]);
    expect(hooks.calls().map(({ event }) => event)).toEqual([
      'SessionStart',
      'UserPromptSubmit',
      'PreToolUse',
      'PostToolUse',
      'Stop',
      'SessionEnd',
    ]);
    expect(new Set(hooks.calls().map(({ input }) => input.session_id))).toEqual(
      new Set([ran.result.session_id]),
    );
  });

  it('writes the usage it was given into its transcript, and reports what that costs', async () => {
    const repository = makeRepositoryWithCommit();
    const model = await startAnthropicModel([
      {
        text: 'I write.',
        tools: [
          writeTool(repository.folder, 'a.txt', 'one\n'),
          writeTool(repository.folder, 'b.txt', 'two\n'),
        ],
        usage: {
          input_tokens: 1_234,
          output_tokens: 567,
          cache_read_input_tokens: 8_901,
          cache_creation_input_tokens: 5_000,
          cache_creation: { ephemeral_5m_input_tokens: 2_000, ephemeral_1h_input_tokens: 3_000 },
        },
      },
      { text: 'Written.', usage: { output_tokens: 89 } },
    ]);
    const ran = await runClaude(repository, 'write two files', { url: model.url });
    const transcripts = readTranscripts(repository);
    expect(usageIn(transcripts)).toEqual(model.given);
    // One message of three parts is written three times: whoever adds lines up counts it three times.
    const lines = transcripts.flatMap(({ lines }) => lines);
    expect(lines.filter(({ message }) => message?.id === model.given[0]?.id)).toHaveLength(3);
    expect(ran.result.total_cost_usd).toBeCloseTo(priceOf(model.given), 9);
    expect(lines.findLast(({ type }) => type === 'cost-state').totalCostUSD).toBe(ran.result.total_cost_usd);
  });

  it('has written every message down by the end of its session, though it may lag behind the hooks before', async () => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordHooks(repository);
    const model = await startAnthropicModel([
      { text: 'I write.', tools: [writeTool(repository.folder, 'a.txt', 'one\n')] },
      { text: 'Written.' },
    ]);
    await runClaude(repository, 'write a file', { url: model.url });
    const idsAt = (event: string) => {
      const [call] = hooks.calls(event);
      const written = readFileSync(call?.input.transcript_path).subarray(0, call?.transcriptBytes);
      return usageIn([{ path: '', lines: parseLines(written.toString()) }]).map(({ id }) => id);
    };
    const [first, second] = model.given.map(({ id }) => id);
    // Seen both with the first message and without it: what hooks meter may come one tool late.
    for (const event of ['PreToolUse', 'PostToolUse']) expect([[], [first]]).toContainEqual(idsAt(event));
    expect(idsAt('SessionEnd')).toEqual([first, second]);
  });

  it('repeats what was said before in the transcript of a fork', async () => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordHooks(repository);
    const model = await startAnthropicModel([{ text: 'My first answer.' }, { text: 'My second.' }]);
    const { result } = await runClaude(repository, 'the first prompt', { url: model.url });
    const args = ['--resume', result.session_id, '--fork-session'];
    const fork = await runClaude(repository, 'the second prompt', { url: model.url, args });
    expect(fork.result.session_id).not.toBe(result.session_id);
    expect(hooks.calls('SessionStart').map(({ input }) => input.source)).toEqual(['startup', 'fork']);
    const transcripts = readTranscripts(repository);
    expect(transcripts.map((transcript) => usageIn([transcript]).length)).toEqual([1, 2]);
    expect(usageIn(transcripts)).toEqual(model.given);
  });

  it('keeps what a subagent used in a file of its own', async () => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordHooks(repository);
    const prompt = 'look into the small matter';
    const model = await startAnthropicModel([
      {
        tools: [{ tool: 'Agent', input: { description: 'look', prompt, subagent_type: 'general-purpose' } }],
      },
      {
        when: ({ body }) => body.messages.length === 1 && JSON.stringify(body.messages).includes(prompt),
        text: 'Looked.',
        usage: { output_tokens: 77 },
      },
    ]);
    const ran = await runClaude(repository, 'have it looked into', { url: model.url });
    const transcripts = readTranscripts(repository);
    const [stop] = hooks.calls('SubagentStop');
    expect(stop?.input).toMatchObject({ agent_type: 'general-purpose', last_assistant_message: 'Looked.' });
    const own = transcripts.filter(({ path }) => path === stop?.input.agent_transcript_path);
    expect(usageIn(own).map(({ usage }) => usage.output_tokens)).toEqual([77]);
    expect(new Set(usageIn(transcripts))).toEqual(new Set(model.given));
    expect(ran.result.total_cost_usd).toBeCloseTo(priceOf(model.given), 9);
  });

  it('continues a conversation by its id, and goes on counting', async () => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordHooks(repository);
    const model = await startAnthropicModel([{ text: 'My first answer.' }, { text: 'My second.' }]);
    const first = await runClaude(repository, 'the first prompt', { url: model.url });
    const id = first.result.session_id;
    const second = await runClaude(repository, 'the second prompt', {
      url: model.url,
      args: ['--resume', id],
    });
    expect(second.result.session_id).toBe(id);
    const messages = JSON.stringify(model.asked.at(-1)?.body.messages);
    for (const text of ['the first prompt', 'My first answer.', 'the second prompt'])
      expect(messages).toContain(text);
    expect(hooks.calls('SessionStart').map(({ input }) => input.source)).toEqual(['startup', 'resume']);
    expect(second.result.total_cost_usd).toBeCloseTo(priceOf(model.given), 9);
    expect(readTranscripts(repository)).toHaveLength(1);
  });

  it.each([
    ['SIGINT', 0, ['SessionEnd']],
    ['SIGTERM', 143, ['SessionEnd']],
    ['SIGKILL', null, []],
  ] as const)('is continued after %s in the middle of a tool', async (signal, status, lastEvents) => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordHooks(repository);
    const model = await startAnthropicModel([{ tools: [bashTool(runUntilCleanUp)] }]);
    const started = startClaude(repository, 'the first prompt', { url: model.url, args: allowBash });
    await until(
      () => existsSync(join(repository.folder, 'started')),
      () => started.stdout(),
    );
    started.kill(signal);
    const died = await started.died;
    expect(died.status).toBe(status);
    const events = hooks.calls().map(({ event }) => event);
    expect(events.slice(events.indexOf('PreToolUse') + 1)).toEqual(lastEvents);
    const id = hooks.calls()[0]?.input.session_id;
    const ran = await runClaude(repository, 'the second prompt', { url: model.url, args: ['--resume', id] });
    expect(ran).toMatchObject({ status: 0, result: { session_id: id } });
    expect(JSON.stringify(model.asked.at(-1)?.body.messages)).toContain('the first prompt');
  });

  it.each([
    [429, 'rate_limit_error', 'rate_limit'],
    [500, 'api_error', 'server_error'],
    [529, 'overloaded_error', 'server_error'],
  ])('tries again when it is refused with %i, and then says so', async (status, type, error) => {
    const repository = makeRepositoryWithCommit();
    const refusal = { status, type, message: 'not now', headers: { 'retry-after': '1' } };
    const again = await startAnthropicModel([refusal, { text: 'At last.' }]);
    expect(await runClaude(repository, 'try', { url: again.url })).toMatchObject({
      status: 0,
      result: { result: 'At last.' },
    });
    const never = await startAnthropicModel([refusal, refusal]);
    const ran = await runClaude(repository, 'try', { url: never.url });
    expect(ran).toMatchObject({ status: 1, result: { is_error: true, api_error_status: status } });
    expect(ran.result.total_cost_usd).toBe(0);
    expect(ran.lines.find((line) => line.type === 'assistant')).toMatchObject({ error });
  });
});
