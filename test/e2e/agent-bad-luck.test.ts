import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { makeAgent, processOfItsOwn } from '../support/hooked-agent.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/* What goes wrong around agents: nothing is lost, nothing is counted twice, nobody is disturbed. */

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const env = { ORCH_EPIC: 'x' };

const spentOf = (repository: TestRepository) =>
  orchJson<{ budget: { spentUsd: number } }>(repository, ['cost', '-e', 'x']).budget.spentUsd;

const briefOf = (repository: TestRepository) => runOrch(repository, ['brief', '-e', 'x']).stdout;

const faultsOf = (repository: TestRepository) =>
  orchJson<{ faults: object[] }>(repository, ['status']).faults;

/** A line of a transcript, as Claude Code writes it. */
function lineOf(id: string, output: unknown, more: object = {}) {
  const usage = { input_tokens: 0, output_tokens: output };
  const message = { id, model: 'claude-sonnet-4-5', usage };
  return `${JSON.stringify({ type: 'assistant', requestId: id, message, ...more })}\n`;
}

it('a task notification that a person types is what they ask, as far as they wrote it', () => {
  const repository = makeRepositoryWithCommit();
  const { call } = makeAgent(repository, 'agent-1', env);
  const whole =
    '<task-notification>\n<task-id>b1</task-id>\n<status>failed</status>\n<summary>Build</summary>\n</task-notification>';
  call('UserPromptSubmit', { prompt: '<task-notification> is shown twice in the list, fix that' });
  call('UserPromptSubmit', { prompt: `${whole}\nI got this one: make the build pass` });
  call('UserPromptSubmit', { prompt: whole });
  const brief = briefOf(repository);
  expect(brief).toContain('**Goal:** \\<task-notification> is shown twice in the list, fix that');
  expect(brief).toContain('I got this one: make the build pass');
  expect(brief).not.toContain('Build</summary>');
});

it('a transcript of a newer format counts as far as it is understood, and disturbs nothing', () => {
  const repository = makeRepositoryWithCommit();
  const { call, transcript } = makeAgent(repository, 'agent-1', env);
  call('SessionStart', { source: 'startup' });
  call('UserPromptSubmit', { prompt: 'Begin' });
  const lines = [
    lineOf('m-1', 100_000, { version: '9.0.0', schema: { major: 7 } }),
    '{"type":"turn","v":2,"events":[{"usage":{"output_tokens":5}}]}\n',
    lineOf('m-2', '12'),
    lineOf('m-3', { total: 5 }),
    lineOf('m-4', -5),
    lineOf('m-5', 1e300),
    '{"type":"assistant","message":{"id":7,"model":["x"],"usage":[1,2]}}\n',
    '{"type":"assistant","message":"text"}\n',
    '[1,2]\nnull\n"x"\n\u0000\u0001\n',
    '{"type":"cost-state","modelUsage":{"claude-sonnet-4-5":"much"},"totalCostUSD":"12"}\n',
    '{"type":"compact_boundary","compactMetadata":7}\n',
    lineOf('m-6', 100_000),
  ];
  appendFileSync(transcript, lines.join(''));
  expect(call('Stop', { last_assistant_message: 'Done.' })).toBe(null);
  expect(faultsOf(repository)).toEqual([]);
  expect(spentOf(repository)).toBe(3);
  call('SessionEnd', { reason: 'other' });
  expect(spentOf(repository)).toBe(3);
});

it('agents that finish at once are all recorded, with what each of them cost', async () => {
  const repository = makeRepositoryWithCommit();
  const ids = ['one', 'two', 'three', 'four'];
  const transcripts = ids.map((id) => {
    const agent = makeAgent(repository, id, env);
    agent.call('SessionStart', { source: 'startup' });
    agent.call('UserPromptSubmit', { prompt: `Do part ${id}` });
    appendFileSync(agent.transcript, lineOf(`m-${id}`, 100_000));
    return agent.transcript;
  });
  const finish = (hook_event_name: string, fields: object) =>
    Promise.all(
      ids.map((session_id, index) => {
        const child = spawn(process.execPath, [orchBin, 'hook', 'claude'], {
          env: cleanEnvironment(repository.home, { ...env, CLAUDE_PID: String(process.pid) }),
          stdio: ['pipe', 'ignore', 'ignore'],
        });
        const input = { session_id, transcript_path: transcripts[index], cwd: repository.folder };
        child.stdin.end(JSON.stringify({ ...input, hook_event_name, ...fields }));
        return once(child, 'exit');
      }),
    );
  await finish('Stop', { last_assistant_message: 'Done.' });
  await finish('SessionEnd', { reason: 'other' });
  expect(faultsOf(repository)).toEqual([]);
  expect(spentOf(repository)).toBe(6);
  const { sessions } = orchJson<{ sessions: { status: string; costUsd: number }[] }>(repository, [
    'session',
    'list',
  ]);
  expect(sessions.map(({ status, costUsd }) => ({ status, costUsd }))).toEqual(
    ids.map(() => ({ status: 'paused', costUsd: 1.5 })),
  );
  expect(runOrch(repository, ['checkpoint', 'verify']).status).toBe(0);
});

