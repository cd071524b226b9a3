import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const processes: ReturnType<typeof spawn>[] = [];
afterEach(() => {
  for (const each of processes.splice(0)) each.kill('SIGKILL');
});

/** An agent with a process of its own, asked for something. */
function beginAgent(repository: TestRepository, id: string, prompt: string) {
  const own = spawn('sleep', ['120'], { stdio: 'ignore' });
  processes.push(own);
  const agent = makeAgent(repository, id, { ORCH_EPIC: 'x', CLAUDE_PID: String(own.pid) });
  agent.call('SessionStart', { source: 'startup' });
  agent.call('UserPromptSubmit', { prompt });
  const kill = () =>
    new Promise((resolve) => {
      own.on('exit', resolve);
      own.kill('SIGKILL');
    });
  return { ...agent, kill };
}

type Status = { readonly epics: readonly { readonly agents: readonly Record<string, unknown>[] }[] };
const agentsOf = (repository: TestRepository) => orchJson<Status>(repository, ['status']).epics[0]?.agents;
const statesOf = (repository: TestRepository) =>
  runOrch(repository, ['status'])
    .stdout.split('\n')
    .flatMap((line) => /^x +(\S.*?)(?: {2,}|$)/.exec(line)?.[1] ?? []);

describe('orch status', () => {
  it('shows each agent at work on an epic, and what it waits for', () => {
    const repository = makeRepositoryWithCommit();
    beginAgent(repository, 'agent-1', 'Write the login page');
    const second = beginAgent(repository, 'agent-2', 'Write the docs');
    second.call('PermissionRequest', { tool_name: 'Bash', tool_input: { command: 'npm test' } });
    expect(statesOf(repository)).toEqual([
      '? claude s2 needs permission',
      expect.stringMatching(/^● claude s1 \w+$/),
    ]);
    expect(runOrch(repository, ['status']).stdout).toMatch(
      /^\? x s2 needs permission, (just now|for \ds): Bash: npm test$/m,
    );
    expect(agentsOf(repository)).toMatchObject([
      { number: 2, status: 'running', waiting: { for: 'permission', detail: 'Bash: npm test', until: null } },
      { number: 1, status: 'running', waiting: null },
    ]);
    second.call('PermissionRequest', { tool_name: 'ExitPlanMode', tool_input: { plan: 'Move it' } });
    expect(statesOf(repository)[0]).toBe('? claude s2 has a plan to approve');
    second.call('Stop', { last_assistant_message: 'Done.' });
    expect(statesOf(repository)[0]).toMatch(/^● claude s2 idle( \ds)?$/);
  });

  it('shows until when an agent is limited, and that it is idle after that', () => {
    const repository = makeRepositoryWithCommit();
    const agent = beginAgent(repository, 'agent-1', 'Write the login page');
    const limitAt = (resetsAt: number) => {
      const line = {
        type: 'assistant',
        isApiErrorMessage: true,
        error: 'rate_limit',
        quotaLimits: { resetsAt },
      };
      appendFileSync(agent.transcript, `${JSON.stringify(line)}\n`);
      agent.call('StopFailure', { error: 'rate_limit' });
    };
    const until = Math.floor(Date.now() / 1_000) + 600;
    limitAt(until);
    expect(statesOf(repository)).toEqual([expect.stringMatching(/^… claude s1 limited until \d\d:\d\d/)]);
    const at = new Date(until * 1_000).toISOString().replace('.000', '');
    expect(agentsOf(repository)).toMatchObject([{ waiting: { for: 'limit', until: at } }]);
    limitAt(until - 1_200);
    expect(statesOf(repository)).toEqual([expect.stringMatching(/^● claude s1 idle/)]);
  });

  it('shows a killed agent until it was resumed from, whatever ended since', async () => {
    const repository = makeRepositoryWithCommit();
    const agent = beginAgent(repository, 'agent-1', 'Write the login page');
    const other = beginAgent(repository, 'agent-2', 'Write the docs');
    await agent.kill();
    expect(statesOf(repository)).toEqual([expect.stringMatching(/^● claude s2/), '✗ claude s1 interrupted']);
    other.call('SessionEnd', { reason: 'prompt_input_exit' });
    runOrch(repository, ['record', 'note', 'by hand', '-e', 'x']);
    runOrch(repository, ['start', '-e', 'x', '--no-baseline', '--', 'true']);
    expect(statesOf(repository)).toEqual(['‖ paused', '✗ claude s1 interrupted']);
    expect(runOrch(repository, ['status']).stdout).toContain('Next: orch resume -e x\n');
    expect(agentsOf(repository)).toMatchObject([{ number: 1, status: 'interrupted', waiting: null }]);
    runOrch(repository, ['resume', '-e', 'x', '--no-baseline', '--', 'true']);
    expect(statesOf(repository)).toEqual(['‖ paused']);
  });
});

