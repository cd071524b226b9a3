import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { type AnthropicTurn, startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, runClaude } from './support/claude.ts';
import { recordHooks } from './support/hooks.ts';
import { writeTool } from './support/script.ts';

/** One run in which the model wants to write a file, and hooks answer as given. */
async function runWith(answers: Record<string, object | string>) {
  const repository = makeRepositoryWithCommit();
  const hooks = recordHooks(repository);
  for (const [event, answer] of Object.entries(answers)) hooks.answer(event, answer);
  const turns: AnthropicTurn[] = [
    { tools: [writeTool(repository.folder, 'a.txt', 'one\n')] },
    { text: 'Went on.' },
  ];
  const model = await startAnthropicModel(turns);
  const ran = await runClaude(repository, 'write a file', { url: model.url });
  const wrote = existsSync(join(repository.folder, 'a.txt'));
  const requests = model.asked.map(({ body }) => JSON.stringify(body.messages));
  return { ran, hooks, wrote, requests };
}

const deny = {
  hookEventName: 'PreToolUse',
  permissionDecision: 'deny',
  permissionDecisionReason: 'the budget is spent',
};

describe.skipIf(!claudeProgram)('what hooks may answer to Claude Code', () => {
  it.each([
    ['plain text', 'the brief: go on with task 7'],
    [
      'JSON',
      {
        systemMessage: 'for the user only',
        hookSpecificOutput: {
          hookEventName: 'SessionStart',
          additionalContext: 'the brief: go on with task 7',
        },
      },
    ],
  ])('SessionStart: %s is in the first request', async (_, answer) => {
    const { requests } = await runWith({ SessionStart: answer });
    expect(requests[0]).toContain('the brief: go on with task 7');
    expect(requests[0]).not.toContain('for the user only');
  });

  it('PostToolUse with continue false halts it after the tool, with exit 0 and without a Stop', async () => {
    const { ran, hooks, wrote, requests } = await runWith({
      PostToolUse: { continue: false, stopReason: 'the budget is spent' },
    });
    expect({ wrote, requests: requests.length, status: ran.status }).toEqual({
      wrote: true,
      requests: 1,
      status: 0,
    });
    expect(ran.result).toMatchObject({
      subtype: 'success',
      is_error: false,
      terminal_reason: 'hook_stopped',
    });
    expect(hooks.calls('Stop')).toEqual([]);
    expect(hooks.calls('SessionEnd')).toHaveLength(1);
  });

  it('UserPromptSubmit with decision block asks the model nothing', async () => {
    const { ran, requests } = await runWith({
      UserPromptSubmit: { decision: 'block', reason: 'the budget is spent' },
    });
    expect(requests).toEqual([]);
    expect(ran.result).toMatchObject({ total_cost_usd: 0, num_turns: 0 });
    expect(ran.stdout).toContain('the budget is spent');
  });

  it('PreToolUse with deny keeps the tool from running, tells the model why, and lets it go on', async () => {
    const { ran, hooks, wrote, requests } = await runWith({ PreToolUse: { hookSpecificOutput: deny } });
    expect(wrote).toBe(false);
    expect(requests[1]).toContain('the budget is spent');
    expect(ran.result.result).toBe('Went on.');
    expect(hooks.calls('PostToolUse')).toEqual([]);
  });

  it('PreToolUse with deny and continue false keeps the tool from running and halts', async () => {
    const { wrote, requests } = await runWith({
      PreToolUse: { continue: false, stopReason: 'the budget is spent', hookSpecificOutput: deny },
    });
    expect({ wrote, requests: requests.length }).toEqual({ wrote: false, requests: 1 });
  });

  it('PreToolUse with continue false alone', async () => {
    const { wrote, requests } = await runWith({ PreToolUse: { continue: false, stopReason: 'spent' } });
    expect({ wrote, requests: requests.length }).toEqual({ wrote: true, requests: 1 });
  });

  it('SessionStart with continue false', async () => {
    const { wrote } = await runWith({ SessionStart: { continue: false, stopReason: 'spent' } });
    expect(wrote).toBe(true);
  });

  it.each(['{"broken', '[]', '{"decision":7}'])('is not disturbed by %s', async (answer) => {
    const events = ['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop', 'SessionEnd'];
    const { ran, wrote } = await runWith(Object.fromEntries(events.map((event) => [event, answer])));
    expect(wrote).toBe(true);
    expect(ran).toMatchObject({ status: 0, result: { result: 'Went on.' } });
  });
});
