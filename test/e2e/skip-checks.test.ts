import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeCalmAgent } from '../support/calm-agent.ts';
import { wrote } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { writeConfig } from '../support/supervised.ts';

type Known = {
  files: Record<string, { value: { change: string } }>;
  issues: Record<string, { value: { title: string; status: string } }>;
  decisions: Record<string, { value: { text: string } }>;
  current: { testState?: { value: { failed: number } }; approvedPlan?: { value: { text: string } } };
};

/** What is known of the epic now, in a checkpoint. */
function know(repository: TestRepository): Known {
  expect(runOrch(repository, ['checkpoint', 'create', '-e', 'x']).status).toBe(0);
  return orchJson<{ document: { state: Known } }>(repository, ['checkpoint', 'show', '-e', 'x']).document
    .state;
}

const spentOn = (repository: TestRepository) =>
  orchJson<{ budget: { spentUsd: number } }>(repository, ['session', 'status', '-e', 'x']).budget.spentUsd;

/** Uses of tools that tell all there is to tell. */
function workOn({ use, edit }: ReturnType<typeof makeCalmAgent>): void {
  edit('login.ts', 1_000);
  use('Bash', { command: 'npm test' }, 'Exit code 1\n      Tests  1 failed | 12 passed (13)');
  use('TaskCreate', { subject: 'The redirect' }, { task: { id: '1', subject: 'The redirect' } });
  use('TaskUpdate', { taskId: '1', status: 'completed' }, { success: true, taskId: '1' });
  use(
    'ExitPlanMode',
    { plan: '# Sessions on the server' },
    { plan: '# Sessions on the server', isAgent: false },
  );
  use('AskUserQuestion', { questions: [] }, { questions: [], answers: { 'Which cookie?': 'HttpOnly' } });
}

function expectAll(known: Known): void {
  expect(known.files['login.ts']?.value.change).toBe('added');
  expect(known.current.testState?.value.failed).toBe(1);
  expect(known.current.approvedPlan?.value.text).toBe('# Sessions on the server');
  expect(Object.values(known.issues).map(({ value }) => [value.title, value.status])).toEqual([
    ['The redirect', 'done'],
  ]);
  const decisions = Object.values(known.decisions).map(({ value }) => value.text);
  expect(decisions.sort()).toEqual(['HttpOnly', 'the plan “Sessions on the server”']);
}

