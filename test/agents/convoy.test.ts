import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ConvoyDocument, readMerged, statusesOf } from '../support/convoys.ts';
import { orchBin } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { type AnthropicTurn, startAnthropicModel } from './support/anthropic.ts';
import { claudeEnvironment, claudeProgram } from './support/claude.ts';
import { isFor } from './support/convoy.ts';
import { priceOf } from './support/cost.ts';
import { startAgent } from './support/ran.ts';
import { bashTool, writeTool } from './support/script.ts';

/** A plan for Claude Code, and a model with these turns; each is for the worker that was told these words. */
async function stage(plan: string, turns: (worktrees: string) => (AnthropicTurn & { words: string })[]) {
  const repository = makeRepositoryWithCommit();
  repository.write('plan.yaml', plan);
  repository.git('config', 'user.name', 'A User');
  repository.git('config', 'user.email', 'user@example.com');
  const asks = (words: string): Pick<AnthropicTurn, 'when'> => ({ when: (asked) => isFor(asked, words) });
  const own = turns(`${repository.folder}.orch/two`);
  const model = await startAnthropicModel(own.map(({ words, ...turn }) => ({ ...turn, ...asks(words) })));
  return { repository, model };
}

async function startConvoy(repository: TestRepository, url: string, verb = 'start') {
  const programs = join(repository.home, 'programs');
  mkdirSync(programs, { recursive: true });
  try {
    symlinkSync(claudeProgram ?? '', join(programs, 'claude'));
  } catch {
    // it is there from the call before
  }
  const { PATH, ...env } = claudeEnvironment(repository, { url, env: { IS_SANDBOX: '1' } });
  const ran = await startAgent(process.execPath, [orchBin, 'convoy', verb, 'plan.yaml', '--json'], {
    cwd: repository.folder,
    env: { ...env, PATH: `${programs}:${PATH}` },
  }).ended;
  return { ...ran, document: JSON.parse(ran.stdout || 'null') as ConvoyDocument };
}

const head = `name: two
worker: { agent: claude, model: claude-sonnet-4-5, attempts: 2, args: [--permission-mode, bypassPermissions] }
merge: { gates: none }
`;

describe.skipIf(!claudeProgram)('a convoy of real Claude Codes', () => {
  it('merges what both did; what they cost is the cost of the convoy', async () => {
    const { repository, model } = await stage(
      `${head}tasks:\n  - { id: one, prompt: write the first file }\n  - { id: two, prompt: write the second file }\n`,
      (folder) => [
        {
          words: 'write the first',
          tools: [writeTool(`${folder}/one`, 'one.txt', '1\n')],
          usage: { output_tokens: 5_000 },
        },
        {
          words: 'write the second',
          tools: [writeTool(`${folder}/two`, 'two.txt', '2\n')],
          usage: { output_tokens: 7_000 },
        },
      ],
    );
    const ran = await startConvoy(repository, model.url);
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(statusesOf(ran.document)).toEqual({ one: 'done', two: 'done' });
    expect(readMerged(repository, 'two')).toMatchObject({ 'one.txt': '1', 'two.txt': '2' });
    expect(ran.document.convoy.budget.spentUsd).toBeCloseTo(priceOf(model.given), 6);
    const costs = ran.document.convoy.tasks.map(({ costUsd }) => costUsd);
    expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeCloseTo(priceOf(model.given), 6);
    expect(repository.git('status', '--porcelain', '--untracked-files=no')).toBe('');
  });

  it('sends a conflict back to the same conversation, which resolves it', async () => {
    const { repository, model } = await stage(
      `${head}tasks:\n  - { id: one, prompt: add the first line }\n  - { id: two, prompt: add the second line }\n`,
      () => [
        { words: 'add the first', tools: [bashTool('echo first >> README')] },
        {
          words: 'add the second',
          tools: [
            bashTool(
              'until git show orch/two/merged:README | grep -q first; do sleep 0.1; done; echo second >> README',
            ),
          ],
        },
        {
          words: 'It conflicts with',
          tools: [
            bashTool(
              'git merge -q orch/two/merged; printf "hello\\nfirst\\nsecond\\n" > README; git commit -qam resolved',
            ),
          ],
        },
      ],
    );
    const ran = await startConvoy(repository, model.url);
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(readMerged(repository, 'two').README).toBe('hello\nfirst\nsecond');
    const second = ran.document.convoy.tasks.find(({ id }) => id === 'two');
    expect(second).toMatchObject({ status: 'done', attempts: 2 });
    // The attempt that was sent back knows what it was asked at first.
    const back = model.asked.find(({ body }) => JSON.stringify(body?.messages).includes('It conflicts with'));
    expect(JSON.stringify(back?.body?.messages)).toContain('add the second line');
  });
});
