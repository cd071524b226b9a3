import { describe, expect, it } from 'vitest';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { type AnthropicTurn, startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, readTranscripts } from './support/claude.ts';
import { priceOf, usageIn } from './support/cost.ts';
import { recordHooks } from './support/hooks.ts';
import { type Asked, writeTool } from './support/script.ts';
import { hasTmux, openClaude } from './support/terminal.ts';
import { until } from './support/until.ts';

/** Claude Code in a terminal, with hooks that record, and a way to wait for them. */
async function open(turns: (folder: string) => AnthropicTurn[], env: Record<string, string> = {}) {
  const repository = makeRepositoryWithCommit();
  const hooks = recordHooks(repository);
  hooks.answer('StatusLine', 'the line of ours');
  const model = await startAnthropicModel(turns(repository.folder));
  const terminal = await openClaude(repository, { url: model.url, env });
  const called = (event: string, times = 1) =>
    until(
      () => hooks.calls(event).length >= times,
      () => `${event} × ${times}; ${hooks.calls().map((call) => call.event)}\n${terminal.screen()}`,
    );
  return { repository, hooks, model, terminal, called };
}

const isCompaction = ({ body }: Asked) => JSON.stringify(body.messages.at(-1)).includes('<summary>');

describe.skipIf(!claudeProgram || !hasTmux)('Claude Code, in a terminal', () => {
  it('works, and shows the status line, which is told the cost', async () => {
    const { hooks, model, terminal, called } = await open((folder) => [
      { tools: [writeTool(folder, 'a.txt', 'one\n')], usage: { output_tokens: 200 } },
      { text: 'Written well.', usage: { input_tokens: 20_000 } },
    ]);
    await terminal.type('write a file');
    await terminal.shows('Written well.');
    await terminal.shows('the line of ours');
    await called('Stop');
    const cost = () => hooks.calls('StatusLine').at(-1)?.input.cost.total_cost_usd;
    await until(
      () => Math.abs(cost() - priceOf(model.given)) < 1e-9,
      () => `${cost()} is not ${priceOf(model.given)}`,
    );
    expect(hooks.calls('StatusLine').at(-1)?.input.context_window).toMatchObject({
      context_window_size: 200_000,
      used_percentage: 10,
    });
    expect(hooks.calls('SessionStart')[0]?.input).toMatchObject({
      source: 'startup',
      model: 'claude-sonnet-4-5',
    });
    await terminal.type('/exit');
    await called('SessionEnd');
    expect(hooks.calls('SessionEnd')[0]?.input.reason).toBe('prompt_input_exit');
  });

  it('keeps its session in /compact, whose cost no transcript has, and begins another in /clear', async () => {
    const { repository, hooks, model, terminal, called } = await open(() => [
      { text: 'The first answer.', usage: { output_tokens: 100 } },
      { when: isCompaction, text: '<summary>All so far.</summary>', usage: { output_tokens: 1_000 } },
      { text: 'The second answer.' },
    ]);
    await terminal.type('the first prompt');
    await called('Stop');
    await terminal.type('/compact');
    await called('PostCompact');
    await terminal.shows('ompacted');
    await terminal.type('/clear');
    await called('SessionStart', 3);
    await terminal.type('the second prompt');
    await called('Stop', 2);

    const calls = hooks.calls().filter(({ event }) => event !== 'StatusLine');
    expect(calls.map(({ event, input }) => [event, input.source ?? input.trigger ?? input.reason])).toEqual([
      ['SessionStart', 'startup'],
      ['UserPromptSubmit', undefined],
      ['Stop', undefined],
      ['PreCompact', 'manual'],
      ['SubagentStop', undefined],
      ['SessionStart', 'compact'],
      ['PostCompact', 'manual'],
      ['SessionEnd', 'clear'],
      ['SessionStart', 'clear'],
      ['UserPromptSubmit', undefined],
      ['Stop', undefined],
    ]);
    expect(hooks.calls('PostCompact')[0]?.input.compact_summary).toContain('All so far.');
    const ids = calls.map(({ input }) => input.session_id);
    expect(new Set(ids.slice(0, 8)).size).toBe(1);
    expect(new Set(ids.slice(8)).size).toBe(1);
    expect(ids[8]).not.toBe(ids[0]);

    const [, compaction] = model.given;
    const transcripts = readTranscripts(repository);
    expect(usageIn(transcripts).map(({ id }) => id)).not.toContain(compaction?.id);
    const states = transcripts.flatMap(({ lines }) => lines).filter(({ type }) => type === 'cost-state');
    expect(states.map(({ totalCostUSD }) => totalCostUSD)).toContainEqual(
      expect.closeTo(priceOf(model.given.slice(0, 2)), 9),
    );
  });

  it('goes on after it was halted, unless its prompts are blocked', async () => {
    const { hooks, model, terminal, called } = await open((folder) => [
      { tools: [writeTool(folder, 'a.txt', 'one\n')] },
      { text: 'Billed again.' },
    ]);
    hooks.answer('PostToolUse', { continue: false, stopReason: 'the budget is spent' });
    await terminal.type('write a file');
    await terminal.shows('the budget is spent');
    await terminal.type('go on anyway');
    await terminal.shows('Billed again.');
    await called('Stop');
    hooks.answer('UserPromptSubmit', { decision: 'block', reason: 'raise the budget first' });
    await terminal.type('and once more');
    await terminal.shows('raise the budget first');
    expect(model.asked).toHaveLength(2);
  });

  it('tells a rate limit from an end', async () => {
    const refusal = { status: 429, type: 'rate_limit_error', message: 'slow down' };
    const { hooks, terminal, called } = await open(() => [refusal, refusal]);
    await terminal.type('do something');
    await called('StopFailure');
    expect(hooks.calls('StopFailure')[0]?.input).toMatchObject({ error: 'rate_limit' });
    expect(hooks.calls('Stop')).toEqual([]);
  });
});
