import { appendFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

type Money = { spentUsd: number; estimatedUsd?: number };

/** An agent with a status line, whose model is given. */
function startAgent(model: string) {
  const repository = makeRepositoryWithCommit();
  const agent = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
  let messages = 0;
  const write = (line: object) => appendFileSync(agent.transcript, `${JSON.stringify(line)}\n`);
  const say = (total: number, as = 'agent-1') => {
    const input = JSON.stringify({ session_id: as, cwd: repository.folder, cost: { total_cost_usd: total } });
    expect(runOrch(repository, ['statusline'], { input })).toMatchObject({ status: 0, stderr: '' });
  };
  return {
    ...agent,
    repository,
    say,
    /** One answer of the model. */
    answer(output: number) {
      const message = { id: `o-${++messages}`, model, usage: { input_tokens: 0, output_tokens: output } };
      write({ type: 'assistant', requestId: message.id, message });
      agent.call('Stop');
    },
    account: (outputTokens: number, costUSD: number) =>
      write({ type: 'cost-state', sessionId: 'agent-1', modelUsage: { [model]: { outputTokens, costUSD } } }),
    spent: () => orchJson<{ budget: Money }>(repository, ['cost', '-e', 'x']).budget.spentUsd,
    estimated: () => orchJson<{ budget: Money }>(repository, ['cost', '-e', 'x']).budget.estimatedUsd,
  };
}

it('what an agent says of its cost in the status line replaces a guess while it works', () => {
  const { call, say, answer, account, spent } = startAgent('claude-opus-99');
  call('SessionStart', { source: 'startup' });
  say(0);
  call('UserPromptSubmit', { prompt: 'Begin' });
  answer(10_000);
  expect(spent()).toBe(0.25);
  say(0.1);
  expect(spent()).toBe(0.1);
  // What comes after the figure is guessed, until the next figure.
  answer(4_000);
  expect(spent()).toBeCloseTo(0.2, 9);
  say(0.14);
  expect(spent()).toBe(0.14);
  // A compaction is in no message.
  say(0.5);
  expect(spent()).toBe(0.5);
  account(14_000, 0.52);
  call('SessionEnd', { reason: 'other' });
  expect(spent()).toBe(0.52);
});

it('with a price too, a compaction counts while the session is live, and nothing is counted twice', () => {
  const { call, say, answer, account, spent, estimated } = startAgent('claude-sonnet-4-5');
  call('SessionStart', { source: 'startup' });
  say(0);
  call('UserPromptSubmit', { prompt: 'Begin' });
  answer(10_000);
  say(0.15);
  expect([spent(), estimated()]).toEqual([0.15, undefined]);
  // The agent's files lag behind its figure: what they tell next is in it already.
  say(0.3);
  expect(spent()).toBe(0.3);
  answer(10_000);
  expect([spent(), estimated()]).toEqual([0.3, undefined]);
  say(0.4);
  call('PostCompact', { trigger: 'manual', compact_summary: 'All of it.' });
  expect([spent(), estimated()]).toEqual([0.4, 0.1]);
  account(20_000, 0.4);
  call('SessionEnd', { reason: 'other' });
  expect([spent(), estimated()]).toEqual([0.4, 0.1]);
});

it('counts from where the figure stood when the session began, and from 0 after a clear', () => {
  const { call, say, answer, spent } = startAgent('claude-sonnet-4-5');
  call('SessionStart', { source: 'resume' });
  say(7);
  call('UserPromptSubmit', { prompt: 'Begin' });
  answer(10_000);
  say(7.25);
  expect(spent()).toBe(0.25);
  call('SessionEnd', { reason: 'clear' });
  call('SessionStart', { source: 'clear' }, 'agent-2');
  say(0, 'agent-2');
  expect(spent()).toBe(0.25);
  say(0.05, 'agent-2');
  expect(spent()).toBe(0.3);
});