describe('tool calls of an agent without a budget', () => {
  it.each(['sh', 'bash'])(
    'start no orch with %s, and all that was done is recorded when the turn ends',
    (shell) => {
      const repository = makeRepositoryWithCommit();
      const agent = makeCalmAgent(repository, 'conversation-1', { shell });
      agent.begin();
      expect(agent.started()).toEqual(['SessionStart', 'UserPromptSubmit']);
      workOn(agent);
      expect(agent.started()).toEqual([]);
      expect(spentOn(repository)).toBe(0);
      agent.run('Stop', { last_assistant_message: 'Done.' });
      expect(spentOn(repository)).toBe(0.015);
      expectAll(know(repository));
    },
  );

  it('are recorded once, though a hook and the transcript both tell of them', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.lapse('far');
    agent.edit('a.ts');
    expect(agent.started()).toEqual(['SessionStart', 'UserPromptSubmit', 'PreToolUse']);
    agent.lapse('far');
    const { mark } = agent.edit('b.ts');
    agent.lapse('far');
    // As if the transcript were behind: the hook tells it first.
    const tool = {
      tool_name: 'Write',
      tool_input: { file_path: join(repository.folder, 'c.ts'), content: '' },
    };
    agent.run('PostToolUse', { ...tool, tool_response: { type: 'create' }, tool_use_id: `${mark}-c` });
    const call = { type: 'tool_use', id: `${mark}-c`, name: tool.tool_name, input: tool.tool_input };
    const usage = { input_tokens: 0, output_tokens: 0 };
    agent.write({ type: 'assistant', message: { id: 'm-c', content: [call], usage } });
    const content = [{ type: 'tool_result', tool_use_id: `${mark}-c`, content: '' }];
    agent.write({ type: 'user', message: { content }, toolUseResult: { type: 'create' } });
    agent.run('Stop', { last_assistant_message: 'Done.' });
    const journals = join(repository.folder, '.git', 'orchestration', 'journal');
    const lines = readdirSync(journals).flatMap((name) =>
      readFileSync(join(journals, name), 'utf8').split('\n'),
    );
    const told = lines.filter((line) => line.includes('"kind":"file"'));
    expect(told.map((line) => JSON.parse(line).fact.path)).toEqual(['a.ts', 'b.ts', 'c.ts']);
  });

  it('are not lost when the agent is killed in the middle of a turn: the next session knows them', async () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    workOn(agent);
    process.kill(agent.pid, 'SIGKILL');
    const next = makeCalmAgent(repository, 'conversation-2');
    const { systemMessage, hookSpecificOutput } = next.run('SessionStart', { source: 'startup' });
    expect(systemMessage).toMatch(/Session 1 was interrupted .* ago: \d+ events recovered\./);
    for (const known of ['Sessions on the server', 'HttpOnly', '1 of 13 tests failed'])
      expect(hookSpecificOutput.additionalContext).toContain(known);
    expectAll(know(repository));
    expect(spentOn(repository)).toBe(0.015);
    // Doing it again finds nothing more.
    const events = orchJson<{ checkpoints: unknown[] }>(repository, ['checkpoint', 'list', 'x', '--all']);
    makeCalmAgent(repository, 'conversation-3').run('SessionStart', { source: 'startup' });
    expect(orchJson(repository, ['checkpoint', 'list', 'x', '--all'])).toEqual(events);
  });

  it('are looked at beside the agent every few seconds, which does not wait for it', async () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.edit('a.ts', 1_000);
    agent.started();
    agent.lapse('due');
    expect(agent.edit('b.ts').before).toBeNull();
    await expect.poll(() => spentOn(repository), { timeout: 20_000 }).toBe(0.015);
    agent.edit('c.ts');
    expect(agent.started()).toEqual(['PreToolUse']);
  });

  it('begin nothing where the look beside the agent comes after its end', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.edit('a.ts');
    agent.run('Stop', { last_assistant_message: 'Done.' });
    agent.run('SessionEnd', { reason: 'other' });
    const sessions = orchJson(repository, ['session', 'list']);
    agent.run('PostToolUse', wrote(repository, 'b.ts'), { ORCH_ASIDE: '1' });
    expect(orchJson(repository, ['session', 'list'])).toEqual(sessions);
    expect(readdirSync(join(repository.folder, '.git', 'orchestration', 'calm'))).toEqual([]);
  });

  it('of helpers start no orch either while the agent itself waits for a prompt', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.run('Stop', { last_assistant_message: 'A helper is at it.' });
    agent.started();
    agent.edit('a.ts');
    expect(agent.started()).toEqual([]);
  });

  it('tell the user at the next call what a look beside the agent found', async () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    const usage = { input_tokens: 0, output_tokens: 1_000 };
    agent.write({ type: 'assistant', message: { id: 'm-1', model: 'claude-opus-9', usage } });
    agent.lapse('due');
    expect(agent.edit('a.ts')).toMatchObject({ before: null, after: null });
    await expect.poll(() => spentOn(repository), { timeout: 20_000 }).toBe(0.025);
    await expect
      .poll(() => agent.edit('b.ts').before?.systemMessage, { timeout: 20_000 })
      .toMatch(/^orch: .*claude-opus-9/);
    expect(agent.edit('c.ts').before).toBeNull();
  });

  it('are looked at before they run when the last look was too long ago', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.started();
    agent.lapse('far');
    agent.edit('a.ts');
    agent.edit('b.ts');
    expect(agent.started()).toEqual(['PreToolUse']);
  });

  it('are looked at once more after the agent asked its user, who is then no longer waited for', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.run('PermissionRequest', { tool_name: 'Bash', tool_input: { command: 'rm x' } });
    const waiting = () =>
      readdirSync(join(repository.folder, '.git', 'orchestration', 'agents')).some((name) =>
        name.endsWith('.waiting'),
      );
    expect(waiting()).toBe(true);
    agent.started();
    agent.use('Bash', { command: 'rm x' }, { stdout: '', stderr: '' });
    agent.edit('a.ts');
    expect(agent.started()).toEqual(['PreToolUse']);
    expect(waiting()).toBe(false);
  });

  it('begin with what this session did where the conversation was another session’s before', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    const use = (name: string, timestamp: string) => {
      const input = { file_path: join(repository.folder, name), content: '' };
      const content = [{ type: 'tool_use', id: `t-${name}`, name: 'Write', input }];
      agent.write({ type: 'assistant', timestamp, message: { id: `m-${name}`, content } });
      const result = [{ type: 'tool_result', tool_use_id: `t-${name}`, content: '' }];
      agent.write({
        type: 'user',
        timestamp,
        message: { content: result },
        toolUseResult: { type: 'create' },
      });
    };
    use('before.ts', '2020-01-01T00:00:00.000Z');
    agent.begin();
    use('repeated.ts', '2020-01-01T00:00:00.000Z'); // as in a fork, which begins with what its parent did
    use('own.ts', new Date().toISOString());
    agent.run('Stop', { last_assistant_message: 'Done.' });
    expect(Object.keys(know(repository).files)).toEqual(['own.ts']);
  });
});

