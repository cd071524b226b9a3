import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { triggersOf } from '../support/supervised.ts';
import { type AnthropicTurn, startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, runClaude } from './support/claude.ts';
import { priceOf } from './support/cost.ts';
import { installHooks, statusOf } from './support/orch.ts';
import { type Asked, bashTool, writeTool } from './support/script.ts';
import { hasTmux, openClaude } from './support/terminal.ts';
import { until } from './support/until.ts';

/** Claude Code in a terminal with orch's hooks, and nobody who typed orch. */
async function open(turns: (folder: string) => AnthropicTurn[]) {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/login');
  installHooks(repository, { permissions: { allow: ['Bash'] } });
  const model = await startAnthropicModel(turns(repository.folder));
  const begin = () => openClaude(repository, { url: model.url });
  const comes = (what: string, holds: () => boolean) =>
    until(
      () => {
        try {
          return holds();
        } catch {
          return false; // there is no such epic yet
        }
      },
      () => `${what}: ${runOrch(repository, ['status']).stdout}`,
    );
  return { repository, model, begin, comes };
}

const epic = 'feat-login';
const isCompaction = ({ body }: Asked) => JSON.stringify(body.messages.at(-1)).includes('<summary>');
const noted = (repository: Parameters<typeof statusOf>[0], of: string) =>
  runOrch(repository, ['brief', '-e', of]).stdout;
const spent = (repository: Parameters<typeof statusOf>[0]) => statusOf(repository, epic).budget.spentUsd;

