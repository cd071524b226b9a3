import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeAgent, processOfItsOwn, wrote } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { writeConfig } from '../support/supervised.ts';

/** Names the tools in one line. */
const toolsLine = expect.stringMatching(/^orch records this session\. .*record, ask, brief.*$/);

type Status = { session: { number: number; status: string; agent: string; costUsd: number }; epicId: string };

function statusOf(repository: TestRepository, epic: string): Status {
  return orchJson<Status>(repository, ['session', 'status', '--epic', epic]);
}

describe('an agent that runs by itself, with orch in its hooks', () => {
  it('is recorded, metered and handed over, and nobody typed orch record', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('switch', '--quiet', '--create', 'feat/login');
    const { call, spend } = makeAgent(repository);
    expect(call('SessionStart', { source: 'startup' })).toEqual({
      systemMessage: 'orch: feat-login (from the branch), session 1, no budget.',
      hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: toolsLine },
    });
    call('UserPromptSubmit', { prompt: 'Make login redirect to /home' });
    spend(100_000);
    writeFileSync(join(repository.folder, 'login.ts'), 'one\n');
    call('PostToolUse', wrote(repository, 'login.ts'));
    const stdout = '      Tests  1 failed | 12 passed (13)\n';
    call('PostToolUse', { tool_name: 'Bash', tool_input: {}, tool_response: { stdout, stderr: '' } });
    call('Stop', { last_assistant_message: 'The form is there; the redirect is not.' });
    expect(statusOf(repository, 'feat-login').session).toMatchObject({
      number: 1,
      status: 'running',
      agent: 'claude',
      costUsd: 1.5,
    });
    call('SessionEnd', { reason: 'prompt_input_exit' });
    expect(statusOf(repository, 'feat-login').session).toMatchObject({ status: 'paused', costUsd: 1.5 });

    const next = makeAgent(repository, 'agent-2');
    const { systemMessage, hookSpecificOutput } = next.call('SessionStart', { source: 'startup' });
    expect(systemMessage).toBe('orch: feat-login (from the branch), session 2, $1.50 spent, no budget.');
    const { additionalContext: brief } = hookSpecificOutput;
    expect(brief.length).toBeLessThan(2_000);
    expect(brief).toContain('Make login redirect to /home');
    expect(brief).toContain('**Last said:** s1: The form is there; the redirect is not.');
    expect(brief).toContain('login.ts');
    expect(brief).toContain('1 of 13 tests failed');
    const log = repository.git('log', '--format=%s', 'orchestration/epics/feat-login').split('\n');
    expect(log).toHaveLength(2); // the first thing that happened, and the end
  });

  it('hands over what it said and how it summed up, bounded, however long that was', () => {
    const repository = makeRepositoryWithCommit();
    const { call } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    call('SessionStart', { source: 'startup' });
    const long = (text: string) => `${text} ${'and on it goes. '.repeat(2_000)}`;
    call('UserPromptSubmit', { prompt: long('Make login redirect.') });
    call('PostCompact', {
      compact_summary: `<analysis>${long('Hm.')}</analysis><summary>${long('The form.')}</summary>`,
    });
    call('Stop', { last_assistant_message: long('The redirect is left.') });
    call('SessionEnd', { reason: 'prompt_input_exit' });
    const next = makeAgent(repository, 'agent-2', { ORCH_EPIC: 'x' });
    const brief = next.call('SessionStart', { source: 'startup' }).hookSpecificOutput.additionalContext;
    expect(brief).toContain('**Goal:** Make login redirect.');
    expect(brief).toContain('**Last said:** s1: The redirect is left.');
    expect(brief).toContain('**Summed up:** The form.');
    expect(brief.length).toBeLessThan(7_000);
  });

  it('has a session from its first prompt on, even if that only says to go on', () => {
    const repository = makeRepositoryWithCommit();
    const { call } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'go on' });
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 1, status: 'running' });
  });

  it('leaves nothing behind where nothing happened', () => {
    const repository = makeRepositoryWithCommit();
    const { call } = makeAgent(repository);
    call('SessionStart', { source: 'startup' });
    expect(call('PostToolUse', { tool_name: 'Read', tool_input: {}, tool_response: {} })).toBeNull();
    call('SessionEnd', { reason: 'other' });
    expect(orchJson(repository, ['status'])).toEqual({ epics: [], waiting: [], faults: [] });
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });

  it('stays the same session when its context is cleared, and gets the facts back when it is compacted', () => {
    const repository = makeRepositoryWithCommit();
    const { call, spend } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Begin' });
    spend(10_000);
    call('PreCompact', { trigger: 'manual' });
    const { checkpoints } = orchJson<{ checkpoints: { trigger: string }[] }>(repository, [
      'checkpoint',
      'list',
      'x',
    ]);
    expect(checkpoints[0]?.trigger).toBe('pre_compact');
    expect(call('SessionStart', { source: 'compact' }).hookSpecificOutput.additionalContext).toContain(
      'Begin',
    );
    call('SessionEnd', { reason: 'clear' });
    expect(call('SessionStart', { source: 'clear' }, 'agent-1-cleared')).toEqual({
      hookSpecificOutput: {
        hookEventName: 'SessionStart',
        additionalContext: 'orch: recording continues for x.',
      },
    });
    call('UserPromptSubmit', { prompt: 'Go on' }, 'agent-1-cleared');
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 1, status: 'running', costUsd: 0.15 });
  });

  it('has the budget that the config gives a new epic, and is told so', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('switch', '--quiet', '--create', 'feat/login');
    writeConfig(repository, 'budget: 1\n');
    const { call, spend } = makeAgent(repository);
    expect(call('SessionStart', { source: 'startup' })).toEqual({
      systemMessage: 'orch: feat-login (from the branch), session 1, $0.00 of $1.00.',
      hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: toolsLine },
    });
    call('UserPromptSubmit', { prompt: 'Spend it' });
    spend(100_000);
    expect(call('PostToolUse', wrote(repository, 'login.ts'))).toMatchObject({ continue: false });
  });

  it('is halted at its budget after a checkpoint, and stays so until a person raises it', () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['cost', 'budget', '1', '--epic', 'x']);
    const { call, spend } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x', ...processOfItsOwn() });
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Begin' });
    spend(56_000);
    expect(call('PostToolUse', wrote(repository, 'a'))).toEqual({
      systemMessage: 'orch: $0.84 of $1.00 is spent on x.',
    });
    spend(56_000);
    const { continue: goesOn, stopReason } = call('PostToolUse', wrote(repository, 'b'));
    expect({ goesOn, stopReason }).toEqual({
      goesOn: false,
      stopReason: expect.stringContaining('orch cost budget +10 -e x'),
    });
    const { checkpoint } = orchJson<{ checkpoint: { trigger: string } }>(repository, [
      'session',
      'status',
      '-e',
      'x',
    ]);
    expect(checkpoint.trigger).toBe('budget');
    expect(call('UserPromptSubmit', { prompt: 'Go on' })).toMatchObject({ decision: 'block' });
    expect(call('PreToolUse', { tool_name: 'Bash', tool_input: {} })).toMatchObject({
      continue: false,
      hookSpecificOutput: { permissionDecision: 'deny' },
    });
    expect(
      runOrch(repository, ['cost', 'budget', '+5', '-e', 'x'], { env: { CLAUDECODE: '1' } }).status,
    ).toBe(2);
    expect(runOrch(repository, ['cost', 'budget', '+5', '-e', 'x']).status).toBe(0);
    expect(call('UserPromptSubmit', { prompt: 'Go on' })).toEqual({
      systemMessage: expect.stringMatching(/^orch: x, session \d, \$1.68 of \$6.68\.$/),
    });
    expect(call('UserPromptSubmit', { prompt: 'And on' })).toBeNull();
    spend(10_000);
    call('Stop', { last_assistant_message: 'Done.' });
    expect(statusOf(repository, 'x').session).toMatchObject({ status: 'running', costUsd: 0.15 });
  });

  it('is blocked from its first prompt on where the budget is used up, even if that asks for nothing', () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['cost', 'budget', '1', '-e', 'x']);
    runOrch(repository, ['record', 'cost', '1', '-e', 'x']);
    const { call } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    call('SessionStart', { source: 'startup' });
    const spent =
      'orch: the budget of x is used up ($1.00 of $1.00). Everything is saved. To continue, a person has to run: orch cost budget +10 -e x';
    expect(call('UserPromptSubmit', { prompt: 'go on' })).toEqual({ decision: 'block', reason: spent });
  });

  it('goes on in a new session when the one it was in was ended by hand', () => {
    const repository = makeRepositoryWithCommit();
    const { call, spend } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Begin' });
    spend(10_000);
    expect(runOrch(repository, ['session', 'pause', '-e', 'x']).status).toBe(0);
    call('PostToolUse', wrote(repository, 'a'));
    spend(20_000);
    call('Stop', { last_assistant_message: 'Done.' });
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 2, status: 'running', costUsd: 0.3 });
    call('SessionEnd', { reason: 'other' });
    const { sessions } = orchJson<{ sessions: Status['session'][] }>(repository, ['session', 'list']);
    expect(sessions.map(({ number, status, costUsd }) => ({ number, status, costUsd }))).toEqual([
      { number: 2, status: 'paused', costUsd: 0.3 },
      { number: 1, status: 'paused', costUsd: 0.15 },
    ]);
  });

  it('is not billed to the branch it left', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('switch', '--quiet', '--create', 'feat/login');
    const { call, spend } = makeAgent(repository);
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Begin' });
    spend(10_000);
    repository.git('switch', '--quiet', '--create', 'hotfix');
    expect(call('UserPromptSubmit', { prompt: 'A hotfix' })).toEqual({
      systemMessage: 'orch: hotfix (from the branch), session 1, no budget.',
    });
    spend(20_000);
    call('Stop', { last_assistant_message: 'Mended.' });
    expect(statusOf(repository, 'feat-login').session).toMatchObject({ status: 'paused', costUsd: 0.15 });
    expect(statusOf(repository, 'hotfix').session).toMatchObject({ status: 'running', costUsd: 0.3 });
  });

  it('goes on where the last one on this branch was, though no branch names the epic', () => {
    const repository = makeRepositoryWithCommit();
    const told = (id: string) => {
      const { call } = makeAgent(repository, id);
      const { systemMessage, hookSpecificOutput } = call('SessionStart', { source: 'startup' });
      call('UserPromptSubmit', { prompt: `Asked of ${id}` });
      call('SessionEnd', { reason: 'other' });
      return { said: systemMessage, brief: hookSpecificOutput?.additionalContext };
    };
    const first = told('agent-1');
    expect(first.said).toMatch(
      /^orch: epic-\w{6} \(until your first request names it\), session 1, no budget\.$/,
    );
    const next = told('agent-2');
    expect(next.said).toBe(
      'orch: asked-of-agent-1 (the last one used on this branch), session 2, no budget.',
    );
    expect(next.brief).toContain('Asked of agent-1');
    repository.git('switch', '--quiet', '--create', 'feat/x');
    expect(told('agent-3').said).toContain('feat-x (from the branch), session 1');
    repository.git('switch', '--quiet', 'main');
    expect(told('agent-4').brief).toContain('Asked of agent-2');
  });

  it('is never disturbed, whatever is wrong', () => {
    const repository = makeRepositoryWithCommit();
    for (const input of ['', '{', '[]', '{"session_id":"x"}', 'x'.repeat(1_000_000)]) {
      const ran = runOrch(repository, ['hook', 'claude'], { input });
      expect(ran).toEqual({ status: 0, stdout: '', stderr: '' });
    }
    const { call } = makeAgent(repository);
    call('OfTheFuture');
    mkdirSync(join(repository.folder, '.orchestration'));
    writeFileSync(join(repository.folder, '.orchestration/config.yaml'), 'nonsense: 5\n');
    expect(call('SessionStart', { source: 'startup' })).toBeNull();
    const outside = runOrch(repository, ['hook', 'claude'], {
      cwd: repository.home,
      input: JSON.stringify({ session_id: 'x', cwd: repository.home, hook_event_name: 'SessionStart' }),
    });
    expect(outside).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});

