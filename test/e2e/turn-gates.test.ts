import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listTree } from '../../src/system/process/process-tree.ts';
import { startInBackground } from '../support/background.ts';
import { makeAgent, wrote } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { waitUntil } from '../support/supervised.ts';

type Status = {
  session: { id: string; status: string };
  checkpoint: { seq: number; gates: string; trigger: string; summary: string };
};

const statusOf = (repository: TestRepository) =>
  orchJson<Status>(repository, ['session', 'status', '--epic', 'x']);
const gatesOf = (repository: TestRepository) => statusOf(repository).checkpoint.gates;

/** A repository with one gate; what it notes down is outside the working tree. */
function makeGated(gate: { run: string; fix?: string; timeout?: string }): TestRepository {
  const repository = makeRepositoryWithCommit();
  mkdirSync(join(repository.folder, '.orchestration'));
  repository.write('.orchestration/config.yaml', JSON.stringify({ gates: [{ name: 'check', ...gate }] }));
  return repository;
}

/** An agent that was asked for something, in a repository whose gates the environment trusts. */
function beginAgent(repository: TestRepository, env: Record<string, string> = { ORCH_TRUST: '1' }) {
  const agent = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x', ...env });
  agent.call('SessionStart', { source: 'startup' });
  agent.call('UserPromptSubmit', { prompt: 'Begin' });
  const { id } = statusOf(repository).session;
  /** What still runs for the session: the gates, and what started them. */
  const running = () => listTree({ pid: 0, startedAt: '' }, `ORCH_SESSION=${id}`);
  const waitForQuiet = () =>
    waitUntil(
      () => running().length === 0,
      () => JSON.stringify(running()),
    );
  return { ...agent, running, waitForQuiet };
}

const linesOf = (path: string) =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];

