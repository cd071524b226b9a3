import { describe, expect, it } from 'vitest';
import { orchJson } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, runClaude } from './support/claude.ts';
import { installHooks, startOrchClaude } from './support/orch.ts';

const noRetry = { 'x-should-retry': 'false' };
const refusals = [
  {
    status: 429,
    type: 'rate_limit_error',
    message: 'Slow down.',
    headers: noRetry,
    said: /429|limit|Slow down/i,
  },
  { status: 529, type: 'overloaded_error', message: 'Overloaded', headers: noRetry, said: /529|overload/i },
  {
    status: 400,
    type: 'invalid_request_error',
    message: 'prompt is too long: 210000 tokens > 200000 maximum',
    headers: noRetry,
    said: /prompt is too long/i,
  },
];

type Log = {
  readonly sessions: readonly { readonly status: string }[];
  readonly checkpoints: readonly { readonly trigger: string; readonly summary: string }[];
};

describe.skipIf(!claudeProgram)('claude -p that its provider refuses', () => {
  it.each(refusals)('says why in the log, once: $status', async ({ said, ...refusal }) => {
    const repository = makeRepositoryWithCommit();
    installHooks(repository);
    const model = await startAnthropicModel(Array.from({ length: 20 }, () => refusal));
    const ran = await runClaude(repository, 'write the login page for the shop', {
      url: model.url,
      env: { ORCH_EPIC: 'x', CLAUDE_CODE_MAX_RETRIES: '0' },
    });
    expect(ran.status).toBe(1);
    const log = orchJson<Log>(repository, ['log', 'x']);
    expect(log.sessions).toMatchObject([{ status: 'failed' }]);
    const told = log.checkpoints.filter(({ summary }) => said.test(summary));
    expect(told, JSON.stringify(log.checkpoints)).toMatchObject([{ trigger: 'error' }]);
  });

  const both = refusals.flatMap((refusal) => [false, true].map((isHooked) => ({ ...refusal, isHooked })));

  it.each(both)('says why under a supervisor too, once: $status, hooks too: $isHooked', async (given) => {
    const { said, isHooked, ...refusal } = given;
    const repository = makeRepositoryWithCommit();
    if (isHooked) installHooks(repository);
    const model = await startAnthropicModel(Array.from({ length: 20 }, () => refusal));
    const options = { url: model.url, env: { CLAUDE_CODE_MAX_RETRIES: '0' } };
    const orch = ['start', '-e', 'x', '--on-limit', 'fail'];
    const ran = await startOrchClaude(repository, orch, 'write the login page', options).ended;
    expect(ran.status).toBe(1);
    const log = orchJson<Log>(repository, ['log', 'x']);
    expect(log.sessions).toMatchObject([{ status: 'failed' }]);
    const told = log.checkpoints.filter(({ summary }) => said.test(summary));
    expect(told, JSON.stringify(log.checkpoints)).toMatchObject([{ trigger: 'error' }]);
  });
});
