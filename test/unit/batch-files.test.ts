import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { completeBatch } from '../../src/index.ts';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { makeSpecRepository, readSpecFile, specFolder, tasksYaml } from '../support/specs.ts';
import { epic, withOrch } from '../support/store.ts';

const settings = { ...defaultSettings, snapshot: false };

/** A disk under which something happens once, while a file beside tasks.yaml is on its way. */
function makeDisk(meanwhile: (path: string) => void): Disk {
  let isOver = false;
  return {
    ...realDisk,
    open: (path, flags, mode) => {
      if (!isOver && /\.(tasks|checkpoint)\.yaml\.orch-/.test(path)) {
        isOver = true;
        meanwhile(path);
      }
      return realDisk.open(path, flags, mode);
    },
  };
}

it('a simultaneous change to tasks.yaml is kept, and the batch is still completed', async () => {
  const { folder } = makeSpecRepository();
  const tasks = join(folder, specFolder, 'tasks.yaml');
  const disk = makeDisk(() => writeFileSync(tasks, `${tasksYaml}# a thought\n`));
  const completed = await withOrch({ cwd: folder, engine: 'isomorphic', settings, disk }, (orch) =>
    completeBatch({ epicId: epic }, orch),
  );
  expect(completed.completed).toEqual(['T001']);
  const text = readFileSync(tasks, 'utf8');
  expect(text).toContain('# a thought');
  expect(text).toContain('status: completed # soon');
});

it('I10: a full disk is reported, nothing is half written, and the same call succeeds once there is space', async () => {
  const repository = makeSpecRepository();
  const { folder } = repository;
  const disk = makeDisk(() => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  });
  const options = { cwd: folder, engine: 'isomorphic' as const, settings };
  const refused = withOrch({ ...options, disk }, (orch) => completeBatch({ epicId: epic }, orch));
  await expect(refused).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    message: 'tasks.yaml could not be written: the disk is full',
  });
  expect(readSpecFile(repository, 'tasks.yaml')).toBe(tasksYaml);
  await withOrch(options, (orch) => completeBatch({ epicId: epic }, orch));
  expect(parse(readSpecFile(repository, 'checkpoint.yaml')).checkpoint.last_batch).toBe(1);
});

it('makes a checkpoint only if the policy includes batches, and records the batch once either way', async () => {
  const { folder } = makeSpecRepository();
  const policy = { ...settings.policy, on: [] };
  await withOrch({ cwd: folder, engine: 'isomorphic', settings: { ...settings, policy } }, async (orch) => {
    const first = await completeBatch({ epicId: epic }, orch);
    expect(first.checkpoint?.trigger).toBe('pause');
    expect((await completeBatch({ epicId: epic }, orch)).checkpoint).toBeNull();
  });
});