describe('the context window of an agent', () => {
  const context = (repository: TestRepository) =>
    orchJson<{ context: { tier: string; tokens: number; madeRoom: string | null } | null }>(repository, [
      'session',
      'status',
      '-e',
      'x',
    ]).context;
  const triggers = (repository: TestRepository) =>
    orchJson<{ checkpoints: { trigger: string }[] }>(repository, ['checkpoint', 'list', 'x']).checkpoints.map(
      ({ trigger }) => trigger,
    );
  /** A message that was sent with so much in the window. */
  const fill = (transcript: string, id: string, tokens: number, more: object = {}) => {
    const usage = { input_tokens: 10, cache_read_input_tokens: tokens - 10, output_tokens: 1 };
    const message = { id, model: 'claude-sonnet-4-5', usage };
    appendFileSync(transcript, `${JSON.stringify({ type: 'assistant', requestId: id, message, ...more })}\n`);
  };

  it('is read from its transcript, saved once per crossing, and emptied by compacting and clearing', () => {
    const repository = makeRepositoryWithCommit();
    const { call, transcript } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Begin' });
    expect(context(repository)).toBeNull();
    fill(transcript, 'm-1', 120_000);
    fill(transcript, 'm-side', 190_000, { isSidechain: true });
    call('PostToolUse', wrote(repository, 'a'));
    expect(context(repository)).toEqual({
      tokens: 120_000,
      window: 200_000,
      fill: 0.6,
      tier: 'LOW',
      source: 'default',
      agentSession: 'agent-1',
      madeRoom: null,
    });
    expect(triggers(repository)).toEqual(['session_start']);
    fill(transcript, 'm-2', 164_000);
    call('PostToolUse', wrote(repository, 'b'));
    fill(transcript, 'm-3', 166_000);
    call('PostToolUse', wrote(repository, 'c'));
    expect(triggers(repository)).toEqual(['context_tier', 'session_start']);
    expect(runOrch(repository, ['session', 'status', '-e', 'x']).stdout).toContain(
      'CRITICAL 83% of 200000 tokens (assumed)',
    );
    expect(runOrch(repository, ['status']).stdout).toMatch(/CONTEXT[\s\S]* 83% /);
    const boundary = { type: 'system', subtype: 'compact_boundary', compactMetadata: { postTokens: 3_000 } };
    appendFileSync(transcript, `${JSON.stringify(boundary)}\n`);
    call('UserPromptSubmit', { prompt: 'Go on' });
    expect(context(repository)).toMatchObject({ tokens: 3_000, tier: 'NOMINAL', madeRoom: 'compaction' });
    const cleared = join(repository.home, 'cleared.jsonl');
    writeFileSync(cleared, '');
    call('SessionStart', { source: 'clear', transcript_path: cleared }, 'agent-1b');
    call('UserPromptSubmit', { prompt: 'Anew', transcript_path: cleared }, 'agent-1b');
    expect(context(repository)).toMatchObject({ tokens: 0, agentSession: 'agent-1b', madeRoom: 'clear' });
  });

  it('stops the agent where the user wants that, and lets the user go on', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, '.orchestration'));
    writeFileSync(
      join(repository.folder, '.orchestration/config.yaml'),
      'context: { window: 100000, critical: log, emergency: stop }\n',
    );
    const { call, transcript } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Begin' });
    fill(transcript, 'm-1', 85_000);
    expect(call('PostToolUse', wrote(repository, 'a'))).toBeNull();
    expect(triggers(repository)).toEqual(['session_start']);
    fill(transcript, 'm-2', 90_000);
    expect(call('PostToolUse', wrote(repository, 'b'))).toEqual({
      continue: false,
      stopReason: expect.stringContaining('90% full (EMERGENCY)'),
    });
    expect(triggers(repository)).toEqual(['context_tier', 'session_start']);
    expect(call('PreToolUse', { tool_name: 'Bash', tool_input: {} })).toMatchObject({
      hookSpecificOutput: { permissionDecision: 'deny' },
    });
    expect(call('UserPromptSubmit', { prompt: 'Hm' })).toBeNull();
  });
});

