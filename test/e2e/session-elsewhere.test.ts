import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, openTerminal } from '../agents/support/terminal.ts';
import { errorOf, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { callOrch, isAlive, liveFiles, startSupervisor, statusOf, waitUntil } from '../support/supervised.ts';

async function startOn(repository: TestRepository, epic: string) {
  const orch = startSupervisor(repository, ['start', '-e', epic, '--json']);
  await waitUntil(() => orch.stdout().includes('\n'));
  return orch;
}

/** Makes a live record say something else of the process that holds it. */
function editHolder(repository: TestRepository, change: Record<string, string>): void {
  const [path = ''] = liveFiles(repository);
  const record = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...record, holder: { ...record.holder, ...change } }));
}

const state = (repository: TestRepository, epic: string) =>
  /^state +(.*)$/m.exec(runOrch(repository, ['session', 'status', '-e', epic]).stdout)?.[1];

describe('a session that cannot be seen', () => {
  it('is interrupted where its pid is another’s, or the machine was started anew', async () => {
    const repository = makeRepositoryWithCommit();
    await startOn(repository, 'a');
    expect(state(repository, 'a')).toMatch(/^● running, pid \d+$/);
    editHolder(repository, { startedAt: '12345' });
    expect(state(repository, 'a')).toBe('✗ interrupted');
    editHolder(repository, { boot: 'another' });
    expect(state(repository, 'a')).toBe('✗ interrupted');
  });

  it.runIf(process.platform === 'linux')(
    'is interrupted where its process ended, and nobody buried it',
    async () => {
      const repository = makeRepositoryWithCommit();
      // The shell becomes a program that never asks how its child ended.
      const line = `${callOrch('start -e a >/dev/null 2>&1')} & exec sleep 60`;
      const parent = spawn('sh', ['-c', line], {
        cwd: repository.folder,
        env: cleanEnvironment(repository.home),
        stdio: 'ignore',
      });
      try {
        await waitUntil(() => state(repository, 'a')?.startsWith('● running'));
        const { holder } = JSON.parse(readFileSync(liveFiles(repository)[0] ?? '', 'utf8'));
        process.kill(holder.pid, 'SIGKILL');
        await waitUntil(() => !isAlive(holder.pid));
        process.kill(holder.pid, 0); // it is still listed
        expect(state(repository, 'a')).toBe('✗ interrupted');
      } finally {
        parent.kill('SIGKILL');
      }
    },
  );

  it('runs elsewhere where it is another machine or container, and is taken over on demand only', async () => {
    const repository = makeRepositoryWithCommit();
    const orch = await startOn(repository, 'a');
    editHolder(repository, { pidNamespace: 'pid:[1]' });
    expect(state(repository, 'a')).toMatch(/^○ running elsewhere, last seen (just now|\d+\w+ ago)$/);
    for (const command of ['start', 'resume']) {
      const refused = runOrch(repository, [command, '-e', 'a', '--background', '--json']);
      expect(refused.status).toBe(5);
      expect(errorOf(refused)).toMatchObject({
        code: 'SESSION_ACTIVE',
        hint: expect.stringContaining('--take-over'),
        data: { reason: 'elsewhere' },
      });
    }
    const taken = runOrch(repository, ['resume', '-e', 'a', '--take-over', '--', 'true']);
    expect(taken.status).toBe(0);
    expect(statusOf(repository, 'a').session).toMatchObject({ number: 2, status: 'paused' });
    expect(await orch.ended).toBe(5);
    expect(orch.stderr()).not.toContain('could not be ended');
  });

  it.runIf(hasTmux).each([
    ['a no', ['n', 'Enter'], 5],
    ['Ctrl+C', ['C-c'], 130],
  ])('is left alone at %s to whoever is asked on a terminal', async (_, keys, status) => {
    const repository = makeRepositoryWithCommit();
    const orch = await startOn(repository, 'a');
    editHolder(repository, { pidNamespace: 'pid:[1]' });
    const line = `${callOrch('resume -e a -- true')}; echo "ended with $?"; exec cat`;
    const env = { ...cleanEnvironment(repository.home), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
    const terminal = openTerminal(repository, 'sh', ['-c', line], env);
    await terminal.shows('Take over? [y/N]');
    terminal.press(...keys);
    await terminal.shows(`ended with ${status}`);
    expect(statusOf(repository, 'a').session).toMatchObject({ number: 1 });
    orch.signal('SIGTERM');
    await orch.ended;
  });

  it('in another clone is taken over once, and asked about again only when there is news of it', async () => {
    const here = makeRepositoryWithCommit();
    const folder = join(here.home, 'clone');
    const orch = await startOn(here, 'a');
    here.git('clone', '--quiet', here.folder, folder);
    const there: TestRepository = { ...here, folder };
    const fetch = () =>
      here.git('-C', folder, 'fetch', '--quiet', 'origin', '+refs/orchestration/*:refs/orchestration/*');
    const resume = (...args: string[]) => runOrch(there, ['resume', '-e', 'a', ...args, '--', 'true']).status;
    fetch();
    expect(state(there, 'a')).toMatch(/^○ running elsewhere/);
    expect(resume()).toBe(5);
    expect(resume('--take-over')).toBe(0);
    expect(resume()).toBe(0);
    expect(statusOf(there, 'a').session.number).toBe(3);
    orch.signal('SIGTERM');
    await orch.ended;
  });
});
