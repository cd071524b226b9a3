import { appendFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

it('what only the agent itself has a figure for is shown as estimated, for people and for scripts', () => {
  const repository = makeRepositoryWithCommit();
  const { call, spend, transcript } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
  call('SessionStart', { source: 'startup' });
  call('UserPromptSubmit', { prompt: 'Begin' });
  spend(100_000);
  call('Stop');
  const show = (...args: string[]) => runOrch(repository, args).stdout;
  const read = (...args: string[]) => orchJson<{ budget: object; byModel: object[] }>(repository, args);
  expect(show('status')).toMatch(/ \$1\.50 /);
  expect(show('cost')).not.toContain('estimated');
  expect(show('cost', 'report')).not.toContain('estimated');
  expect(read('cost').budget).not.toHaveProperty('estimatedUsd');

  const message = { id: 'm', model: 'mine', usage: { input_tokens: 0, output_tokens: 10 } };
  const line = { type: 'assistant', requestId: 'r', costUSD: 1.25, message };
  appendFileSync(transcript, `${JSON.stringify(line)}\n`);
  call('Stop');
  expect(show('status')).toMatch(/ ~\$2\.75 /);
  expect(show('cost')).toMatch(/^spent +~\$2\.75 /m);
  expect(show('cost')).toMatch(/^estimated +\$1\.25 of it is the agent's own figure$/m);
  expect(show('cost')).toMatch(/^models +claude-sonnet-4-5 \$1\.50 · mine ~\$1\.25$/m);
  expect(show('cost', 'report')).toMatch(/^estimated by the agent: mine 1\.25$/m);
  const budget = { spentUsd: 2.75, estimatedUsd: 1.25 };
  const mine = { model: 'mine', costUsd: 1.25, estimatedUsd: 1.25 };
  expect(read('cost')).toMatchObject({ budget, byModel: [{ model: 'claude-sonnet-4-5' }, mine] });
  expect(read('cost', 'report')).toMatchObject({
    budget,
    byModel: [{ model: 'claude-sonnet-4-5' }, { ...mine, output: 10 }],
  });
  expect(read('cost', 'report').byModel[1]).not.toHaveProperty('estimated');
  expect(read('session', 'status').budget).toMatchObject(budget);
});
