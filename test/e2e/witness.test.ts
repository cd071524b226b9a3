import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { convoy, makeConvoyed } from '../support/convoys.ts';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { callOrch, readIfThere, waitUntil } from '../support/supervised.ts';

/** A witness in a hurry. */
const hurried = 'witness: { quiet: 1s, stuck: 3s, repeats: 4, patience: 1s }\n';

function commitConfig(repository: TestRepository, text: string): void {
  mkdirSync(join(repository.folder, '.orchestration'), { recursive: true });
  repository.write('.orchestration/config.yaml', text);
  repository.git('add', '.orchestration');
  repository.git('commit', '--quiet', '--message', 'config');
}

type Status = {
  readonly acts: boolean;
  readonly agents: readonly {
    readonly epicId: string;
    readonly health: string;
    readonly why: string;
    readonly action: string | null;
  }[];
};
const readStatus = (repository: TestRepository) => orchJson<Status>(repository, ['witness', 'status']);
const healthOf = (repository: TestRepository, epic: string) =>
  readStatus(repository).agents.find(({ epicId }) => epicId === epic);

it('a worker that loops, one that is stuck and one that was stopped are tried again; one that works is left alone', () => {
  const repository = makeConvoyed(
    `name: auth
worker: { agent: sh ./agent.sh, attempts: 2 }
merge: { gates: none }
tasks:
  - { id: loop, prompt: prints the same for ever }
  - { id: stuck, prompt: waits for ever }
  - { id: frozen, prompt: is stopped }
  - { id: busy, prompt: works and says nothing }
`,
    `loop) if [ $ORCH_ATTEMPT = 1 ]; then while :; do echo again; sleep 0.01; done; fi; echo l > loop.txt;;
stuck) if [ $ORCH_ATTEMPT = 1 ]; then sleep 600; fi; echo s > stuck.txt;;
frozen) if [ $ORCH_ATTEMPT = 1 ]; then kill -STOP $$; fi; echo f > frozen.txt;;
busy) end=$(($(date +%s) + 8)); while [ $(date +%s) -lt $end ]; do :; done; echo b > busy.txt;;`,
  );
  commitConfig(repository, hurried);
  const { status, stderr, document } = convoy(repository, 'start');
  expect(status, stderr).toBe(0);
  const attempts = Object.fromEntries(document.convoy.tasks.map(({ id, attempts: tries }) => [id, tries]));
  expect(attempts).toEqual({ loop: 2, stuck: 2, frozen: 2, busy: 1 });
  const reasonOf = (task: string) =>
    runOrch(repository, ['session', 'show', '-e', `auth--${task}`, 's1', '--json']).stdout;
  expect(reasonOf('loop')).toContain('it was looping: it prints “again” again and again');
  expect(reasonOf('stuck')).toMatch(/it was stuck: nothing was seen of it for \ds/);
  expect(reasonOf('frozen')).toContain('a process of it was stopped (SIGSTOP)');
});

it('an agent that was started by hand is paused with a checkpoint at the end of the ladder, can be resumed, and its user is told', async () => {
  const repository = makeConvoyed('name: x\ntasks: []\n', '*) ;;');
  commitConfig(repository, `${hurried}notify: [{ name: log, on: [stuck], file: ../notices.jsonl }]\n`);
  const started = runOrch(repository, ['start', '-e', 'alone', '--background', '--', 'sleep', '600'], {
    env: { ORCH_TRUST: '1' },
  });
  expect(started.status).toBe(0);
  await waitUntil(
    () => healthOf(repository, 'alone')?.health === 'stuck',
    () => JSON.stringify(readStatus(repository)),
  );
  expect(runOrch(repository, ['witness', 'status']).stdout).toMatch(
    /alone +sleep +stuck .*nothing was seen of it for \ds/,
  );
  const session = () =>
    orchJson<{ session: { status: string } }>(repository, ['session', 'status', '-e', 'alone']);
  await waitUntil(() => session().session.status === 'paused');
  const readLog = () => runOrch(repository, ['session', 'logs', '-e', 'alone']).stdout;
  await waitUntil(() => readLog().includes('Continue'), readLog);
  const log = readLog();
  expect(log).toMatch(/The agent is stuck: nothing was seen of it for \ds\./);
  expect(log).toMatch(/■ The witness ended session 1 of alone, because it was stuck: .*; ckpt \d saved\./);
  expect(readStatus(repository).agents).toEqual([]);
  const readNotices = () =>
    readIfThere(join(repository.folder, '..', 'notices.jsonl'))
      .trim()
      .split('\n');
  await waitUntil(() => readNotices().length === 2);
  expect(readNotices().map((line) => JSON.parse(line))).toMatchObject([
    { kind: 'stuck', epic: 'alone', text: expect.stringMatching(/^The agent of alone is stuck: nothing/) },
    { text: expect.stringContaining('was paused, because it was stuck'), next: 'orch resume -e alone' },
  ]);
});

