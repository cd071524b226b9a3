import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFakeAgent } from '../support/agents.ts';
import { makeAgent, processOfItsOwn, wrote } from '../support/hooked-agent.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { makeHub } from '../support/remotes.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/* Which epic the work of an agent is in, where nobody named one. */

type Epic = {
  epicId: string;
  session: { number: number; status: string; parentSessionId: string | null };
  budget: { spentUsd: number; limitUsd: number | null };
};

const epicsOf = (repository: TestRepository) => orchJson<{ epics: Epic[] }>(repository, ['status']).epics;
const namesOf = (repository: TestRepository) => epicsOf(repository).map(({ epicId }) => epicId);

/** An agent that was asked for something on the default branch, and has used a dollar and a half. */
function makeAsked(repository: TestRepository, prompt = 'Make login redirect') {
  const agent = makeAgent(repository, 'agent-1');
  agent.call('SessionStart', { source: 'startup' });
  agent.call('UserPromptSubmit', { prompt });
  agent.spend(100_000);
  agent.call('Stop', { last_assistant_message: 'It redirects.' });
  return agent;
}

/** A branch that was made long before. */
function makeOldBranch(repository: TestRepository, branch: string): void {
  repository.git('branch', branch);
  const made = `${'0'.repeat(40)} ${repository.git('rev-parse', 'HEAD').trim()} n <e> 1700000000 +0000`;
  repository.write(`.git/logs/refs/heads/${branch}`, `${made}\tbranch: Created from HEAD\n`);
}

describe('on a default branch', () => {
  it('an epic is named after the first request, and the user is told', () => {
    const repository = makeRepositoryWithCommit();
    const { call } = makeAgent(repository);
    expect(call('SessionStart', { source: 'startup' }).systemMessage).toMatch(
      /^orch: epic-\w{6} \(until your first request names it\), session 1, no budget\.$/,
    );
    expect(call('UserPromptSubmit', { prompt: 'Make login redirect to /home' })).toEqual({
      systemMessage: 'orch: make-login-redirect-to-home (named after the request), session 1, no budget.',
    });
    expect(namesOf(repository)).toEqual(['make-login-redirect-to-home']);
    expect(call('UserPromptSubmit', { prompt: 'And write tests for it' })).toBe(null);
    expect(namesOf(repository)).toEqual(['make-login-redirect-to-home']);
    call('SessionEnd', { reason: 'other' });
    // What was used last on a branch comes before a new name.
    const second = makeAgent(repository, 'agent-2');
    expect(second.call('SessionStart', { source: 'startup' }).systemMessage).toContain(
      'make-login-redirect-to-home (the last one used on this branch), session 2',
    );
  });

  it('what asks for nothing names nothing, until something is asked for', () => {
    const repository = makeRepositoryWithCommit();
    const { call, spend } = makeAgent(repository, 'agent-1', processOfItsOwn());
    call('SessionStart', { source: 'startup' });
    const [before = ''] = namesOf(repository);
    expect(runOrch(repository, ['cost', 'budget', '5', '-e', before]).status).toBe(0);
    call('UserPromptSubmit', { prompt: 'hello' });
    spend(100_000);
    call('Stop', { last_assistant_message: 'Hello. What is to be done?' });
    expect(namesOf(repository)).toEqual([before]);
    const said = call('UserPromptSubmit', { prompt: 'Make login redirect to the start page, please' });
    expect(said.systemMessage).toContain('orch: make-login-redirect-to-the ');
    expect(epicsOf(repository)).toMatchObject([
      {
        epicId: 'make-login-redirect-to-the',
        session: { number: 2, status: 'running' },
        budget: { spentUsd: 1.5, limitUsd: 5 },
      },
    ]);
    expect(runOrch(repository, ['checkpoint', 'verify']).status).toBe(0);
  });

  it('two agents that are asked the same at once have an epic each', async () => {
    const repository = makeRepositoryWithCommit();
    const agents = ['one', 'two', 'three'].map((id) => makeAgent(repository, id));
    for (const agent of agents) agent.call('SessionStart', { source: 'startup' });
    const prompts = ['one', 'two', 'three'].map((session_id) => {
      const child = spawn(process.execPath, [orchBin, 'hook', 'claude'], {
        env: cleanEnvironment(repository.home, { CLAUDE_PID: String(process.pid) }),
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const input = { session_id, cwd: repository.folder, hook_event_name: 'UserPromptSubmit' };
      child.stdin.end(JSON.stringify({ ...input, prompt: 'Make login redirect' }));
      return once(child, 'exit');
    });
    await Promise.all(prompts);
    const names = ['make-login-redirect', 'make-login-redirect-2', 'make-login-redirect-3'];
    expect(namesOf(repository).sort()).toEqual(names);
    // Each stays where it is, whichever was used last.
    for (const agent of agents) agent.call('UserPromptSubmit', { prompt: 'And the tests' });
    expect(namesOf(repository).sort()).toEqual(names);
  });

  it('a supervised agent has its epic named after the prompt of its command line', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['exit 0'], ['exit 0']);
    const codex = makeFakeAgent(repository, 'codex', ['exit 0']);
    const ran = runOrch(repository, [
      'start',
      '--',
      claude.program,
      '-p',
      'Make login redirect',
      '--verbose',
    ]);
    expect(ran).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('make-login-redirect (named after the request)'),
    });
    const other = makeRepositoryWithCommit();
    const run = ['start', '--', codex.program, 'exec', '--json', 'Write a parser'];
    expect(runOrch(other, run, { env: { HOME: repository.home } }).stderr).toContain('write-a-parser');
    const bare = makeRepositoryWithCommit();
    const started = runOrch(bare, ['start', '--', claude.program, '-c'], { env: { HOME: repository.home } });
    expect(started.stderr).toMatch(/epic-\w{6} \(made up; name it yourself with --epic\)/);
  });
});

