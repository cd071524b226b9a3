import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { completeBatch, listCheckpoints, loadCheckpoint, type OrchOptions } from '../../src/index.ts';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import { listFolder } from '../../src/system/disk.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { runOrch, startOrch } from '../support/orch.ts';
import type { TestRepository } from '../support/repository.ts';
import { makeSpecRepository, readSpecFile, specFolder, writeSpec } from '../support/specs.ts';
import { buryLockHolders, epic, makeFastClock, withOrch } from '../support/store.ts';

// Snapshots have crash tests of their own; here each would start gits that nobody kills.
const options: OrchOptions = { engine: 'isomorphic', settings: { ...defaultSettings, snapshot: false } };
const request = {
  epicId: epic,
  deferred: [{ severity: 'medium' as const, description: 'Naming', location: null }],
};

describe('a batch that is completed by a process that dies', () => {
  it.each([
    ['named', false],
    ['named', true],
    ['by default', false],
    ['by default', true],
  ])('I3: at any write, the same call finishes it once (%s, torn writes: %s)', async (how, torn) => {
    const repository = makeSpecRepository();
    repository.git('commit', '--quiet', '--allow-empty', '--message', 'x', '--trailer', 'Tasks: T001');
    const { folder: cwd } = repository;
    const named = how === 'named' ? { tasks: ['T001'] } : {};
    let deaths = 0;
    for (const at of crashPoints(torn ? 2 : 11)) {
      writeSpec(repository);
      rmSync(join(cwd, specFolder, 'checkpoint.yaml'), { force: true });
      repository.git('update-ref', '-d', `refs/orchestration/epics/${epic}`);
      rmSync(join(cwd, '.git', 'orchestration'), { recursive: true, force: true });
      const crashing = makeCrashingDisk({ at, torn });
      const { disk, wrapEngine } = crashing;
      try {
        await withOrch({ cwd, ...options, disk, wrapEngine }, (orch) =>
          completeBatch({ ...request, ...named }, orch),
        );
      } catch (error) {
        if (!crashing.hasDied()) throw error;
      }
      buryLockHolders(cwd);
      // Every reader sees whole files, the old or the new.
      const tasks = parse(readSpecFile(repository, 'tasks.yaml')).tasks;
      expect(['pending', 'completed']).toContain(tasks[0].status);
      await expectFinishedOnce(repository, named);
      if (!crashing.hasDied()) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(2);
  });
});

describe('a batch whose process is killed', () => {
  it.each<[when: string, hasCome: (repository: TestRepository) => boolean]>([
    [
      'when tasks.yaml is updated',
      (repository) => readSpecFile(repository, 'tasks.yaml').includes('completed'),
    ],
    [
      'when checkpoint.yaml is there',
      ({ folder }) => existsSync(join(folder, specFolder, 'checkpoint.yaml')),
    ],
    [
      'when it is in a journal',
      ({ folder }) => listFolder(join(folder, '.git/orchestration/journal')).length > 0,
    ],
  ])('I2 I3: %s, is finished once by the same call', async (_, hasCome) => {
    const repository = makeSpecRepository();
    repository.git('commit', '--quiet', '--allow-empty', '--message', 'x', '--trailer', 'Tasks: T001');
    const child = startOrch(repository, ['batch', 'complete', '-e', epic]);
    const ended = new Promise((resolve) => child.on('close', resolve));
    // It may be faster than whoever looks: then it was completed, and the same must hold.
    while (child.exitCode === null && !hasCome(repository)) await setImmediate();
    child.kill('SIGKILL');
    await ended;
    expect(runOrch(repository, ['batch', 'complete', '-e', epic]).status).toBe(0);
    await withOrch({ cwd: repository.folder, ...options }, async (orch) => {
      const checkpoints = await listCheckpoints(epic, {}, orch);
      expect(checkpoints.filter(({ trigger }) => trigger === 'batch')).toHaveLength(1);
    });
    const { last_batch, tasks } = parse(readSpecFile(repository, 'checkpoint.yaml')).checkpoint;
    expect([last_batch, tasks.completed]).toEqual([1, [{ id: 'T001', name: 'Add user model' }]]);
  });
});

/** On it, the second that an unreadable lock is believed passes quickly. */
const { elapsed } = makeFastClock();

/** Runs it again, twice, and looks at what there is. */
async function expectFinishedOnce(
  repository: ReturnType<typeof makeSpecRepository>,
  named: { readonly tasks?: string[] },
): Promise<void> {
  await withOrch({ cwd: repository.folder, ...options, clock: { elapsed } }, async (orch) => {
    await completeBatch({ ...request, ...named }, orch);
    const again = await completeBatch({ ...request, ...named }, orch);
    expect(again).toMatchObject({ completed: [], alreadyCompleted: ['T001'], checkpoint: null });
    const { checkpoint } = parse(readSpecFile(repository, 'checkpoint.yaml'));
    expect(checkpoint).toMatchObject({
      last_batch: 1,
      tasks: { completed: [{ id: 'T001' }] },
      next_batch: { number: 2, tasks: [{ id: 'T002' }] },
      deferred_issues: [{ batch: 1, description: 'Naming' }],
    });
    expect(checkpoint.deferred_issues).toHaveLength(1);
    const [first, second] = parse(readSpecFile(repository, 'tasks.yaml')).tasks;
    expect([first.status, second.status]).toEqual(['completed', 'pending']);
    expect(first.evidence.commits).toHaveLength(1);
    const checkpoints = await listCheckpoints(epic, {}, orch);
    const batches = checkpoints.filter(({ trigger }) => trigger === 'batch');
    expect(batches.map(({ summary }) => summary)).toEqual(['Batch 1/4: T001 Add user model']);
    const { document } = await loadCheckpoint(epic, 'latest', orch);
    expect(document.state.issues.T001?.value).toMatchObject({ status: 'done', title: 'Add user model' });
    const deferred = Object.values(document.state.issues).filter(({ value }) => value.status === 'deferred');
    expect(deferred.map(({ value }) => value.title)).toEqual(['Naming']);
  });
}
