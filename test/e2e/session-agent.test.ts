import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFakeAgent } from '../support/agents.ts';
import { orchBin, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import {
  isAlive,
  liveFiles,
  startSupervisor,
  statusOf,
  triggersOf,
  waitUntil,
} from '../support/supervised.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function trailerOf(repository: TestRepository, epic: string): string {
  const format = '--format=%(trailers:key=Orch-Agent,valueonly)';
  return repository.git('log', '-1', format, `orchestration/epics/${epic}`).trim();
}

/** What the newest checkpoint says of the agent. */
function agentOf(repository: TestRepository, epic: string): unknown {
  const ref = `orchestration/epics/${epic}`;
  const names = repository.git('ls-tree', '-r', '--name-only', ref).split('\n');
  const newest = names
    .filter((name) => name.endsWith('.json'))
    .sort()
    .at(-1);
  return JSON.parse(repository.git('show', `${ref}:${newest}`)).state.current.agent.value;
}

/** The conversation a start is about. */
function conversationOf(args: readonly string[] = []): string {
  return args.find((word) => /^--(?:session-id|resume)=/.test(word))?.replace(/^[^=]*=/, '') ?? '';
}

function spentOn(repository: TestRepository, epic: string): number {
  return statusOf(repository, epic).budget.spentUsd;
}

/** Fifteen dollars a million output tokens. */
describe('orch start -- claude', () => {
  it('names the conversation, meters it, and keeps its name in state and trailer', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 100000', 'print hello']);
    const ran = runOrch(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Go']);
    expect(ran).toMatchObject({ status: 0, stdout: 'hello\n' });
    const [args = []] = claude.starts();
    const conversation = conversationOf(args);
    expect(conversation).toMatch(uuid);
    expect(args).toEqual([`--session-id=${conversation}`, '-p', 'Go']);
    expect(spentOn(repository, 'x')).toBe(1.5);
    expect(trailerOf(repository, 'x')).toBe(`claude ${conversation.slice(0, 8)}`);
    expect(agentOf(repository, 'x')).toEqual({
      name: 'claude',
      session: conversation,
      model: 'claude-sonnet-4-5',
    });
    expect(readdirSync(join(repository.folder, '.git', 'orchestration', 'agents'))).toEqual([]);
  });

  it('stops it at the budget while it runs, with the checkpoint before, and exits 4', async () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 100000', 'hang']);
    const orch = startSupervisor(repository, [
      'start',
      '-e',
      'x',
      '-b',
      '1',
      '--',
      claude.program,
      '-p',
      'Go',
    ]);
    expect(await orch.ended).toBe(4);
    expect(orch.stderr()).toContain('Budget used up: $1.50 of $1.00');
    expect(orch.stderr()).toMatch(/Saved checkpoint \d+, then stopped claude/);
    expect(triggersOf(repository, 'x')).toContain('budget');
    expect(statusOf(repository, 'x').session.status).toBe('budget_exceeded');
  });

  it('exits 4 past the budget though the agent ended well before anybody looked', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 100000', 'exit 0']);
    expect(
      runOrch(repository, ['start', '-e', 'x', '-b', '1', '--', claude.program, '-p', 'Go']).status,
    ).toBe(4);
    expect(statusOf(repository, 'x').session.status).toBe('budget_exceeded');
  });

  it('goes on with the conversation, and bills only what is new', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 100000'], ['spend 200000'], ['spend 1000']);
    runOrch(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Begin']);
    const second = runOrch(repository, ['resume', '-e', 'x', '--', claude.program, '-p', 'Go on']);
    expect(second.stderr).toContain('claude continues its conversation');
    const [first = [], next] = claude.starts();
    expect(next).toEqual([`--resume=${conversationOf(first)}`, '-p', 'Go on']);
    expect(spentOn(repository, 'x')).toBe(4.5);
    const own = ['--resume', conversationOf(first), '-p', 'Again'];
    runOrch(repository, ['resume', '-e', 'x', '--', claude.program, ...own]);
    expect(claude.starts()[2]).toEqual(own);
    expect(spentOn(repository, 'x')).toBe(4.515);
  });

  it('begins a new conversation with the brief where the transcript is gone', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 1000'], ['spend 1000', 'brief']);
    runOrch(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Begin']);
    runOrch(repository, ['record', 'decision', 'Use tokens', '-e', 'x']);
    repository.git('-C', repository.home, 'init', '--quiet', 'elsewhere');
    const env = { CLAUDE_CONFIG_DIR: join(repository.home, 'elsewhere') };
    runOrch(repository, ['resume', '-e', 'x', '--', claude.program, '-p', 'Go on'], { env });
    const [, next = []] = claude.starts();
    const [hook = '', ...rest] = next;
    expect(hook).toMatch(/^--settings=.*"cat \\"\$ORCH_BRIEF_FILE\\""/);
    expect(next.join(' ')).not.toContain('Use tokens');
    expect(rest).toEqual([`--session-id=${conversationOf(next)}`, '-p', 'Go on']);
    const brief = readFileSync(join(claude.stage, 'brief'), 'utf8');
    expect(brief).toMatch(/^orch recorded this about earlier work on x\. .*\n\n> # Brief: x/);
    expect(brief).toContain('\n> **Decided:** Use tokens (s2)\n');
  });

  it.each([
    [['mcp', 'list']],
    [['--version']],
    [['-p', 'Go', '--session-id', 'aaaaaaaa-0000-4000-8000-000000000001']],
    [['--continue', '-p', 'Go']],
    [['-p', 'Go', '--no-session-persistence']],
  ])('leaves %j as it is', (args) => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['exit 0']);
    expect(runOrch(repository, ['start', '-e', 'x', '--', claude.program, ...args]).status).toBe(0);
    expect(claude.starts()).toEqual([args]);
  });

  it('touches no other command', () => {
    const repository = makeRepositoryWithCommit();
    const args = ['start', '-e', 'x', '--', 'echo', 'claude', '-p', 'Go'];
    expect(runOrch(repository, args).stdout).toBe('claude -p Go\n');
  });

  it('counts once what hooks see too', () => {
    const repository = makeRepositoryWithCommit();
    const hooks = [
      'hook SessionStart startup',
      'spend 100000',
      'hook PostToolUse',
      'spend 100000',
      'hook Stop',
    ];
    const claude = makeFakeAgent(
      repository,
      'claude',
      [...hooks, 'hook SessionEnd'],
      [...hooks, 'hook SessionEnd'],
    );
    const env = { ORCH_BIN: orchBin };
    runOrch(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Go'], { env });
    expect(spentOn(repository, 'x')).toBe(3);
    runOrch(repository, ['resume', '-e', 'x', '--', claude.program, '-p', 'Go'], { env });
    expect(spentOn(repository, 'x')).toBe(6);
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 2, status: 'paused' });
    // Each time the agent starts it is told of its tools, and nothing else.
    const told = readFileSync(join(claude.stage, 'hooks'), 'utf8').trimEnd().split('\n');
    expect(told.map((line) => JSON.parse(line).hookSpecificOutput.additionalContext)).toEqual([
      expect.stringMatching(/^orch records this session\. [^\n]*$/),
      expect.stringMatching(/^orch records this session\. [^\n]*$/),
    ]);
  });

  it('adds up the agents a script runs one after the other, by their hooks alone', () => {
    const repository = makeRepositoryWithCommit();
    const run = ['hook SessionStart startup', 'spend 100000', 'hook SessionEnd'];
    const claude = makeFakeAgent(repository, 'claude', run, run);
    const script = `"${claude.program}" --session-id one; "${claude.program}" --session-id two`;
    runOrch(repository, ['start', '-e', 'x', '--', 'sh', '-c', script], { env: { ORCH_BIN: orchBin } });
    expect(spentOn(repository, 'x')).toBe(3);
  });

  it('bills what a killed run had used, and goes on with its conversation', async () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 100000', 'hang'], ['spend 100000']);
    const orch = startSupervisor(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Begin']);
    await waitUntil(() => existsSync(join(claude.stage, 'hangs')));
    orch.signal('SIGKILL');
    await waitUntil(() => !isAlive(orch.pid));
    const ran = runOrch(repository, ['resume', '-e', 'x', '--', claude.program, '-p', 'Go on']);
    expect(ran.status).toBe(0);
    const [first = [], next = []] = claude.starts();
    expect(next[0]).toBe(`--resume=${conversationOf(first)}`);
    expect(spentOn(repository, 'x')).toBe(3);
    expect(liveFiles(repository)).toEqual([]);
  });
});

