import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import {
  callOrch,
  startSupervisor,
  statusOf,
  triggersOf,
  waitUntil,
  writeConfig,
} from '../support/supervised.ts';

describe('a session over time', () => {
  it('makes checkpoints by the clock where an event or a file is new, by the settings it began with', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { interval: 1s }\n');
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--json']);
    await waitUntil(() => orch.stdout().includes('\n'));
    writeConfig(repository, 'checkpoint: { interval: off }\n'); // a file that changed, and settings that do not
    await waitUntil(() => triggersOf(repository, 'a').length === 2);
    repository.write('README', 'changed\n');
    await waitUntil(() => triggersOf(repository, 'a').length === 3);
    const before = performance.now();
    // Nothing changes now. What is recorded after more than an interval has to be the next checkpoint.
    await waitUntil(() => performance.now() - before > 1_500);
    expect(triggersOf(repository, 'a')).toHaveLength(3);
    writeConfig(repository, 'checkpoint: [\n');
    const broken = runOrch(repository, ['record', 'note', 'still', '-e', 'a']);
    expect(broken.status).toBe(0);
    await waitUntil(() => triggersOf(repository, 'a').length >= 4);
    orch.signal('SIGINT');
    expect(await orch.ended).toBe(130);
    const triggers = triggersOf(repository, 'a');
    expect(triggers.slice(0, 4)).toEqual(['session_start', 'interval', 'interval', 'interval']);
    expect(triggers.at(-1)).toBe('pause');
  });

  it('goes on after it was stopped and continued', async () => {
    const repository = makeRepositoryWithCommit();
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--budget', '5', '--json']);
    await waitUntil(() => orch.stdout().includes('\n'));
    orch.signal('SIGSTOP');
    expect(runOrch(repository, ['record', 'cost', '6', '-e', 'a']).status).toBe(4);
    orch.signal('SIGCONT');
    expect(await orch.ended).toBe(4);
    expect(statusOf(repository, 'a')).toMatchObject({
      session: { status: 'budget_exceeded' },
      budget: { spentUsd: 6 },
    });
  });

  it('is found by its command from a linked worktree, and takes its epic from the branch', () => {
    const repository = makeRepositoryWithCommit();
    const worktree = join(repository.home, 'worktree');
    repository.git('worktree', 'add', '--quiet', '-b', 'feat/login', worktree);
    const script = `pwd; ${callOrch('record note hi')}`;
    const ran = runOrch(repository, ['start', '--', 'sh', '-c', script], { cwd: worktree });
    expect(ran).toMatchObject({ status: 0, stdout: `${worktree}\n✓ note recorded for feat-login\n` });
    expect(ran.stderr).toContain('epic feat-login (from the branch)');
    expect(statusOf(repository, 'feat-login').session.status).toBe('paused');
  });
});