/** Gates are found by the marks of their processes, which only Linux shows. */
describe.runIf(process.platform === 'linux')('the gates after a turn', () => {
  it('run by themselves once they are approved, and status says green or red', async () => {
    const repository = makeGated({ run: 'echo ran >> "$HOME/runs"; test ! -e broken' });
    expect(runOrch(repository, ['baseline', '-e', 'x']).status).toBe(0);
    const { call, waitForQuiet } = beginAgent(repository, {});
    const runs = () => linesOf(join(repository.home, 'runs')).length;
    call('Stop', { last_assistant_message: 'Nothing to do.' });
    await waitForQuiet();
    expect(runs()).toBe(1); // by hand; since then no file has changed

    repository.write('a.ts', 'one\n');
    call('PostToolUse', wrote(repository, 'a.ts'));
    call('Stop', { last_assistant_message: 'Done.' });
    await waitForQuiet();
    expect([runs(), gatesOf(repository)]).toEqual([2, 'green']);
    expect(statusOf(repository).checkpoint).toMatchObject({
      trigger: 'task',
      summary: 'Gates green: check passed',
    });
    repository.write('broken', '');
    call('Stop', { last_assistant_message: 'Now it is broken.' });
    await waitForQuiet();
    expect([runs(), gatesOf(repository)]).toEqual([3, 'red']);
    expect(statusOf(repository).session.status).toBe('running');
    expect(runOrch(repository, ['status']).stdout).toMatch(/^x .* red /m);
    expect(runOrch(repository, ['brief', '-e', 'x']).stdout).toContain('gate check fails');
  });

  it('do not run where nobody approved them, nor under a supervisor', async () => {
    const repository = makeGated({ run: 'echo ran >> "$HOME/runs"' });
    const { call, running } = beginAgent(repository, {});
    call('Stop', { last_assistant_message: 'Done.' });
    expect(running()).toEqual([]);
    call('SessionEnd', { reason: 'other' });
    const { id } = startInBackground(repository, 'x');
    const supervised = makeAgent(repository, 'agent-2', { ORCH_SESSION: id, ORCH_TRUST: '1' });
    supervised.call('SessionStart', { source: 'startup' });
    supervised.call('Stop', { last_assistant_message: 'Done.' });
    expect(listTree({ pid: 0, startedAt: '' }, `ORCH_SESSION=${id}`)).toEqual([]);
    expect(existsSync(join(repository.home, 'runs'))).toBe(false);
  });

  it('run one at a time, and once more for a turn that ended meanwhile', async () => {
    const wait = 'while [ ! -e "$HOME/go" ]; do sleep 0.05; done';
    const repository = makeGated({ run: `echo ran >> "$HOME/runs"; ${wait}; test ! -e broken` });
    const { call, running, waitForQuiet } = beginAgent(repository);
    const runs = () => linesOf(join(repository.home, 'runs')).length;
    call('Stop', { last_assistant_message: 'Done.' });
    await waitUntil(
      () => runs() === 1,
      () => 'the gate never began',
    );
    const before = new Set(running().map(({ pid }) => pid));
    repository.write('broken', '');
    call('Stop', { last_assistant_message: 'Done again.' });
    // The second looks, leaves its wish, and goes: only the first, and what it started, is left.
    const isLeft = () => running().some(({ pid }) => !before.has(pid) && !isSleep(pid));
    await waitUntil(
      () => !isLeft(),
      () => JSON.stringify(running()),
    );
    expect(runs()).toBe(1);
    writeFileSync(join(repository.home, 'go'), '');
    await waitUntil(
      () => gatesOf(repository) === 'red',
      () => JSON.stringify(statusOf(repository)),
    );
    expect(runs()).toBe(2);
    await waitForQuiet();
    expect(statusOf(repository).checkpoint.seq).toBe(2); // what was said of files that changed is not kept
  });

  it('end with the session, and nothing is recorded of them', async () => {
    const repository = makeGated({ run: 'echo "$$" > "$HOME/pid"; sleep 1000' });
    const { call, waitForQuiet } = beginAgent(repository);
    call('Stop', { last_assistant_message: 'Done.' });
    await waitUntil(
      () => linesOf(join(repository.home, 'pid')).length === 1,
      () => 'the gate never began',
    );
    call('SessionEnd', { reason: 'prompt_input_exit' });
    await waitForQuiet();
    expect(statusOf(repository)).toMatchObject({
      session: { status: 'paused' },
      checkpoint: { gates: 'unknown' },
    });
  });

  it('are cut off at their time-out with all they started, which is red', async () => {
    const repository = makeGated({ run: 'sleep 1000 & sleep 1000', timeout: '300ms' });
    const { call, waitForQuiet } = beginAgent(repository);
    call('Stop', { last_assistant_message: 'Done.' });
    await waitUntil(
      () => gatesOf(repository) === 'red',
      () => JSON.stringify(statusOf(repository)),
    );
    await waitForQuiet();
    expect(runOrch(repository, ['brief', '-e', 'x']).stdout).toContain('gate check timed out');
  });

  it('repair nothing: the files are the agent’s to change', async () => {
    const repository = makeGated({ run: 'test -e repaired', fix: 'touch repaired' });
    const { call, waitForQuiet } = beginAgent(repository);
    call('Stop', { last_assistant_message: 'Done.' });
    await waitUntil(
      () => gatesOf(repository) === 'red',
      () => JSON.stringify(statusOf(repository)),
    );
    await waitForQuiet();
    expect(existsSync(join(repository.folder, 'repaired'))).toBe(false);
  });

  it('run again after what ran them was killed', async () => {
    const repository = makeGated({ run: 'echo ran >> "$HOME/runs"; [ -e "$HOME/go" ] || sleep 1000' });
    const { call, running, waitForQuiet } = beginAgent(repository);
    const runs = () => linesOf(join(repository.home, 'runs')).length;
    call('Stop', { last_assistant_message: 'Done.' });
    await waitUntil(
      () => runs() === 1,
      () => 'the gate never began',
    );
    for (const { pid } of running()) process.kill(pid, 'SIGKILL');
    await waitForQuiet();
    writeFileSync(join(repository.home, 'go'), '');
    call('Stop', { last_assistant_message: 'Again.' });
    await waitUntil(
      () => gatesOf(repository) === 'green',
      () => JSON.stringify(statusOf(repository)),
    );
    await waitForQuiet();
  });
});

it.runIf(process.platform === 'linux')(
  'a gate whose runner was killed is ended when the session that died is recovered',
  async () => {
    const repository = makeGated({ run: 'echo ran >> "$HOME/runs"; exec sleep 1000' });
    const { call, running, waitForQuiet } = beginAgent(repository);
    call('Stop', { last_assistant_message: 'Done.' });
    await waitUntil(
      () => linesOf(join(repository.home, 'runs')).length === 1,
      () => 'the gate never began',
    );
    for (const { pid } of running()) if (!isSleep(pid)) process.kill(pid, 'SIGKILL');
    await waitUntil(
      () => running().every(({ pid }) => isSleep(pid)),
      () => JSON.stringify(running()),
    );
    expect(running()).not.toEqual([]);
    const live = join(repository.folder, '.git', 'orchestration', 'live');
    const [name = ''] = readdirSync(live);
    const record = JSON.parse(readFileSync(join(live, name), 'utf8'));
    const dead = { ...record, holder: { ...record.holder, startedAt: '1' } };
    writeFileSync(join(live, name), JSON.stringify(dead));
    const next = makeAgent(repository, 'agent-2', { ORCH_EPIC: 'x' });
    expect(next.call('SessionStart', { source: 'startup' }).systemMessage).toMatch(
      /^orch: x, session 2, no budget\. Session 1 was interrupted \d+s ago: \d+ events? recovered\.$/,
    );
    await waitForQuiet();
  },
);

/** The gate of the test sleeps a little at a time: each of these is another process. */
function isSleep(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'sleep';
  } catch {
    return true; // gone by now
  }
}