describe("a provider's limit", () => {
  it('is waited for, and the conversation goes on in the same session', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(
      repository,
      'claude',
      ['spend 100000', 'limit 2', 'exit 1'],
      ['spend 100000'],
    );
    const ran = runOrch(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Go']);
    expect(ran.status).toBe(0);
    expect(ran.stderr).toMatch(/usage limit: waiting until \d\d:\d\d/);
    const [first = [], next] = claude.starts();
    expect(next).toEqual([`--resume=${conversationOf(first)}`, '-p', 'Go']);
    expect(spentOn(repository, 'x')).toBe(3);
    expect(statusOf(repository, 'x').session).toMatchObject({ number: 1, status: 'paused' });
  });

  it('goes on under the id the user gave', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['limit 1', 'exit 1'], ['exit 0']);
    const id = 'aaaaaaaa-0000-4000-8000-000000000001';
    runOrch(repository, ['start', '-e', 'x', '--', claude.program, '--session-id', id, '-p', 'Go']);
    expect(claude.starts()[1]).toEqual([`--resume=${id}`, '-p', 'Go']);
  });

  it('is a failure where that is asked for', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['limit 1', 'exit 1'], ['exit 0']);
    const args = ['start', '-e', 'x', '--on-limit', 'fail', '--', claude.program, '-p', 'Go'];
    const ran = runOrch(repository, args);
    expect(ran.status).toBe(1);
    expect(ran.stderr).toContain(
      "claude ended with status 1, at its provider's limit: rate_limit: session 1 of x failed",
    );
    const reason = '--format=%(trailers:key=Orch-Reason,valueonly,unfold)';
    expect(repository.git('log', '-1', reason, 'orchestration/epics/x')).toContain("at its provider's limit");
    expect(statusOf(repository, 'x').session.status).toBe('failed');
    expect(claude.starts()).toHaveLength(1);
  });

  it('is refused by another name', () => {
    const repository = makeRepositoryWithCommit();
    const ran = runOrch(repository, ['start', '-e', 'x', '--on-limit', 'never', '--', 'true']);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toContain('it can be wait or fail');
  });

  it('can be cut short: the session is paused, not failed', async () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['limit -', 'exit 1']);
    const orch = startSupervisor(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Go']);
    await waitUntil(() => orch.stderr().includes('usage limit: waiting'));
    expect(statusOf(repository, 'x').session.status).toBe('running');
    orch.signal('SIGINT');
    expect(await orch.ended).toBe(130);
    expect(statusOf(repository, 'x').session.status).toBe('paused');
  });

  it('is not taken from an earlier turn: another failure is one', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['limit 1', 'spend 10', 'exit 1'], ['exit 0']);
    expect(runOrch(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Go']).status).toBe(1);
  });

  it('of Codex too', () => {
    const repository = makeRepositoryWithCommit();
    const codex = makeFakeAgent(repository, 'codex', ['limit 2', 'exit 1'], ['exit 0']);
    expect(runOrch(repository, ['start', '-e', 'x', '--', codex.program, 'exec', 'Go']).status).toBe(0);
    expect(codex.starts()[1]).toEqual(['exec', 'resume', expect.stringMatching(/^bbbbbbbb-/), 'Go']);
  });
});

