// Makes the samples of Codex anew, from real runs: ORCH_RECORD_FIXTURES=1 npm run test:agents
import { describe, it } from 'vitest';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { codexProgram, readRollouts, runCodex } from './support/codex.ts';
import { recordCodexHooks } from './support/hooks.ts';
import { type OpenAiTurn, startOpenAiModel } from './support/openai.ts';
import { keepJson, keepLines } from './support/samples.ts';

const used = {
  input_tokens: 1_000,
  input_tokens_details: { cached_tokens: 600 },
  output_tokens: 200,
  output_tokens_details: { reasoning_tokens: 50 },
};

async function record(name: string, turns: readonly OpenAiTurn[]) {
  const repository = makeRepositoryWithCommit();
  const hooks = recordCodexHooks(repository);
  const model = await startOpenAiModel(turns);
  const run = (prompt: string, args: string[] = []) =>
    runCodex(repository, prompt, { url: model.url, config: hooks.trust, args });
  const ran = await run('Write a file.');
  keepLines(repository, `codex/exec/${name}`, ran.lines);
  for (const { lines } of readRollouts(repository)) keepLines(repository, `codex/rollouts/${name}`, lines);
  return { repository, hooks, run, id: ran.lines[0].thread_id };
}

describe.skipIf(!codexProgram)('samples of Codex', () => {
  it('work', async () => {
    const patch = '*** Begin Patch\n*** Add File: b.txt\n+two\n*** End Patch';
    const { repository, hooks, run, id } = await record('work', [
      {
        text: 'First a file.',
        tools: [{ tool: 'exec_command', input: { cmd: 'echo one > a.txt' } }],
        usage: used,
      },
      {
        tools: [
          { tool: 'exec_command', input: { cmd: `apply_patch <<'EOF'\n${patch}\nEOF` } },
          { tool: 'exec_command', input: { cmd: 'echo "Tests  1 failed (3)"; exit 3' } },
        ],
        usage: used,
      },
      { tools: [{ tool: 'update_plan', input: { plan: [{ step: 'Test it', status: 'in_progress' }] } }] },
      { text: 'All done.', usage: used },
    ]);
    for (const { event, input } of hooks.calls()) {
      const kind = [event, input.tool_name, input.source].filter((part) => part !== undefined).join('-');
      keepJson(repository, `codex/hooks/${kind}`, input);
    }
    const before = hooks.calls().length;
    const resumed = await run('Go on.', ['resume', id]);
    keepLines(repository, 'codex/exec/resumed', resumed.lines);
    keepJson(repository, 'codex/hooks/SessionStart-resume', hooks.calls()[before]?.input);
    for (const { lines } of readRollouts(repository)) keepLines(repository, 'codex/rollouts/resumed', lines);
  });

  it('refused', async () => {
    const refusals = (status: number) =>
      Array.from({ length: 9 }, () => ({ status, type: 'rate_limit_exceeded', message: 'Slow down.' }));
    await record('rate-limit', refusals(429));
    await record('server-error', refusals(500));
  });
});
