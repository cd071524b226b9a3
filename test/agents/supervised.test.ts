import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { triggersOf, writeConfig } from '../support/supervised.ts';
import { type AnthropicTurn, startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, readTranscripts } from './support/claude.ts';
import { codexProgram, readRollouts } from './support/codex.ts';
import { priceOf } from './support/cost.ts';
import { startOpenAiModel } from './support/openai.ts';
import { installHooks, runOrchCodex, startOrchClaude, statusOf } from './support/orch.ts';
import { endGroup, isAlive, parseLines } from './support/ran.ts';
import { bashTool, runUntilCleanUp, writeTool } from './support/script.ts';
import { until } from './support/until.ts';

/** A repository, and a model with these turns. */
async function stage(turns: (folder: string) => AnthropicTurn[]) {
  const repository = makeRepositoryWithCommit();
  const model = await startAnthropicModel(turns(repository.folder));
  return { repository, model, options: { url: model.url } };
}

const resultOf = (stdout: string) => parseLines(stdout).findLast(({ type }) => type === 'result');

/** The newest checkpoint says whose conversation it was. */
function agentOf(repository: ReturnType<typeof makeRepositoryWithCommit>, epic: string): string {
  const format = '--format=%(trailers:key=Orch-Agent,valueonly)';
  return repository.git('log', '-1', format, `orchestration/epics/${epic}`).trim();
}

describe.skipIf(!claudeProgram)('orch start -- claude', () => {
  it.each([false, true])('costs what it says itself (hooks too: %s)', async (hasHooks) => {
    const { repository, model, options } = await stage((folder) => [
      { tools: [writeTool(folder, 'a.txt', 'one\n')], usage: { output_tokens: 20_000 } },
      { text: 'Done.', usage: { input_tokens: 9_000, output_tokens: 3_000 } },
    ]);
    if (hasHooks) installHooks(repository);
    const ran = await startOrchClaude(repository, ['start', '-e', 'x'], 'write a file', options).ended;
    expect(ran.status).toBe(0);
    const { total_cost_usd: cost, session_id: id } = resultOf(ran.stdout);
    expect(cost).toBeCloseTo(priceOf(model.given), 9);
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 1, status: 'paused' });
    expect(statusOf(repository, 'x').budget.spentUsd).toBeCloseTo(cost, 6);
    expect(agentOf(repository, 'x')).toBe(`claude ${id.slice(0, 8)}`);
  });

  it.each([false, true])(
    'is stopped at the budget while it runs, and exits 4 (hooks too: %s)',
    async (hasHooks) => {
      const { repository, model, options } = await stage(() => [
        { tools: [bashTool(runUntilCleanUp)], usage: { output_tokens: 100_000 } },
        { text: 'Went on.' },
      ]);
      if (hasHooks) installHooks(repository);
      const args = { ...options, permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } };
      const ran = await startOrchClaude(repository, ['start', '-e', 'x', '-b', '1'], 'run it', args).ended;
      expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({
        status: 4,
        stderr: expect.stringMatching(/Budget used up: \$1\.50 of \$1\.00[\s\S]*Saved checkpoint \d+/),
      });
      expect(statusOf(repository, 'x').session.status).toBe('budget_exceeded');
      expect(triggersOf(repository, 'x')).toContain('budget');
      expect(model.given).toHaveLength(1);
    },
  );

  it('goes on with its conversation after both were killed', async () => {
    const { repository, model, options } = await stage(() => [
      { tools: [bashTool(runUntilCleanUp)], usage: { output_tokens: 10_000 } },
      { text: 'Went on.', usage: { output_tokens: 1_000 } },
    ]);
    const args = { ...options, permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } };
    const first = startOrchClaude(repository, ['start', '-e', 'x'], 'remember the word xylophone', args);
    // It writes its transcript a moment after its model has spoken: what is in no file cannot be billed.
    const hasWritten = () => JSON.stringify(readTranscripts(repository)).includes('"output_tokens":10000');
    await until(
      () => existsSync(join(repository.folder, 'started')) && hasWritten(),
      () => first.stdout(),
    );
    endGroup(first.pid);
    await until(
      () => !isAlive(first.pid),
      () => 'the end of orch',
    );
    const ran = await startOrchClaude(repository, ['resume', '-e', 'x'], 'go on', args).ended;
    expect(ran.status).toBe(0);
    expect(ran.stderr).toContain('claude continues its conversation');
    expect(JSON.stringify(model.asked.at(-1)?.body.messages)).toContain('xylophone');
    expect(readTranscripts(repository)).toHaveLength(1);
    expect(statusOf(repository, 'x').budget.spentUsd).toBeCloseTo(priceOf(model.given), 6);
  });

  it.each([false, true])(
    'gets the brief of another session as a quote, below the user’s own words (hooks too: %s)',
    async (hasHooks) => {
      const { repository, model, options } = await stage(() => [{ text: 'Read it.' }]);
      runOrch(repository, ['start', '-e', 'x', '--no-baseline', '--', 'true']);
      runOrch(repository, ['record', 'decision', 'Use server sessions', '-e', 'x']);
      if (hasHooks) installHooks(repository);
      const ran = await startOrchClaude(repository, ['resume', '-e', 'x'], 'carry on', options).ended;
      expect(ran.status).toBe(0);
      const { system, messages } = model.asked.at(-1)?.body ?? {};
      expect(JSON.stringify(system)).not.toContain('Use server sessions');
      expect(JSON.stringify(messages).split('> **Decided:** Use server sessions')).toHaveLength(2);
    },
  );

  it("waits for its provider's limit, and goes on", async () => {
    const reset = () => String(Math.floor(Date.now() / 1000) + 4);
    const refusal = {
      status: 429,
      type: 'rate_limit_error',
      message: 'Slow down.',
      headers: {
        'x-should-retry': 'false',
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-reset': reset(),
        'anthropic-ratelimit-unified-representative-claim': 'five_hour',
      },
    };
    const { repository, model, options } = await stage(() => [refusal, { text: 'Went on.' }]);
    // Only a subscription has limits that say when they end.
    const env = { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'x' };
    const orch = startOrchClaude(repository, ['start', '-e', 'x'], 'say xylophone', { ...options, env });
    const states = () => runOrch(repository, ['status']).stdout;
    await until(() => states().includes('… claude s1 limited until '), states);
    const ran = await orch.ended;
    expect(states()).not.toContain('limited');
    expect(ran.stderr).toContain('usage limit: waiting until');
    expect(ran.status).toBe(0);
    expect(resultOf(ran.stdout).result).toBe('Went on.');
    expect(model.asked.length).toBeGreaterThanOrEqual(2);
    expect(readTranscripts(repository)).toHaveLength(1);
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 1, status: 'paused' });
  });

  it.skipIf(!codexProgram)('hands its work to Codex, with the brief in the request', async () => {
    const { repository, options } = await stage((folder) => [
      { tools: [writeTool(folder, 'a.txt', 'one\n')] },
      { text: 'Done.' },
    ]);
    await startOrchClaude(repository, ['start', '-e', 'x'], 'write a file', options).ended;
    runOrch(repository, ['record', 'decision', 'Keep the xylophone', '-e', 'x']);
    const model = await startOpenAiModel([{ text: 'Taken over.', usage: { output_tokens: 700 } }]);
    const ran = await runOrchCodex(repository, ['resume', '-e', 'x'], 'go on with it', { url: model.url });
    expect(ran.status).toBe(0);
    const asked = JSON.stringify(model.asked[0]?.body.input);
    expect(asked).toContain('Keep the xylophone');
    expect(asked).toContain('go on with it');
    const [rollout] = readRollouts(repository);
    const thread: string = rollout?.lines[0].payload.id;
    expect(agentOf(repository, 'x')).toBe(`codex ${thread.slice(0, 8)}`);
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 3, status: 'paused' });
  });
});