describe('tool calls of an agent with a budget', () => {
  const denied = {
    continue: false,
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny' },
  };

  it('start no orch while it is far away, and are stopped at the one that would exceed it', () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['cost', 'budget', '100', '-e', 'x']);
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.started();
    for (const name of ['a.ts', 'b.ts', 'c.ts']) expect(agent.edit(name, 1_000).before).toBeNull();
    expect(agent.started()).toEqual([]);
    agent.lapse('far');
    // $87 in all: it is near now, so that every call is looked at.
    agent.edit('e.ts', 5_800_000);
    agent.started();
    expect(agent.edit('f.ts', 200_000).before).toBeNull();
    expect(agent.started()).toEqual(['PreToolUse', 'PostToolUse']);
    expect(agent.edit('g.ts', 800_000).before).toMatchObject(denied);
  });

  it('are stopped at the one that would exceed it, however fast the money goes', () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['cost', 'budget', '30', '-e', 'x']);
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.started();
    const names = Array.from({ length: 25 }, (_, index) => `${index}.ts`);
    // $1.50 each: the twentieth comes to the budget.
    const stopped = names.find((name) => agent.edit(name, 100_000).before?.continue === false);
    expect(stopped).toBe('19.ts');
    expect(agent.started().length).toBeLessThan(25);
  });

  it('are stopped at once by a budget that is set from another shell in the middle of a turn', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository);
    agent.begin();
    agent.edit('a.ts', 100_000);
    agent.started();
    expect(runOrch(repository, ['cost', 'budget', '2', '-e', 'x']).status).toBe(0);
    expect(agent.edit('b.ts', 100_000).before).toMatchObject(denied);
    expect(agent.started()).toEqual(['PreToolUse']);
    expect(runOrch(repository, ['cost', 'budget', '100', '-e', 'x']).status).toBe(0);
    agent.run('UserPromptSubmit', { prompt: 'Go on' });
    expect(agent.edit('c.ts').before).toBeNull();
  });

  it('are looked at when someone else spends on the same epic', () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['cost', 'budget', '100', '-e', 'x']);
    const agent = makeCalmAgent(repository);
    agent.begin();
    runOrch(repository, ['record', 'cost', '99.99', '-e', 'x']);
    expect(agent.edit('a.ts', 100_000).before).toMatchObject(denied);
  });

  it('are all looked at where a full context window is to stop the agent and fills up', () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'context: { window: 100000, emergency: stop }\n');
    const agent = makeCalmAgent(repository);
    agent.begin();
    const fill = (tokens: number) => {
      const usage = { input_tokens: tokens, output_tokens: 1 };
      agent.write({ type: 'assistant', message: { id: `m-${tokens}`, model: 'claude-sonnet-4-5', usage } });
    };
    fill(60_000);
    agent.lapse('far');
    agent.edit('a.ts');
    agent.started();
    agent.edit('b.ts');
    expect(agent.started()).toEqual(['PreToolUse', 'PostToolUse']);
    fill(90_000);
    expect(agent.edit('c.ts').before).toMatchObject(denied);
  });
});

describe('an agent finds out whether it is looked at', () => {
  /** Does the budget hold, and do calls start orch only for it? */
  function expectQuiet(repository: TestRepository, folder: string): void {
    const agent = makeCalmAgent(repository, 'conversation-1', { folder });
    agent.begin();
    agent.started();
    agent.edit('a.ts', 100_000);
    expect(agent.started()).toEqual([]);
    expect(runOrch(repository, ['cost', 'budget', '2', '-e', 'x'], { cwd: folder }).status).toBe(0);
    expect(agent.edit('b.ts', 100_000).before).toMatchObject({ continue: false });
    expect(Object.keys(know(repository).files).map((path) => path.replace(/.*\//, ''))).toEqual(['a.ts']);
  }

  it('in a linked worktree', () => {
    const repository = makeRepositoryWithCommit();
    const linked = join(repository.home, 'a linked "worktree"');
    repository.git('worktree', 'add', '--quiet', '-b', 'feat/b', linked);
    expectQuiet(repository, linked);
  });

  it('in a folder of the repository', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, 'src', 'deep'), { recursive: true });
    expectQuiet(repository, join(repository.folder, 'src', 'deep'));
  });

  it.each(['it\'s a $(touch oops) "place"', '-n', '*'])('in a repository named %s', (name) => {
    const made = makeRepositoryWithCommit();
    const folder = join(made.home, name);
    renameSync(made.folder, folder);
    const repository = { ...made, folder };
    expectQuiet(repository, folder);
    expect(existsSync(join(folder, 'oops'))).toBe(false);
  });

  it('where it is not in a repository, or nothing is known of it: orch is asked', () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeCalmAgent(repository, 'conversation-1', { folder: repository.home });
    agent.edit('a.ts');
    expect(agent.started()).toEqual(['PreToolUse', 'PostToolUse']);
    writeFileSync(join(repository.home, '.git'), 'nonsense\n');
    agent.edit('b.ts');
    expect(agent.started()).toEqual(['PreToolUse', 'PostToolUse']);
  });
});