it('an agent that is killed between its answer and its account is billed for the answer, once', async () => {
  const repository = makeRepositoryWithCommit();
  const process = spawn('sleep', ['1000'], { stdio: 'ignore' });
  children.push(process);
  const { call, transcript } = makeAgent(repository, 'agent-1', { ...env, CLAUDE_PID: String(process.pid) });
  call('SessionStart', { source: 'startup' });
  call('UserPromptSubmit', { prompt: 'Begin' });
  // The answer is written, and neither the end of the turn nor the account of the whole is ever told.
  appendFileSync(transcript, lineOf('m-1', 100_000));
  const ended = once(process, 'exit');
  process.kill('SIGKILL');
  await ended;
  makeAgent(repository, 'agent-2', env).call('SessionStart', { source: 'startup' });
  expect(spentOf(repository)).toBe(1.5);
  const resumed = makeAgent(repository, 'agent-3', { ...env, ...processOfItsOwn() });
  const again = { transcript_path: transcript };
  resumed.call('SessionStart', { source: 'resume', ...again }, 'agent-1');
  resumed.call('UserPromptSubmit', { prompt: 'Do the rest', ...again }, 'agent-1');
  appendFileSync(transcript, lineOf('m-2', 100_000));
  // The account is of the conversation: what the killed session used is in it too.
  const modelUsage = { 'claude-sonnet-4-5': { inputTokens: 0, outputTokens: 200_000, costUSD: 3 } };
  appendFileSync(transcript, `${JSON.stringify({ type: 'cost-state', sessionId: 'agent-1', modelUsage })}\n`);
  resumed.call('SessionEnd', { reason: 'other', ...again }, 'agent-1');
  expect(spentOf(repository)).toBe(3);
});

it('a fork of a fork is billed for its own messages only', () => {
  const repository = makeRepositoryWithCommit();
  let before = '';
  let total = 0;
  for (const [index, name] of ['parent', 'fork', 'fork-of-fork'].entries()) {
    const { call, transcript } = makeAgent(repository, name, env);
    rmSync(transcript); // it is there only once the agent was asked something
    call('SessionStart', { source: index === 0 ? 'startup' : 'fork' });
    writeFileSync(transcript, before);
    call('UserPromptSubmit', { prompt: `Way ${index}` });
    const timestamp = new Date(Date.now() + 1_000 * (index + 1)).toISOString();
    const own = lineOf(`m-${index}`, 100_000, { timestamp });
    appendFileSync(transcript, own);
    call('Stop', { last_assistant_message: 'Done.' });
    total += 1.5;
    expect(spentOf(repository), name).toBe(total);
    const modelUsage = { 'claude-sonnet-4-5': { outputTokens: 100_000 * (index + 1), costUSD: total } };
    const account = `${JSON.stringify({ type: 'cost-state', sessionId: name, modelUsage })}\n`;
    appendFileSync(transcript, account);
    call('SessionEnd', { reason: 'other' });
    expect(spentOf(repository), name).toBe(total);
    // What is copied into a fork is as old as it was.
    before += lineOf(`m-${index}`, 100_000, {
      timestamp: new Date(Date.now() - 60_000 + index).toISOString(),
    });
  }
});

it('a compaction during a budget stop changes nothing about the stop, and is billed', () => {
  const repository = makeRepositoryWithCommit();
  const agent = makeAgent(repository, 'agent-1', { ...env, ...processOfItsOwn() });
  const { call, spend } = agent;
  const say = (total_cost_usd: number) => {
    const input = { session_id: 'agent-1', cwd: repository.folder, cost: { total_cost_usd } };
    expect(runOrch(repository, ['statusline'], { input: JSON.stringify(input) }).status).toBe(0);
  };
  call('SessionStart', { source: 'startup' });
  say(0);
  call('UserPromptSubmit', { prompt: 'Make login redirect' });
  runOrch(repository, ['cost', 'budget', '1', '-e', 'x']);
  spend(100_000);
  expect(call('PreToolUse', { tool_name: 'Bash', tool_input: {} })).toMatchObject({ continue: false });
  expect(call('PreCompact', { trigger: 'auto' })).toBe(null);
  say(1.75);
  const compacted = call('SessionStart', { source: 'compact' });
  expect(compacted.hookSpecificOutput.additionalContext).toContain('Make login redirect');
  expect(call('PostCompact', { trigger: 'auto', compact_summary: 'Login redirects.' })).toBe(null);
  expect(call('PreToolUse', { tool_name: 'Bash', tool_input: {} })).toMatchObject({ continue: false });
  const reason = expect.stringContaining('the budget of x is used up ($1.75 of $1.00)');
  expect(call('UserPromptSubmit', { prompt: 'Continue with it' })).toMatchObject({
    decision: 'block',
    reason,
  });
  const { epics } = orchJson<{ epics: { session: { status: string } }[] }>(repository, ['status']);
  expect(epics).toMatchObject([{ session: { status: 'budget_exceeded' }, budget: { spentUsd: 1.75 } }]);
});

it('a price that changes in mid-session counts for all of the session, and never lowers what was counted', () => {
  const repository = makeRepositoryWithCommit();
  const agent = makeAgent(repository, 'agent-1', { ...env, ...processOfItsOwn() });
  const { call, spend } = agent;
  mkdirSync(join(repository.folder, '.orchestration'));
  const setPrice = (output: number) =>
    repository.write(
      '.orchestration/config.yaml',
      `prices:\n  claude-sonnet-4-5: { input: 0, output: ${output} }\n`,
    );
  runOrch(repository, ['record', 'note', 'Hello', '-e', 'x']);
  call('UserPromptSubmit', { prompt: 'Begin' });
  spend(100_000);
  call('Stop', { last_assistant_message: 'One.' });
  expect(spentOf(repository)).toBe(1.5);
  const seen: number[] = [];
  for (const price of [5, 30, 15]) {
    setPrice(price);
    runOrch(repository, ['init', '-y', '--no-claude', '--no-codex']);
    spend(100_000);
    call('Stop', { last_assistant_message: 'Next.' });
    seen.push(spentOf(repository));
  }
  // At 5 it is less than was counted before; at 30 it is more; at 15 it is less again.
  expect(seen).toEqual([1.5, 9, 9]);
});