it('an agent in a terminal is not ended, and not said to be', async () => {
  const repository = makeConvoyed('name: x\ntasks: []\n', '*) ;;');
  commitConfig(repository, hurried.replace(' }', ', actions: [end] }'));
  const command = callOrch('start -e alone -- sleep 600');
  const terminal = spawn('script', ['-qfc', command, '/dev/null'], {
    ...{ cwd: repository.folder, env: cleanEnvironment(repository.home), stdio: 'ignore' },
  });
  await waitUntil(() => healthOf(repository, 'alone')?.action === 'escalate');
  expect(runOrch(repository, ['session', 'pause', '-e', 'alone']).status).toBe(0);
  await waitUntil(() => terminal.exitCode !== null);
});

it('a witness that was stopped only watches, also what works already, until it is started again', async () => {
  const repository = makeConvoyed('name: x\ntasks: []\n', '*) ;;');
  commitConfig(repository, hurried);
  expect(runOrch(repository, ['witness', 'stop']).stdout).toBe('The witness only watches.\n');
  runOrch(repository, ['start', '-e', 'alone', '--background', '--', 'sleep', '600']);
  await waitUntil(() => healthOf(repository, 'alone')?.health === 'stuck');
  const began = Date.now();
  await waitUntil(() => Date.now() - began > 4_000);
  expect(healthOf(repository, 'alone')).toMatchObject({ health: 'stuck', action: null });
  expect(readStatus(repository).acts).toBe(false);
  // An agent cannot turn off what looks after it.
  const byAgent = runOrch(repository, ['witness', 'stop'], {
    env: { ORCH_SESSION: 'sess-abcdef12', ORCH_EPIC: 'alone' },
  });
  expect(byAgent.status).toBe(2);
  runOrch(repository, ['witness', 'start']);
  await waitUntil(() => healthOf(repository, 'alone') === undefined);
});

it('its policy is shown, changed in the config with its comments, and refused where it is wrong', () => {
  const repository = makeConvoyed('name: x\ntasks: []\n', '*) ;;');
  const without = runOrch(repository, ['witness', 'config', 'stuck=1h']);
  expect(without).toMatchObject({ status: 2, stderr: expect.stringContaining('orch init --config') });
  commitConfig(repository, '# mine\nwitness:\n  stuck: 20m # long tests\n');
  expect(runOrch(repository, ['witness', 'config']).stdout).toContain('stuck     20m without a sign of life');
  expect(runOrch(repository, ['witness', 'config', 'stuck=40m']).stdout).toContain('stuck     40m');
  expect(readFileSync(join(repository.folder, '.orchestration/config.yaml'), 'utf8')).toBe(
    '# mine\nwitness:\n  stuck: "40m" # long tests\n',
  );
  expect(runOrch(repository, ['witness', 'config', 'repeats=5']).stdout).toContain('repeats   5 times');
  const wrong = runOrch(repository, ['witness', 'config', 'stuck=soon']);
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('a duration such as 30m');
  expect(runOrch(repository, ['witness', 'config', 'speed=9']).status).toBe(2);
  expect(readFileSync(join(repository.folder, '.orchestration/config.yaml'), 'utf8')).toContain(
    'stuck: "40m"',
  );
});

it('an agent with hooks that repeats itself is told once, and again only if it begins another loop', () => {
  const repository = makeRepositoryWithCommit();
  mkdirSync(join(repository.folder, '.orchestration'));
  repository.write('.orchestration/config.yaml', 'witness: { repeats: 3 }\n');
  const agent = makeAgent(repository);
  agent.call('SessionStart', { source: 'startup' });
  agent.call('UserPromptSubmit', { prompt: 'Fix the tests' });
  let calls = 0;
  const run = (command: string) => {
    const id = `toolu_${++calls}`;
    const timestamp = new Date(Date.parse('2026-01-01T00:00:00Z') + calls * 1_000).toISOString();
    const lines = [
      { content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }], role: 'assistant' },
      {
        content: [{ type: 'tool_result', tool_use_id: id, content: `3 failed in ${calls} s` }],
        role: 'user',
      },
    ];
    for (const message of lines)
      appendFileSync(agent.transcript, `${JSON.stringify({ timestamp, message })}\n`);
    const answer = agent.call('PostToolUse', {
      tool_name: 'Bash',
      tool_input: { command },
      tool_use_id: id,
      tool_response: {},
    });
    return answer?.hookSpecificOutput?.additionalContext ?? null;
  };
  expect([run('npm test'), run('npm test')]).toEqual([null, null]);
  expect(run('npm test')).toContain(
    'You repeat yourself: it did “Bash: npm test” 3 times in a row, with the same result.',
  );
  expect(run('npm test')).toBeNull();
  expect(readStatus(repository).agents).toMatchObject([{ health: 'looping', action: 'nudge' }]);
  expect(run('git status')).toBeNull();
  expect([run('ls'), run('ls')]).toEqual([null, null]);
  expect(run('ls')).toContain('You repeat yourself: it did “Bash: ls”');
});