describe('orch log', () => {
  it('says what was asked in each session, and what came of it', () => {
    const repository = makeRepositoryWithCommit();
    const agent = beginAgent(repository, 'agent-1', 'Make login redirect to /home and keep the tests green');
    agent.call('Stop', { last_assistant_message: 'Shall I use **cookies**?' });
    agent.call('UserPromptSubmit', { prompt: 'yes' });
    agent.call('Stop', { last_assistant_message: 'The form is there.\n\nNot done: logout.' });
    agent.call('SessionEnd', { reason: 'other' });
    const { stdout } = runOrch(repository, ['log', 'x']);
    expect(stdout).toMatch(/^s1 {2}claude {2}‖ paused {2}\w+ {2}\$0\.00 {2}claude ended$/m);
    expect(stdout).toContain('\n  asked    Make login redirect to /home and keep the tests green\n');
    expect(stdout).toContain('\n  result   The form is there. Not done: logout.\n');
    expect(stdout).toMatch(/pause +The form is there\. Not done: logout\.$/m);
    expect(orchJson(repository, ['log', 'x'])).toMatchObject({
      sessions: [
        {
          asked: ['Make login redirect to /home and keep the tests green'],
          result: 'The form is there.\n\nNot done: logout.',
          commits: [],
        },
      ],
    });
  });

  it('names the machine of a session as soon as several clones worked on the epic', () => {
    const repository = makeRepositoryWithCommit();
    const note = (host: string, writer: string) =>
      runOrch(repository, ['record', 'note', 'n', '-e', 'x'], {
        env: { ORCH_HOST: host, ORCH_WRITER: writer },
      });
    expect(note('laptop', 'w-aaaaaaaa').status).toBe(0);
    expect(runOrch(repository, ['log', 'x']).stdout).not.toContain('laptop');
    note('desk\u001b[31m', 'w-bbbbbbbb');
    note('', 'w-cccccccc');
    const heads = runOrch(repository, ['log', 'x']).stdout.match(/ on .*$/gm);
    expect(heads).toEqual([' on w-cccccccc', ' on desk[31m', ' on laptop']);
    note('laptop', 'w-dddddddd');
    expect(runOrch(repository, ['log', 'x']).stdout).toContain(' on laptop (w-dddddddd)');
    expect(orchJson(repository, ['session', 'list'])).toMatchObject({
      sessions: [{ host: 'laptop' }, { host: null }, {}, { host: 'laptop' }],
    });
  });
});

it('session show names the last checkpoint of that session', () => {
  const repository = makeRepositoryWithCommit();
  for (const word of ['one', 'two'])
    runOrch(repository, ['start', '-e', 'x', '--no-baseline', '--', 'sh', '-c', `echo ${word} > ${word}`]);
  const { stdout } = runOrch(repository, ['session', 'show', 's1', '-e', 'x']);
  expect(stdout).toMatch(/^checkpoint +2 pause, .*: 1 file: one$/m);
});