describe('an agent that makes a branch for its work', () => {
  it('takes session, history, costs and budget along to the epic of the branch', () => {
    const repository = makeRepositoryWithCommit();
    const { call, spend } = makeAsked(repository);
    runOrch(repository, ['record', 'decision', 'Server sessions', '-e', 'make-login-redirect']);
    runOrch(repository, ['cost', 'budget', '4', '-e', 'make-login-redirect']);
    repository.git('switch', '--quiet', '--create', 'feat/login');
    spend(100_000);
    const said = call('UserPromptSubmit', { prompt: 'Now the tests' });
    expect(said.systemMessage).toBe('orch: feat-login (from the branch), session 2, $3.00 of $4.00.');
    const [epic, ...others] = epicsOf(repository);
    expect(others).toEqual([]);
    expect(epic).toMatchObject({
      epicId: 'feat-login',
      session: { number: 2, status: 'running', parentSessionId: expect.stringMatching(/^sess-/) },
      budget: { spentUsd: 3, limitUsd: 4 },
    });
    const brief = runOrch(repository, ['brief', '-e', 'feat-login']).stdout;
    for (const text of ['Make login redirect', 'Now the tests', 'Server sessions', 'It redirects.'])
      expect(brief).toContain(text);
    const { checkpoints } = orchJson<{ checkpoints: { epicId: string; sessionNumber: number }[] }>(
      repository,
      ['checkpoint', 'list', '-e', 'feat-login'],
    );
    expect(new Set(checkpoints.map(({ epicId }) => epicId))).toEqual(new Set(['feat-login']));
    expect(checkpoints.at(-1)?.sessionNumber).toBe(1);
    expect(runOrch(repository, ['checkpoint', 'verify']).status).toBe(0);
    expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(repository.git('for-each-ref', '--format=%(refname)')).not.toContain('make-login-redirect');
    // Code that was saved before is found under the new name.
    call('PostToolUse', wrote(repository, 'a'));
    expect(runOrch(repository, ['diff', '1', '-e', 'feat-login']).status).toBe(0);
    spend(100_000);
    expect(call('PreToolUse', { tool_name: 'Bash', tool_input: {} })).toMatchObject({ continue: false });
    expect(epicsOf(repository)[0]?.budget.spentUsd).toBe(4.5);
  });

  it('has it there as soon as its turn is over', () => {
    const repository = makeRepositoryWithCommit();
    const { call, spend } = makeAgent(repository, 'agent-1');
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Make login redirect' });
    repository.git('switch', '--quiet', '--create', 'feat/login');
    spend(100_000);
    expect(call('Stop', { last_assistant_message: 'It redirects.' })).toBe(null);
    expect(epicsOf(repository)).toMatchObject([
      { epicId: 'feat-login', session: { number: 2, status: 'running' }, budget: { spentUsd: 1.5 } },
    ]);
    expect(call('UserPromptSubmit', { prompt: 'Now the tests' })).toBe(null);
    call('SessionEnd', { reason: 'other' });
    const { sessions } = orchJson<{ sessions: object[] }>(repository, ['session', 'list']);
    expect(sessions).toMatchObject([
      { number: 2, epicId: 'feat-login', status: 'paused' },
      { number: 1, epicId: 'feat-login', status: 'paused', costUsd: 1.5 },
    ]);
  });

  it('leaves it there when it ends, and the next one on the branch goes on from it', () => {
    const repository = makeRepositoryWithCommit();
    const { call, spend } = makeAsked(repository);
    repository.git('switch', '--quiet', '--create', 'feat/login');
    spend(100_000);
    call('SessionEnd', { reason: 'other' });
    expect(epicsOf(repository)).toMatchObject([{ epicId: 'feat-login', budget: { spentUsd: 3 } }]);
    const next = makeAgent(repository, 'agent-2').call('SessionStart', { source: 'startup' });
    expect(next.hookSpecificOutput.additionalContext).toContain('Make login redirect');
    expect(next.systemMessage).toContain('feat-login (from the branch), session 2, $3.00 spent');
  });

  it.each([
    [
      'the branch was there before',
      (repository: TestRepository) => makeOldBranch(repository, 'feat-old'),
      'feat-old',
    ],
    [
      'the epic of the branch is there already',
      (repository: TestRepository) => void runOrch(repository, ['record', 'note', 'Hi', '-e', 'feat-new']),
      'feat-new',
    ],
    [
      'another agent works on the epic too',
      (repository: TestRepository) => {
        const other = makeAgent(repository, 'agent-2', processOfItsOwn());
        other.call('SessionStart', { source: 'startup' });
        other.call('UserPromptSubmit', { prompt: 'Help with it' });
      },
      'feat-new',
    ],
    [
      'the epic was sent to others',
      (repository: TestRepository) => {
        repository.git('remote', 'add', 'origin', makeHub().url);
        expect(runOrch(repository, ['sync', '-y', '-e', 'make-login-redirect']).status).toBe(0);
      },
      'feat-new',
    ],
  ])('begins a session there and takes nothing along where %s', (_, prepare, branch) => {
    const repository = makeRepositoryWithCommit();
    const { call, spend } = makeAsked(repository);
    prepare(repository);
    const isThere =
      repository.tryGit('rev-parse', '--verify', '--quiet', `refs/heads/${branch}`).status === 0;
    repository.git('switch', '--quiet', ...(isThere ? [] : ['--create']), branch);
    call('UserPromptSubmit', { prompt: 'Now the tests' });
    spend(100_000);
    call('Stop', { last_assistant_message: 'Done.' });
    const spent = Object.fromEntries(
      epicsOf(repository).map(({ epicId, budget }) => [epicId, budget.spentUsd]),
    );
    expect(spent).toEqual({ 'make-login-redirect': 1.5, [branch]: 1.5 });
  });
});

it('a second agent in the folder is told of the first, and status shows both', () => {
  const repository = makeRepositoryWithCommit();
  makeAsked(repository);
  const second = makeAgent(repository, 'agent-2', processOfItsOwn());
  const context = second.call('SessionStart', { source: 'startup' }).hookSpecificOutput.additionalContext;
  expect(context.split('\n').at(-1)).toBe(
    'orch: another agent is working in this folder: claude (session 1 of make-login-redirect). Changes you did not make may be its work; do not undo them.',
  );
  const rows = runOrch(repository, ['status'])
    .stdout.split('\n')
    .filter((row) => row.includes('claude s'));
  expect(rows).toEqual([expect.stringContaining('claude s1'), expect.stringContaining('claude s2')]);
  // Compacted, it still knows; and one in another folder is not told at all.
  const linked = join(repository.home, 'linked');
  repository.git('worktree', 'add', '--quiet', '-b', 'feat/b', linked);
  const third = makeAgent(repository, 'agent-3', processOfItsOwn());
  const elsewhere = third.call('SessionStart', { source: 'startup', cwd: linked });
  expect(JSON.stringify(elsewhere)).not.toContain('another agent');
});
