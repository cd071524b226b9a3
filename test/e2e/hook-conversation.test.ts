import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { makeFakeAgent } from '../support/agents.ts';
import { makeAgent, wrote } from '../support/hooked-agent.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/* A conversation of an agent is in one session at a time, so that nothing of it is billed to two. */

const processes: ChildProcess[] = [];

afterEach(() => {
  for (const child of processes.splice(0)) child.kill('SIGKILL');
});

/** An agent whose process can be killed, and started again with the same conversation. */
function makeMortal(repository: TestRepository, id: string) {
  const env = { CLAUDE_PID: '' };
  const agent = makeAgent(repository, id, env);
  let child: ChildProcess | null = null;
  const begin = () => {
    child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    processes.push(child);
    env.CLAUDE_PID = String(child.pid);
  };
  return {
    ...agent,
    start(source: 'startup' | 'resume', fields: object = {}) {
      begin();
      return agent.call('SessionStart', { source, ...fields });
    },
    begin,
    async kill() {
      const ended = child && once(child, 'exit');
      child?.kill('SIGKILL');
      await ended;
    },
  };
}

type Status = { session: { number: number; status: string; costUsd: number }; budget: { spentUsd: number } };

const statusOf = (repository: TestRepository, epic: string) =>
  orchJson<Status>(repository, ['session', 'status', '--epic', epic]);

const linksOf = ({ folder }: TestRepository) =>
  readdirSync(join(folder, '.git', 'orchestration', 'agents')).filter((name) => name.endsWith('.json'));

