import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorOf, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { liveFiles, startSupervisor, statusOf, waitUntil } from '../support/sessions.ts';

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
