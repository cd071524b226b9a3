import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, runClaude } from './support/claude.ts';
import { installHooks } from './support/orch.ts';

type Epics = { epics: { epicId: string; session: object; budget: { spentUsd: number } }[] };

describe.skipIf(!claudeProgram)('Claude Code on a default branch, with orch in its hooks', () => {
  it('has an epic named after what it is asked', async () => {
    const repository = makeRepositoryWithCommit();
    installHooks(repository);
    const model = await startAnthropicModel([{ text: 'Done.', usage: { output_tokens: 1_000 } }]);
    const ran = await runClaude(repository, 'Make login redirect to /home', { url: model.url });
    const { epics } = orchJson<Epics>(repository, ['status']);
    expect(epics).toMatchObject([{ epicId: 'make-login-redirect-to-home', session: { status: 'paused' } }]);
    expect(epics[0]?.budget.spentUsd).toBeCloseTo(ran.result.total_cost_usd, 6);
  });

  it('takes its work along to the branch that it makes, and the next one goes on there', async () => {
    const repository = makeRepositoryWithCommit();
    installHooks(repository, { permissions: { allow: ['Bash'] } });
    const command = 'git switch --quiet --create feat/login';
    const model = await startAnthropicModel([
      { tools: [{ tool: 'Bash', input: { command, description: 'Make a branch' } }] },
      { text: 'It redirects.', usage: { output_tokens: 1_000 } },
      { text: 'Tested.', usage: { output_tokens: 500 } },
    ]);
    const options = { url: model.url };
    const first = await runClaude(repository, 'Make login redirect', options);
    expect(repository.git('branch', '--show-current').trim()).toBe('feat/login');
    const afterFirst = orchJson<Epics>(repository, ['status']).epics;
    expect(afterFirst).toMatchObject([{ epicId: 'feat-login', session: { number: 1, status: 'paused' } }]);
    expect(afterFirst[0]?.budget.spentUsd).toBeCloseTo(first.result.total_cost_usd, 6);
    const asked = model.asked.length;
    const second = await runClaude(repository, 'Write tests', options);
    expect(JSON.stringify(model.asked[asked]?.body)).toContain('Make login redirect');
    const [epic] = orchJson<Epics>(repository, ['status']).epics;
    expect(epic).toMatchObject({ epicId: 'feat-login', session: { number: 2 } });
    expect(epic?.budget.spentUsd).toBeCloseTo(first.result.total_cost_usd + second.result.total_cost_usd, 6);
    expect(runOrch(repository, ['checkpoint', 'verify']).status).toBe(0);
  });
});