it('has one session though the first hooks of it come at once', async () => {
  const repository = makeRepositoryWithCommit();
  const env = { ORCH_EPIC: 'x' };
  const { call, spend, transcript } = makeAgent(repository, 'agent-1', env);
  const input = JSON.stringify({
    session_id: 'agent-1',
    transcript_path: transcript,
    cwd: repository.folder,
    hook_event_name: 'PostToolUse',
    ...wrote(repository, 'a'),
  });
  const hooks = Array.from({ length: 6 }, () => {
    const child = spawn(process.execPath, [orchBin, 'hook', 'claude'], {
      env: cleanEnvironment(repository.home, { CLAUDE_PID: String(process.pid), ...env }),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.stdin.end(input);
    return once(child, 'exit');
  });
  await Promise.all(hooks);
  expect(linksOf(repository)).toHaveLength(1);
  spend(100_000);
  call('Stop', { last_assistant_message: 'Done.' });
  call('SessionEnd', { reason: 'other' });
  makeAgent(repository, 'agent-2', env).call('SessionStart', { source: 'startup' });
  expect(statusOf(repository, 'x')).toMatchObject({
    // The one that was just started waits for its first prompt.
    session: { number: 2, status: 'running' },
    budget: { spentUsd: 1.5 },
  });
  const { sessions } = orchJson<{ sessions: object[] }>(repository, ['session', 'list']);
  expect(sessions).toMatchObject([{ number: 2 }, { number: 1, status: 'paused' }]);
});

it('is forgotten by sessions that died before anything happened in them', async () => {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/a');
  const { call, spend, start, kill } = makeMortal(repository, 'agent-1');
  start('startup');
  call('UserPromptSubmit', { prompt: 'Begin' });
  spend(100_000);
  for (let round = 0; round < 4; round++) {
    await kill();
    start('resume');
  }
  expect(linksOf(repository)).toHaveLength(1);
  call('UserPromptSubmit', { prompt: 'Go on' });
  spend(100_000);
  call('Stop', { last_assistant_message: 'Done.' });
  makeAgent(repository, 'agent-2').call('SessionStart', { source: 'startup' });
  call('UserPromptSubmit', { prompt: 'And on' });
  expect(statusOf(repository, 'feat-a')).toMatchObject({
    session: { number: 2, status: 'running', costUsd: 1.5 },
    budget: { spentUsd: 3 },
  });
});

it('says when it goes on what was recovered of the session that died in it', async () => {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/a');
  const { call, spend, start, kill } = makeMortal(repository, 'agent-1');
  start('startup');
  call('UserPromptSubmit', { prompt: 'Begin' });
  spend(100_000);
  call('Stop', { last_assistant_message: 'Done.' });
  await kill();
  repository.write('README', 'torn\n');
  expect(start('resume').systemMessage).toMatch(
    /^orch: feat-a \(from the branch\), session 2, \$1\.50 spent, no budget\. Session 1 was interrupted \d+s ago: \d events? recovered\. 1 file on disk differs/,
  );
  // Elsewhere the number would be another session's.
  await kill();
  repository.git('switch', '--quiet', '--create', 'feat/b');
  expect(start('resume').systemMessage).toBe('orch: feat-b (from the branch), session 1, no budget.');
});

it('keeps its session where its process is another and nobody heard that start', async () => {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/a');
  const { call, spend, start, begin, kill } = makeMortal(repository, 'agent-1');
  start('startup');
  call('UserPromptSubmit', { prompt: 'Begin' });
  await kill();
  begin();
  call('UserPromptSubmit', { prompt: 'Go on' });
  expect(statusOf(repository, 'feat-a').session).toMatchObject({ number: 1, status: 'running' });
  makeAgent(repository, 'agent-2').call('SessionStart', { source: 'startup' });
  spend(100_000);
  call('Stop', { last_assistant_message: 'Done.' });
  expect(statusOf(repository, 'feat-a').session).toMatchObject({
    number: 1,
    status: 'running',
    costUsd: 1.5,
  });
});

it('is billed to the session it goes on in, not to the one that died in it on another branch', async () => {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/a');
  const { call, spend, start, kill } = makeMortal(repository, 'agent-1');
  start('startup');
  call('UserPromptSubmit', { prompt: 'Begin' });
  spend(100_000);
  await kill();
  repository.git('switch', '--quiet', '--create', 'feat/b');
  start('resume');
  call('UserPromptSubmit', { prompt: 'Go on' });
  spend(200_000);
  call('Stop', { last_assistant_message: 'Done.' });
  repository.git('switch', '--quiet', 'feat/a');
  makeAgent(repository, 'agent-2').call('SessionStart', { source: 'startup' });
  expect(statusOf(repository, 'feat-a').budget.spentUsd).toBe(1.5);
  expect(statusOf(repository, 'feat-b').budget.spentUsd).toBe(3);
});

it('is billed to the supervised session it goes on in, not to the hooked one that died in it', async () => {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/a');
  const claude = makeFakeAgent(repository, 'claude', ['spend 200000']);
  const id = 'aaaaaaaa-0000-4000-8000-000000000000';
  const name = repository.folder.replace(/[^a-zA-Z0-9]/g, '-');
  const transcript_path = join(repository.home, '.claude', 'projects', name, `${id}.jsonl`);
  const { call, spend, transcript, start, kill } = makeMortal(repository, id);
  mkdirSync(dirname(transcript_path), { recursive: true });
  symlinkSync(transcript, transcript_path);
  start('startup', { transcript_path });
  call('UserPromptSubmit', { prompt: 'Begin', transcript_path });
  spend(100_000);
  await kill();
  const again = ['start', '-e', 'b', '--', claude.program, '--resume', id, '-p', 'Go on'];
  expect(runOrch(repository, again).status).toBe(0);
  makeAgent(repository, 'agent-2').call('SessionStart', { source: 'startup' });
  expect(statusOf(repository, 'feat-a').budget.spentUsd).toBe(1.5);
  expect(statusOf(repository, 'b').budget.spentUsd).toBe(3);
});

it('counts only its own messages where it forks another conversation, whose messages its file repeats', () => {
  const repository = makeRepositoryWithCommit();
  const env = { ORCH_EPIC: 'x' };
  const parent = makeAgent(repository, 'parent', env);
  parent.call('SessionStart', { source: 'startup' });
  const lineOf = (id: string, output: number, at: number) => {
    const message = { id, model: 'claude-sonnet-4-5', usage: { input_tokens: 0, output_tokens: output } };
    const timestamp = new Date(at).toISOString();
    return `${JSON.stringify({ type: 'assistant', requestId: id, timestamp, message })}\n`;
  };
  const repeated = lineOf('m-1', 100_000, Date.now());
  appendFileSync(parent.transcript, repeated);
  parent.call('UserPromptSubmit', { prompt: 'Begin' });
  parent.call('SessionEnd', { reason: 'other' });
  expect(statusOf(repository, 'x').budget.spentUsd).toBe(1.5);

  // Its file is there only once it was asked something.
  const fork = makeAgent(repository, 'fork', env);
  rmSync(fork.transcript);
  fork.call('SessionStart', { source: 'fork' });
  writeFileSync(fork.transcript, repeated);
  fork.call('UserPromptSubmit', { prompt: 'Another way' });
  expect(statusOf(repository, 'x').budget.spentUsd).toBe(1.5);
  appendFileSync(fork.transcript, lineOf('m-2', 10_000, Date.now() + 1_000));
  fork.call('Stop');
  expect(statusOf(repository, 'x').budget.spentUsd).toBe(1.65);
  // What it says of itself at the end is of both.
  const modelUsage = { 'claude-sonnet-4-5': { inputTokens: 0, outputTokens: 110_000, costUSD: 1.65 } };
  appendFileSync(
    fork.transcript,
    `${JSON.stringify({ type: 'cost-state', sessionId: 'fork', modelUsage })}\n`,
  );
  fork.call('SessionEnd', { reason: 'other' });
  expect(statusOf(repository, 'x').budget.spentUsd).toBe(1.65);
});