describe('orch start -- codex', () => {
  it('finds its rollout, meters it while it runs, and stops it at the budget', async () => {
    const repository = makeRepositoryWithCommit();
    const codex = makeFakeAgent(repository, 'codex', ['spend 100000', 'hang']);
    const orch = startSupervisor(repository, [
      'start',
      '-e',
      'x',
      '-b',
      '1',
      '--',
      codex.program,
      'exec',
      'Go',
    ]);
    expect(await orch.ended).toBe(4);
    expect(codex.starts()).toEqual([['exec', 'Go']]);
    expect(trailerOf(repository, 'x')).toBe('codex bbbbbbbb');
  });

  it('is not stopped by a model without a price, but by the budget, at the highest price of the family', async () => {
    const repository = makeRepositoryWithCommit();
    const codex = makeFakeAgent(repository, 'codex', ['spend 10000'], ['spend 100000', 'hang']);
    const env = { FAKE_MODEL: 'gpt-99' };
    const args = ['-e', 'x', '-b', '1', '--', codex.program, 'exec', 'Go'];
    const first = runOrch(repository, ['start', ...args], { env });
    expect(first.status).toBe(0);
    expect(first.stderr.match(/no price is known for gpt-99/g)).toHaveLength(1);
    // Thirty dollars a million, as GPT-5.5 costs.
    expect(statusOf(repository, 'x').budget).toMatchObject({ spentUsd: 0.3, estimatedUsd: 0.3 });
    const orch = startSupervisor(repository, ['start', ...args.slice(0, 2), ...args.slice(4)], { env });
    expect(await orch.ended).toBe(4);
    expect(orch.stderr()).not.toContain('no price is known');
    expect(statusOf(repository, 'x')).toMatchObject({
      session: { status: 'budget_exceeded' },
      budget: { spentUsd: 3.3 },
    });
  });

  it('goes on with its conversation', () => {
    const repository = makeRepositoryWithCommit();
    const codex = makeFakeAgent(repository, 'codex', ['exit 0'], ['exit 0']);
    runOrch(repository, ['start', '-e', 'x', '--', codex.program, 'exec', '--json', 'Go']);
    runOrch(repository, ['resume', '-e', 'x', '--', codex.program, 'exec', '--json', 'Go on']);
    expect(codex.starts()[1]).toEqual([
      'exec',
      '--json',
      'resume',
      expect.stringMatching(/^bbbbbbbb-/),
      'Go on',
    ]);
  });

  it("goes on with Claude's work: the brief is before its prompt", () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 1000']);
    const codex = makeFakeAgent(repository, 'codex', ['exit 0'], ['exit 0']);
    runOrch(repository, ['start', '-e', 'x', '--', claude.program, '-p', 'Begin']);
    runOrch(repository, ['record', 'decision', 'Use tokens', '-e', 'x']);
    runOrch(repository, ['resume', '-e', 'x', '--', codex.program, 'exec', '-m', 'o3', 'Go on']);
    const [[exec, flag, model, prompt] = []] = codex.starts();
    expect([exec, flag, model]).toEqual(['exec', '-m', 'o3']);
    expect(prompt).toMatch(/\n> .*Use tokens[\s\S]*\n\nGo on$/);
    const later = runOrch(repository, ['resume', '-e', 'y', '--', codex.program, 'exec', '-'], {});
    expect(later.status).not.toBe(0); // there is no such epic
    expect(readFileSync(join(codex.stage, 'run-0'), 'utf8')).toContain('Go on');
  });
});
