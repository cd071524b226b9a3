import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, runClaude } from './support/claude.ts';
import { installHooks } from './support/orch.ts';
import { writeTool } from './support/script.ts';

type Money = { budget: { spentUsd: number; estimatedUsd?: number } };

describe.skipIf(!claudeProgram)('what Claude Code costs, by its hooks', () => {
  it.each([['claude-sonnet-4-5'], ['claude-opus-5-5'], ['claude-sonnet-99']])(
    'is its own figure at the end, with a budget and whether there is a price or not: %s',
    async (name) => {
      const repository = makeRepositoryWithCommit();
      installHooks(repository);
      runOrch(repository, ['cost', 'budget', '5', '-e', 'x']);
      const model = await startAnthropicModel([
        {
          tools: [writeTool(repository.folder, 'a.txt', 'one\n')],
          usage: { input_tokens: 1_000, output_tokens: 2_000 },
        },
        { text: 'Written.', usage: { output_tokens: 3_000, cache_read_input_tokens: 4_000 } },
      ]);
      const env = { ORCH_EPIC: 'x' };
      const ran = await runClaude(repository, 'write', { url: model.url, model: name, env });
      expect(ran).toMatchObject({ status: 0, result: { subtype: 'success' } });
      expect(model.script.left()).toBe(0);
      const { budget } = orchJson<Money>(repository, ['cost', '-e', 'x']);
      expect(budget.spentUsd).toBeCloseTo(ran.result.total_cost_usd, 6);
      expect(budget.spentUsd).toBeGreaterThan(0);
    },
  );

  it('counts the messages of a forked conversation once', async () => {
    const repository = makeRepositoryWithCommit();
    installHooks(repository);
    const model = await startAnthropicModel([
      { text: 'One.', usage: { output_tokens: 10_000 } },
      { text: 'Two.', usage: { output_tokens: 1_000 } },
      { text: 'Three.', usage: { output_tokens: 100 } },
    ]);
    const options = { url: model.url, env: { ORCH_EPIC: 'x' } };
    const forkOf = (id: string) => ({ ...options, args: ['--resume', id, '--fork-session'] });
    const first = await runClaude(repository, 'one', options);
    const second = await runClaude(repository, 'two', forkOf(first.result.session_id));
    // A fork of a fork says at its end what all three cost.
    const third = await runClaude(repository, 'three', forkOf(second.result.session_id));
    const { budget } = orchJson<Money>(repository, ['cost', '-e', 'x']);
    expect(budget.spentUsd).toBeCloseTo(third.result.total_cost_usd, 6);
  });
});
