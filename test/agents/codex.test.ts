import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { codexProgram, readRollouts, runCodex, startCodex } from './support/codex.ts';
import { recordCodexHooks } from './support/hooks.ts';
import { startOpenAiModel } from './support/openai.ts';
import { runUntilCleanUp } from './support/script.ts';
import { until } from './support/until.ts';

const write = { tool: 'exec_command', input: { cmd: 'echo one > a.txt' } };

describe.skipIf(!codexProgram)('Codex', () => {
  it('does what the script says, and reports the usage it was given', async () => {
    const repository = makeRepositoryWithCommit();
    const model = await startOpenAiModel([
      {
        text: 'I write.',
        tools: [write],
        usage: {
          input_tokens: 1_000,
          input_tokens_details: { cached_tokens: 600 },
          output_tokens: 200,
          output_tokens_details: { reasoning_tokens: 50 },
        },
      },
      { text: 'Written.' },
    ]);
    const ran = await runCodex(repository, 'write a file', { url: model.url });
    expect(ran.status).toBe(0);
    expect(readFileSync(join(repository.folder, 'a.txt'), 'utf8')).toBe('one\n');
    expect(model.others).toEqual([]);
    const usage = {
      input_tokens: 1_010,
      cached_input_tokens: 600,
      output_tokens: 205,
      reasoning_output_tokens: 50,
    };
    expect(ran.lines.at(-1)).toMatchObject({ type: 'turn.completed', usage });
    const lines = readRollouts(repository).flatMap((rollout) => rollout.lines);
    const counts = lines.filter(({ payload }) => payload?.type === 'token_count');
    expect(counts.at(-1)?.payload.info.total_token_usage).toMatchObject(usage);
    expect(lines.find(({ type }) => type === 'turn_context')?.payload.model).toBe('gpt-5-codex');
  });

  it('continues a conversation by its id', async () => {
    const repository = makeRepositoryWithCommit();
    const model = await startOpenAiModel([{ text: 'My first answer.' }, { text: 'My second.' }]);
    const first = await runCodex(repository, 'the first prompt', { url: model.url });
    const id = first.lines.find(({ type }) => type === 'thread.started').thread_id;
    const second = await runCodex(repository, 'the second prompt', { url: model.url, args: ['resume', id] });
    expect(second.lines.find(({ type }) => type === 'thread.started').thread_id).toBe(id);
    const input = JSON.stringify(model.asked.at(-1)?.body.input);
    for (const text of ['the first prompt', 'My first answer.', 'the second prompt'])
      expect(input).toContain(text);
    expect(second.lines.at(-1).usage).toMatchObject({ input_tokens: 20, output_tokens: 10 });
  });

  it('is continued after SIGKILL in the middle of a tool', async () => {
    const repository = makeRepositoryWithCommit();
    const wait = { tool: 'exec_command', input: { cmd: runUntilCleanUp } };
    const model = await startOpenAiModel([{ tools: [wait] }]);
    const started = startCodex(repository, 'the first prompt', { url: model.url });
    await until(
      () => existsSync(join(repository.folder, 'started')),
      () => started.stdout(),
    );
    started.kill('SIGKILL');
    await started.died;
    const id = JSON.parse(started.stdout().split('\n')[0] ?? '').thread_id;
    const ran = await runCodex(repository, 'the second prompt', { url: model.url, args: ['resume', id] });
    expect(ran.status).toBe(0);
    expect(JSON.stringify(model.asked.at(-1)?.body.input)).toContain('the first prompt');
  });

  it.each([
    [429, 'exceeded retry limit, last status: 429 Too Many Requests'],
    [500, 'experiencing high demand'],
  ])('says that it was refused with %i', async (status, message) => {
    const repository = makeRepositoryWithCommit();
    const refusal = { status, type: 'server_error', message: 'not now' };
    const model = await startOpenAiModel(Array.from({ length: 9 }, () => refusal));
    const ran = await runCodex(repository, 'try', { url: model.url });
    expect(ran.status).toBe(1);
    expect(ran.lines.at(-1)).toMatchObject({ type: 'turn.failed' });
    expect(ran.lines.at(-1).error.message).toContain(message);
  });

  it('runs hooks only where the user trusts them, and puts the brief of SessionStart into the request', async () => {
    const repository = makeRepositoryWithCommit();
    const { calls, answer, trust } = recordCodexHooks(repository);
    answer('SessionStart', {
      hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: 'the brief: task 7' },
    });
    const model = await startOpenAiModel([{ text: 'Yes.' }, { tools: [write] }]);
    const untrusted = await runCodex(repository, 'untrusted', { url: model.url });
    expect({ status: untrusted.status, calls: calls() }).toEqual({ status: 0, calls: [] });
    await runCodex(repository, 'trusted', { url: model.url, config: trust });
    expect(calls().map(({ event }) => event)).toEqual([
      'SessionStart',
      'UserPromptSubmit',
      'PreToolUse',
      'PostToolUse',
      'Stop',
      'SessionEnd',
    ]);
    expect(JSON.stringify(model.asked[1]?.body.input)).toContain('the brief: task 7');
  });

  const spent = 'the budget is spent';
  it.each([
    ['SessionStart', { continue: false, stopReason: spent }, { wrote: false, requests: 0 }],
    ['UserPromptSubmit', { decision: 'block', reason: spent }, { wrote: false, requests: 0 }],
    ['PreToolUse', { decision: 'block', reason: spent }, { wrote: false, requests: 2 }],
    // The turn goes on: all that changes is that the model reads the reason instead of the tool's output.
    ['PostToolUse', { continue: false, stopReason: spent }, { wrote: true, requests: 2 }],
  ])('takes %s for an answer', async (event, answer, expected) => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordCodexHooks(repository);
    hooks.answer(event, answer);
    const model = await startOpenAiModel([{ tools: [write] }]);
    const ran = await runCodex(repository, 'write a file', { url: model.url, config: hooks.trust });
    const seen = { wrote: existsSync(join(repository.folder, 'a.txt')), requests: model.asked.length };
    expect(seen, ran.stdout).toEqual(expected);
    const last = JSON.stringify(model.asked[1]?.body.input.at(-1) ?? spent);
    expect(last).toContain(spent);
  });
});
