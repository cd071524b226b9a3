import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { listUndos } from '../../src/git/worktree/undo-refs.ts';
import { type Orch, openOrch, restoreCheckpoint, undoRestore } from '../../src/index.ts';
import { expectSound, listFiles, save } from '../support/checkpoints.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { orchBin } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { lookAtFiles, lookAtGit } from '../support/restored.ts';

const restore = { epicId: 'x', name: '1' };

/** Files that all differ between then and now; a folder became a file, others are ignored by now. */
async function makeWork(files: number): Promise<TestRepository> {
  const repository = makeRepositoryWithCommit();
  const write = (index: number, text: string) => {
    const folder = join(repository.folder, `f${index % 10}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${index}`), `${text} ${index}\n`.repeat(20));
  };
  for (let index = 0; index < files; index++) write(index, 'then');
  await save(repository, ['then']);
  rmSync(join(repository.folder, 'f0'), { recursive: true });
  repository.write('f0', 'a file now\n');
  repository.write('.gitignore', 'f1\n');
  for (let index = 0; index < files + 10; index++) if (index % 10 !== 0) write(index, 'now');
  return repository;
}

/** Locks of a dead process are passed over after ten seconds; no test waits for that. */
function removeLocks({ folder }: TestRepository): void {
  rmSync(join(folder, '.git/orchestration/locks'), { recursive: true, force: true });
  for (const refs of ['refs/orchestration', 'refs/orchestration-local']) {
    const top = join(folder, '.git', refs);
    for (const path of listFiles(top)) if (path.endsWith('.lock')) rmSync(path);
  }
}

/** Is the newest restore or undo of the main worktree complete, and an undo? */
async function isLastComplete({ folder }: TestRepository): Promise<boolean> {
  const orch = await openOrch({ cwd: folder });
  const last = (await listUndos(orch)).at(-1);
  orch.close();
  return last?.undo.isFinished === true && last.undo.undoes !== null;
}

/** Does work on a disk that dies; says whether it did. */
async function dieAt(
  repository: TestRepository,
  at: number,
  work: (orch: Orch) => Promise<unknown>,
): Promise<boolean> {
  const crashing = makeCrashingDisk({ at, torn: false });
  const orch = await openOrch({
    cwd: repository.folder,
    disk: crashing.disk,
    wrapEngine: crashing.wrapEngine,
  });
  await work(orch).catch((error: unknown) => {
    if (!crashing.hasDied()) throw error;
  });
  orch.close();
  removeLocks(repository);
  return crashing.hasDied();
}

/** Kills a restore, and the git it started, once the first file is gone. Was it still at work? */
async function killHalfWay(
  repository: TestRepository,
  args: readonly string[],
  first: string,
): Promise<boolean> {
  const child = spawn(process.execPath, [orchBin, 'restore', ...args, '-y'], {
    cwd: repository.folder,
    env: cleanEnvironment(repository.home),
    stdio: 'ignore',
    detached: true, // a group of its own, to be killed whole
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const path = join(repository.folder, first);
  await vi.waitFor(() => expect(existsSync(path) && child.exitCode === null).toBe(false), {
    timeout: 60_000,
    interval: 1,
  });
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  await ended;
  removeLocks(repository);
  return child.signalCode === 'SIGKILL';
}

it('I3: dead at any operation on the disk, a restore and its undo can be run again, and undone', async () => {
  const repository = await makeWork(12);
  const where = { cwd: repository.folder };
  const own = lookAtGit(repository);
  const before = lookAtFiles(repository.folder);
  await restoreCheckpoint(restore, where);
  const wanted = lookAtFiles(repository.folder);
  await undoRestore({}, where);
  for (const at of crashPoints(500)) {
    const died = await dieAt(repository, at, (orch) => restoreCheckpoint(restore, orch));
    expect([before, wanted]).toContainEqual(lookAtFiles(repository.folder));
    await restoreCheckpoint(restore, where);
    expect([at, lookAtFiles(repository.folder)]).toEqual([at, wanted]);
    await undoRestore({}, where);
    expect([at, lookAtFiles(repository.folder)]).toEqual([at, before]);
    if (!died) break;
  }
  for (const at of crashPoints(500)) {
    await restoreCheckpoint(restore, where);
    const died = await dieAt(repository, at, (orch) => undoRestore({}, orch));
    expect([before, wanted]).toContainEqual(lookAtFiles(repository.folder));
    const wasComplete = died && (await isLastComplete(repository)); // it died behind its end, unheard
    if (died && !wasComplete) await undoRestore({}, where);
    expect([at, lookAtFiles(repository.folder)]).toEqual([at, before]);
    if (!died) break;
  }
  expect(lookAtGit(repository)).toEqual(own);
  expectSound(repository);
});

it('I2: killed while files change, a second run and an undo both come to the right end', async () => {
  const repository = await makeWork(1_000);
  const where = { cwd: repository.folder };
  const before = lookAtFiles(repository.folder);
  await killHalfWay(repository, ['1', '-e', 'x'], 'f9/1009');
  expect(lookAtFiles(repository.folder)).not.toEqual(before);
  await undoRestore({}, where);
  expect(lookAtFiles(repository.folder)).toEqual(before);

  await killHalfWay(repository, ['1', '-e', 'x'], 'f9/1009');
  await restoreCheckpoint(restore, where);
  const wanted = lookAtFiles(repository.folder);
  expect(Object.values(wanted).filter((content) => content.startsWith('644 then'))).toHaveLength(1_000);
  if (await killHalfWay(repository, ['--undo'], 'f0/10')) await undoRestore({}, where);
  expect(lookAtFiles(repository.folder)).toEqual(before);
  await undoRestore({}, where);
  expect(lookAtFiles(repository.folder)).toEqual(wanted);
  expectSound(repository);
});
