import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useOwnProcesses } from '../support/hosted.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import {
  isAlive,
  killWithGuard,
  liveFiles,
  readWhenThere,
  startSupervisor,
  statusOf,
  triggersOf,
  waitUntil,
  writeConfig,
  writeScript,
} from '../support/supervised.ts';

useOwnProcesses();

describe('signals', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    '%s pauses, with a checkpoint, at the first moment the session is known',
    async (signal, status) => {
      const repository = makeRepositoryWithCommit();
      const orch = startSupervisor(repository, ['start', '-e', 'a', '--json']);
      await waitUntil(() => orch.stdout().includes('\n'));
      orch.signal(signal); // it may not have begun to watch over anything yet
      expect(await orch.ended).toBe(status);
      expect(JSON.parse(orch.stdout()).session.status).toBe('running');
      expect(statusOf(repository, 'a').session.status).toBe('paused');
      expect(triggersOf(repository, 'a')).toEqual(['session_start', 'pause']);
      expect(liveFiles(repository)).toEqual([]);
    },
  );

  it('is passed on to a command, which has time to end well', async () => {
    const repository = makeRepositoryWithCommit();
    const agent = writeScript(
      repository,
      'agent',
      'trap "echo bye; exit 0" TERM',
      'echo ready',
      'while :; do sleep 0.05; done',
    );
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--complete', '--', agent]);
    await waitUntil(() => orch.stdout() === 'ready\n');
    orch.signal('SIGTERM');
    expect(await orch.ended).toBe(143);
    expect(orch.stdout()).toBe('ready\nbye\n');
    expect(statusOf(repository, 'a')).toMatchObject({
      session: { status: 'paused' },
      checkpoint: { trigger: 'pause', reason: 'Stopped by SIGTERM' },
    });
  });

  it('ends gates that have to be green first, and pauses before any work', async () => {
    const repository = makeRepositoryWithCommit();
    const pid = join(repository.home, 'pid');
    const gate = writeScript(repository, 'gate', `echo $$ >'${pid}'`, 'while :; do sleep 0.1; done');
    writeConfig(repository, `gates: [{ name: slow, run: ["${gate}"] }]\n`);
    const orch = startSupervisor(
      repository,
      ['start', '-e', 'a', '--require-green', '--', 'touch', 'worked'],
      {
        env: { ORCH_TRUST: '1' },
      },
    );
    const gatePid = Number(await readWhenThere(pid));
    orch.signal('SIGINT');
    expect(await orch.ended).toBe(130);
    expect(isAlive(gatePid)).toBe(false);
    expect(repository.git('status', '--porcelain')).not.toContain('worked');
    expect(statusOf(repository, 'a').session.status).toBe('paused');
  });
});

describe('kill -9', () => {
  it('loses nothing: once resumed and twice resumed it is all there once', async () => {
    const repository = makeRepositoryWithCommit();
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--json']);
    await waitUntil(() => orch.stdout().includes('\n'));
    runOrch(repository, ['record', 'note', 'hello', '-e', 'a']);
    runOrch(repository, ['record', 'cost', '1.5', '-e', 'a']);
    orch.signal('SIGKILL');
    await orch.ended;
    expect(statusOf(repository, 'a')).toMatchObject({ session: { status: 'interrupted' }, pendingEvents: 2 });
    const first = runOrch(repository, ['resume', '-e', 'a', '--', 'sh', '-c', 'cat "$ORCH_BRIEF_FILE"']);
    expect(first.status).toBe(0);
    expect(first.stderr).toMatch(/Session 1 was interrupted at \d\d:\d\d: 2 events recovered\./);
    expect(first.stdout).toContain('hello');
    const second = runOrch(repository, ['resume', '-e', 'a', '--', 'true']);
    expect(second.stderr).not.toContain('recovered');
    expect(triggersOf(repository, 'a')).toEqual([
      ...['session_start', 'recovery'],
      ...['session_start', 'pause'],
      ...['session_start', 'pause'],
    ]);
    expect(statusOf(repository, 'a').budget.spentUsd).toBe(1.5);
    const { bySession } = orchJson<{ bySession: unknown[] }>(repository, ['cost', 'status', '-e', 'a']);
    expect(bySession).toHaveLength(1);
  });

  it.runIf(process.platform === 'linux')(
    'leaves a command, once its guard is killed too, that the next session ends first',
    async () => {
      const repository = makeRepositoryWithCommit();
      writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
      const pid = join(repository.home, 'pid');
      const agent = writeScript(
        repository,
        'agent',
        'trap "" INT TERM',
        `echo $$ >'${pid}'`,
        'while :; do sleep 0.1; done',
      );
      const orch = startSupervisor(repository, ['start', '-e', 'a', '--', agent]);
      const agentPid = Number(await readWhenThere(pid));
      await killWithGuard(orch);
      expect(isAlive(agentPid)).toBe(true);
      const resumed = runOrch(repository, ['resume', '-e', 'a', '--', 'true']);
      expect(resumed.status).toBe(0);
      expect(resumed.stderr).toContain('Its command was still running unsupervised; orch stopped it.');
      expect(isAlive(agentPid)).toBe(false);
    },
  );
});