describe('an agent with a model that has no price', () => {
  const begin = () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['cost', 'budget', '1', '--epic', 'x']);
    const { call, transcript } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x', ...processOfItsOwn() });
    call('SessionStart', { source: 'startup' });
    const write = (line: object) => appendFileSync(transcript, `${JSON.stringify(line)}\n`);
    const spend = (id: string, output: number) => {
      const message = { id, model: 'claude-opus-99', usage: { input_tokens: 0, output_tokens: output } };
      write({ type: 'assistant', requestId: id, message });
    };
    /** What Claude Code writes at the end of a session. */
    const account = (outputTokens: number, costUSD: number) =>
      write({
        type: 'cost-state',
        sessionId: 'agent-1',
        modelUsage: { 'claude-opus-99': { inputTokens: 0, outputTokens, costUSD } },
      });
    const money = () => orchJson<{ budget: { spentUsd: number } }>(repository, ['cost', '-e', 'x']).budget;
    return { repository, call, spend, account, money };
  };

  it('goes on; it counts at the highest price of the family, which is said once and marked', () => {
    const { repository, call, spend, money } = begin();
    spend('m-1', 10_000);
    expect(call('UserPromptSubmit', { prompt: 'Begin' })).toEqual({
      systemMessage: expect.stringContaining('no price is known for claude-opus-99'),
    });
    expect(call('UserPromptSubmit', { prompt: 'Go on' })).toBeNull();
    // Twenty-five dollars a million.
    expect(money()).toMatchObject({ spentUsd: 0.25, estimatedUsd: 0.25, limitUsd: 1 });
    const shown = runOrch(repository, ['cost', '-e', 'x']).stdout;
    expect(shown).toMatch(/^spent +~\$0\.25\/\$1\.00/m);
    expect(shown).toMatch(/^estimated +\$0\.25 of it is a guess: the highest price/m);
    expect(shown).toMatch(/^unpriced +claude-opus-99 10000 tokens$/m);
    expect(runOrch(repository, ['cost', 'report', '-e', 'x']).stdout).toMatch(
      /^guessed, because no price is known: claude-opus-99 0\.25$/m,
    );
    // A budget is no longer refused for it.
    expect(runOrch(repository, ['cost', 'budget', '2', '-e', 'x']).status).toBe(0);
  });

  it.each([
    ['less', 0.1],
    ['more', 0.7],
  ])('is corrected when the agent’s own figure is %s', (_, costUsd) => {
    const { call, spend, account, money } = begin();
    spend('m-1', 10_000);
    call('UserPromptSubmit', { prompt: 'Begin' });
    account(10_000, costUsd);
    call('Stop');
    expect(money()).toMatchObject({ spentUsd: costUsd, estimatedUsd: costUsd });
    // What comes after the account is guessed again, until the next.
    spend('m-2', 4_000);
    call('Stop');
    expect(money().spentUsd).toBeCloseTo(costUsd + 0.1, 9);
    account(14_000, costUsd + 0.04);
    call('SessionEnd', { reason: 'other' });
    expect(money().spentUsd).toBeCloseTo(costUsd + 0.04, 9);
  });

  it('is stopped by its budget, and goes on once the guess proved too high', () => {
    const { call, spend, account, money } = begin();
    spend('m-1', 50_000);
    expect(call('UserPromptSubmit', { prompt: 'Begin' })).toMatchObject({
      decision: 'block',
      reason: expect.stringContaining('$1.25 of $1.00'),
    });
    account(50_000, 0.5);
    call('SessionEnd', { reason: 'other' });
    expect(money()).toMatchObject({ spentUsd: 0.5, level: 'ok' });
    call('SessionStart', { source: 'resume' });
    expect(call('UserPromptSubmit', { prompt: 'Go on' })).toBeNull();
  });
});