describe.skipIf(!codexProgram)('orch start -- codex', () => {
  const config = 'prices:\n  gpt-5-codex: { input: 1, output: 10 }\n';

  it('is metered, and goes on with its conversation', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, config);
    runOrch(repository, ['init', '-y', '--no-claude', '--no-codex']);
    const model = await startOpenAiModel([
      { text: 'First.', usage: { input_tokens: 0, output_tokens: 100_000 } },
      { text: 'Second.', usage: { input_tokens: 0, output_tokens: 200_000 } },
    ]);
    const first = await runOrchCodex(repository, ['start', '-e', 'x'], 'say xylophone', { url: model.url });
    expect({ status: first.status, stderr: first.stderr }).toMatchObject({ status: 0 });
    expect(statusOf(repository, 'x').budget.spentUsd).toBeCloseTo(1, 6);
    const second = await runOrchCodex(repository, ['resume', '-e', 'x'], 'go on', { url: model.url });
    expect(second.stderr).toContain('codex continues its conversation');
    expect(JSON.stringify(model.asked.at(-1)?.body.input)).toContain('xylophone');
    expect(statusOf(repository, 'x').budget.spentUsd).toBeCloseTo(3, 6);
  });

  it('is stopped at the budget', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, config);
    runOrch(repository, ['init', '-y', '--no-claude', '--no-codex']);
    const model = await startOpenAiModel([
      {
        tools: [{ tool: 'exec_command', input: { cmd: runUntilCleanUp } }],
        usage: { input_tokens: 0, output_tokens: 200_000 },
      },
      { text: 'Went on.', usage: { output_tokens: 100 } },
    ]);
    const ran = await runOrchCodex(repository, ['start', '-e', 'x', '-b', '1'], 'run it', { url: model.url });
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 4 });
    expect(statusOf(repository, 'x').session.status).toBe('budget_exceeded');
  });
});