describe.skipIf(!claudeProgram || !hasTmux)('Claude Code in a terminal, with orch in its hooks', () => {
  it('is recorded, halted at the budget, and blocked until that is raised', async () => {
    const { repository, model, begin, comes } = await open(() => [
      { text: 'Hello.', usage: { output_tokens: 10_000 } },
      { tools: [bashTool('touch dear')], usage: { output_tokens: 100_000 } },
      { text: 'Went on.' },
    ]);
    const terminal = await begin();
    await terminal.type('say hello to the xylophone');
    await terminal.shows('Hello.');
    await comes('the first turn is recorded', () => statusOf(repository, epic).session.status === 'running');
    expect(runOrch(repository, ['brief', '-e', epic]).stdout).toContain('say hello to the xylophone');
    expect(runOrch(repository, ['cost', 'budget', '1', '-e', epic]).status).toBe(0);
    await terminal.type('do something dear');
    await terminal.shows('the budget of feat-login is used up');
    await comes(
      'it is over the budget',
      () => statusOf(repository, epic).session.status === 'budget_exceeded',
    );
    expect(triggersOf(repository, epic)).toContain('budget');
    expect(existsSync(join(repository.folder, 'dear'))).toBe(false);
    const asked = model.asked.length;
    await terminal.type('go on please');
    await until(
      () => terminal.screen().split('is used up').length > 2 || model.asked.length > asked,
      () => terminal.screen(),
    );
    expect(model.asked).toHaveLength(asked);
    expect(runOrch(repository, ['cost', 'budget', '+5', '-e', epic]).status).toBe(0);
    await terminal.type('and now go on');
    await terminal.shows('Went on.');
  });

  it('is judged by the gates after its turns, and hands over what it said when it is killed', async () => {
    const { repository, model, begin, comes } = await open((folder) => [
      { tools: [writeTool(folder, 'login.ts', 'export const form = 1;\n')] },
      { text: 'The form is there; left: the redirect.' },
      { tools: [bashTool('touch broken')] },
      { text: 'Something broke.' },
      { text: 'I go on.' },
    ]);
    repository.write('package.json', JSON.stringify({ name: 'x', scripts: { test: 'test ! -e broken' } }));
    // Approved by hand, for another epic: nobody runs them for this one.
    expect(runOrch(repository, ['baseline', '-e', 'other']).status).toBe(0);
    const gates = () => statusOf(repository, epic).checkpoint.gates;
    const terminal = await begin();
    await terminal.type('make a login form');
    await terminal.shows('left: the redirect.');
    await comes('green', () => gates() === 'green');
    await terminal.type('and now break it');
    await terminal.shows('Something broke.');
    await comes('red', () => gates() === 'red');
    process.kill(terminal.pid, 'SIGKILL');
    await comes('its end', () => statusOf(repository, epic).session.status === 'interrupted');
    const next = await begin();
    await next.shows('Session 1 was interrupted');
    await next.type('go on');
    await next.shows('I go on.');
    const brief = JSON.stringify(model.asked.at(-1)?.body.messages);
    expect(brief).toContain('**Last said:** s1: Something broke.');
    expect(brief).toContain('**Blocked by:** gate test fails');
  });

  it('is billed to the branch it is asked on, beside another in the same worktree, and a limit is no end', async () => {
    const refusal = { status: 429, type: 'rate_limit_error', message: 'slow down' };
    const { repository, model, begin, comes } = await open(() => [
      { text: 'The first answer.', usage: { output_tokens: 10_000 } },
      { text: 'The second answer.', usage: { output_tokens: 20_000 } },
      refusal,
      refusal,
    ]);
    const terminal = await begin();
    await terminal.type('the first thing');
    await terminal.shows('The first answer.');
    await comes('the first turn', () => spent(repository) > 0.15);
    const other = await startAnthropicModel([{ text: 'Beside it.', usage: { output_tokens: 30_000 } }]);
    const beside = await runClaude(repository, 'another thing', { url: other.url });
    const costUsd = expect.closeTo(beside.result.total_cost_usd, 6);
    expect(orchJson(repository, ['session', 'list'])).toMatchObject({
      sessions: [
        { number: 2, status: 'paused', costUsd },
        { number: 1, status: 'running' },
      ],
    });
    const before = spent(repository);
    expect(before).toBeCloseTo(priceOf(model.given) + beside.result.total_cost_usd, 6);

    repository.git('switch', '--quiet', '--create', 'hotfix');
    await terminal.type('the second thing');
    await terminal.shows('orch: hotfix (from the branch), session 1, no budget.');
    await terminal.shows('The second answer.');
    await comes('the hotfix', () => statusOf(repository, 'hotfix').budget.spentUsd > 0.3);
    expect(statusOf(repository, 'hotfix').budget.spentUsd).toBeCloseTo(priceOf(model.given.slice(1)), 6);
    expect(spent(repository)).toBe(before);
    await terminal.type('the third thing');
    await comes('the limit', () => noted(repository, 'hotfix').includes('claude could not continue: '));
    expect(statusOf(repository, 'hotfix').session).toMatchObject({ number: 1, status: 'running' });
  });

  it('keeps its session through /compact and /clear, and counts all of it', async () => {
    const { repository, model, begin, comes } = await open(() => [
      { text: 'The first answer.', usage: { output_tokens: 1_000 } },
      { when: isCompaction, text: '<summary>All so far.</summary>', usage: { output_tokens: 2_000 } },
      { text: 'The second answer.', usage: { output_tokens: 3_000 } },
      { text: 'The third answer.', usage: { output_tokens: 4_000 } },
    ]);
    const terminal = await begin();
    await terminal.type('the first thing');
    await terminal.shows('The first answer.');
    await terminal.type('/compact');
    await comes('the checkpoint before', () => triggersOf(repository, epic).includes('pre_compact'));
    await terminal.shows(/[Cc]ompacted/);
    const isAllCounted = () => Math.abs(spent(repository) - priceOf(model.given)) < 1e-6;
    await comes('what the compaction cost, while it is live', isAllCounted);
    await terminal.type('the second thing');
    await terminal.shows('The second answer.');
    await comes('the same with what came after', isAllCounted);
    await terminal.type('/clear');
    await until(
      () => !terminal.screen().includes('The second answer.'),
      () => terminal.screen(),
    );
    await terminal.type('the third thing');
    await terminal.shows('The third answer.');
    await comes('the third prompt', () =>
      runOrch(repository, ['brief', '-e', epic]).stdout.includes('the third thing'),
    );
    await terminal.type('/exit');
    await comes('its end', () => statusOf(repository, epic).session.status === 'paused');
    expect(statusOf(repository, epic).session.number).toBe(1);
    const { epics } = orchJson<{ epics: unknown[] }>(repository, ['status']);
    expect(epics).toHaveLength(1);
    await comes('all of the cost', isAllCounted);
  });
});
