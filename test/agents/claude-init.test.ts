import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { type AnthropicTurn, startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, runClaude } from './support/claude.ts';
import { writeClaudeSettings } from './support/hooks.ts';
import { type Asked, bashTool, writeTool } from './support/script.ts';
import { hasTmux, openClaude } from './support/terminal.ts';
import { until } from './support/until.ts';

const epic = 'feat-login';

/** A repository on a branch of its own, with settings of the user's, in which `orch init` was run. */
function makeInitialized(): TestRepository {
  const repository = makeRepositoryWithCommit();
  writeClaudeSettings(repository, { permissions: { allow: ['Bash'] } });
  repository.git('switch', '--quiet', '--create', 'feat/login');
  const PATH = `${dirname(claudeProgram ?? '')}${delimiter}${process.env.PATH}`;
  const ran = runOrch(repository, ['init', '-y', '--no-codex'], { env: { PATH } });
  expect(ran).toMatchObject({ status: 0, stdout: expect.stringMatching(/\+\d+ hooks/) });
  expect(repository.git('status', '--porcelain')).toBe('');
  return repository;
}

type Status = {
  session: { number: number; status: string; agent: string; costUsd: number };
  budget: { level: string; spentUsd: number };
};

const statusOf = (repository: TestRepository) =>
  orchJson<Status>(repository, ['session', 'status', '--epic', epic]);

function triggersOf(repository: TestRepository): string[] {
  const { checkpoints } = orchJson<{ checkpoints: { trigger: string }[] }>(repository, [
    'checkpoint',
    'list',
    epic,
    '--all',
  ]);
  return checkpoints.map(({ trigger }) => trigger).reverse();
}

const raiseBudget = (repository: TestRepository, amount: string) =>
  expect(runOrch(repository, ['cost', 'budget', amount, '--epic', epic]).status).toBe(0);

/** A hundred thousand output tokens of Sonnet cost a dollar and a half. */
const expensive = { output_tokens: 100_000 };

describe.skipIf(!claudeProgram)('Claude Code, headless, after orch init', () => {
  it('is recorded with what it cost, and the next run starts with the brief', async () => {
    const repository = makeInitialized();
    const model = await startAnthropicModel([
      { tools: [writeTool(repository.folder, 'login.ts', 'one\n')], usage: expensive },
      { text: 'The form is there; the redirect is not.', usage: { input_tokens: 1_000 } },
      { text: 'Went on.' },
    ]);
    const first = await runClaude(repository, 'make login redirect', { url: model.url });
    expect(first.result).toMatchObject({ is_error: false });
    const { session } = statusOf(repository);
    expect(session).toMatchObject({ number: 1, status: 'paused', agent: 'claude' });
    expect(first.result.total_cost_usd).toBeGreaterThan(1.5);
    expect(session.costUsd).toBeCloseTo(first.result.total_cost_usd, 6);
    const asked = model.asked.length;

    const second = await runClaude(repository, 'go on', { url: model.url });
    const request = JSON.stringify(model.asked[asked]?.body.messages);
    expect(request).toContain('make login redirect');
    expect(request).toContain('login.ts');
    const after = statusOf(repository);
    expect(after.session).toMatchObject({ number: 2, status: 'paused' });
    expect(after.budget.spentUsd).toBeCloseTo(first.result.total_cost_usd + second.result.total_cost_usd, 6);
  });

  it('is halted at the budget after the checkpoint, and asks the model nothing until it is raised', async () => {
    const repository = makeInitialized();
    raiseBudget(repository, '1');
    const model = await startAnthropicModel([
      // It goes somewhere first: a hook there is still of this repository.
      { tools: [bashTool('mkdir deep && cd deep && git init --quiet')] },
      { tools: [writeTool(repository.folder, 'b.ts', 'two\n')], usage: expensive },
      { text: 'Went on.' },
    ]);
    const halted = await runClaude(repository, 'do something dear', { url: model.url });
    expect(halted.stdout).toContain('budget');
    expect(existsSync(join(repository.folder, 'deep', '.git'))).toBe(true);
    expect(existsSync(join(repository.folder, 'b.ts'))).toBe(false);
    expect(model.asked).toHaveLength(2);
    expect(statusOf(repository)).toMatchObject({
      session: { status: 'budget_exceeded' },
      budget: { level: 'exceeded', spentUsd: expect.closeTo(halted.result.total_cost_usd, 6) },
    });
    expect(triggersOf(repository)).toContain('budget');

    const blocked = await runClaude(repository, 'go on anyway', { url: model.url });
    expect(model.asked).toHaveLength(2);
    expect(blocked.result.total_cost_usd).toBe(0);
    raiseBudget(repository, '+5');
    await runClaude(repository, 'go on now', { url: model.url });
    expect(model.asked.length).toBeGreaterThan(2);
  });
});

const isCompaction = ({ body }: Asked) => JSON.stringify(body.messages.at(-1)).includes('<summary>');

async function openInitialized(turns: (folder: string) => AnthropicTurn[]) {
  const repository = makeInitialized();
  const model = await startAnthropicModel(turns(repository.folder));
  const terminal = await openClaude(repository, { url: model.url });
  const holds = (what: string, check: () => boolean) =>
    until(check, () => `${what}\n${terminal.screen()}\n${JSON.stringify(statusOf(repository))}`);
  return { repository, model, terminal, holds };
}

describe.skipIf(!claudeProgram || !hasTmux)('Claude Code in a terminal, after orch init', () => {
  it('shows one line at the start, and stays one session through /compact and /clear', async () => {
    const { repository, terminal, holds } = await openInitialized((folder) => [
      { tools: [writeTool(folder, 'a.ts', 'one\n')] },
      { text: 'The first answer.' },
      { when: isCompaction, text: '<summary>All so far.</summary>' },
      { text: 'The second answer.' },
    ]);
    await terminal.shows('orch: feat-login (from the branch), session 1, no budget.');
    await terminal.type('the first prompt');
    await terminal.shows('The first answer.');
    await terminal.type('/compact');
    await terminal.shows('ompacted');
    await holds('a checkpoint before it', () => triggersOf(repository).includes('pre_compact'));
    await terminal.type('/clear');
    await terminal.type('the second prompt');
    await terminal.shows('The second answer.');
    expect(statusOf(repository).session).toMatchObject({ number: 1, status: 'running' });
    await terminal.type('/exit');
    await holds('the end', () => statusOf(repository).session.status === 'paused');
    expect(statusOf(repository).session.number).toBe(1);
  });

  it('is halted over the budget, and its next prompt is blocked', async () => {
    const { repository, model, terminal, holds } = await openInitialized((folder) => [
      { text: 'Ready.' },
      { tools: [writeTool(folder, 'b.ts', 'two\n')], usage: expensive },
      { text: 'Billed again.' },
    ]);
    await terminal.type('get ready');
    await terminal.shows('Ready.');
    raiseBudget(repository, '1');
    await terminal.type('do something dear');
    await holds('the halt', () => statusOf(repository).budget.level === 'exceeded');
    await terminal.shows('is used up');
    expect(existsSync(join(repository.folder, 'b.ts'))).toBe(false);
    const asked = model.asked.length;
    await terminal.type('go on anyway');
    const halts = () => terminal.screen().split('is used up').length - 1;
    await holds('the block', () => halts() > 1 || model.asked.length > asked);
    expect(model.asked).toHaveLength(asked);
  });
});
