import { cpSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { openOrch, saveCheckpoint } from '../../src/index.ts';
import { expectSound, fail, repositoryAt, show } from '../support/checkpoints.ts';
import { orchJson, runOrch, startOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

// Many processes: a loaded machine takes many times as long.
vi.setConfig({ testTimeout: 180_000 });

/** Runs `orch` on epic x at an hour of a fixed day, so that no test begins before midnight and ends after it. */
function run(repository: TestRepository, ...args: string[]) {
  const ran = runOrch(repository, [...args, '-e', 'x'], today);
  expect({ args, status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
  return ran;
}

const noon = '2026-11-16T12:00:00Z';
const today = { env: { ORCH_NOW: noon, TZ: 'UTC' } };
const tomorrow = { env: { ORCH_NOW: '2026-11-17T00:00:01Z', TZ: 'UTC' } };

type Session = { id: string; number: number; status: string; costUsd: number; checkpointCount: number };

const sessionsOf = (repository: TestRepository) =>
  orchJson<{ sessions: Session[] }>(repository, ['session', 'list']).sessions;
const statusOf = (repository: TestRepository) =>
  orchJson<{ session: Session }>(repository, ['session', 'status', '-e', 'x']).session.status;

function snapshotRefs(repository: TestRepository): string[] {
  const refs = repository.git('for-each-ref', '--format=%(refname)', 'refs/orchestration/snapshots');
  return refs.split('\n').filter((ref) => ref !== '');
}

/** The notes of every checkpoint's own events, the oldest first. */
function notesOf(repository: TestRepository): string[] {
  const { total } = orchJson<{ total: number }>(repository, ['checkpoint', 'list', '-e', 'x']);
  return Array.from({ length: total }, (_, index) => show(repository, String(index + 1)).document.events)
    .flat()
    .flatMap(({ fact }) => (fact.kind === 'note' ? [fact.text] : []));
}

describe('calls where no session runs', () => {
  it('share a session and a snapshot ref, fifty of them in a day, and each is there once', async () => {
    const repository = makeRepositoryWithCommit();
    const orch = await openOrch({ cwd: repository.folder, clock: { now: () => Date.parse(noon) } });
    for (let call = 0; call < 40; call++) {
      repository.write('file', `${call}\n`);
      const facts = [{ kind: 'note' as const, id: `n${call}`, text: `note ${call}` }];
      await saveCheckpoint({ epicId: 'x', facts }, orch);
    }
    orch.close();
    for (let call = 40; call < 47; call++) run(repository, 'record', 'note', `note ${call}`);
    run(repository, 'record', 'cost', '0.25');
    run(repository, 'cost', 'budget', '20');
    run(repository, 'checkpoint', 'create');
    expect(snapshotRefs(repository)).toHaveLength(1);
    expect(sessionsOf(repository)).toMatchObject([
      { number: 1, status: 'paused', costUsd: 0.25, checkpointCount: 50 },
    ]);
    expect(notesOf(repository)).toEqual(Array.from({ length: 47 }, (_, index) => `note ${index}`));
    // Every state of the file can still be had.
    expect(repository.git('show', `${show(repository, '7').document.snapshot}:file`)).toBe('6');
    expect(runOrch(repository, ['log', 'x']).stdout.match(/^s\d/gm)).toEqual(['s1']);
    expectSound(repository);

    expect(runOrch(repository, ['record', 'note', 'next day', '-e', 'x'], tomorrow).status).toBe(0);
    expect(sessionsOf(repository).map(({ number }) => number)).toEqual([2, 1]);
    expect(snapshotRefs(repository)).toHaveLength(2);
  });

  it('share it too when they are made at the same moment', async () => {
    const repository = makeRepositoryWithCommit();
    const calls = Array.from({ length: 10 }, (_, index) => {
      repository.write(`file-${index}`, `${index}\n`);
      const args = index % 2 ? ['record', 'cost', '0.01'] : ['record', 'note', `note ${index}`];
      const child = startOrch(repository, [...args, '-e', 'x'], today);
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (text) => {
        stderr += text;
      });
      return new Promise((resolve) => child.on('close', (status) => resolve({ status, stderr })));
    });
    for (const ended of await Promise.all(calls)) expect(ended).toEqual({ status: 0, stderr: '' });
    expect(sessionsOf(repository)).toMatchObject([{ status: 'paused', costUsd: 0.05 }]);
    expect(snapshotRefs(repository)).toHaveLength(1);
    expect(notesOf(repository).sort()).toEqual(['note 0', 'note 2', 'note 4', 'note 6', 'note 8']);
    expectSound(repository);
  });

  it('over the budget end with 4, and the session says so until there is more money', () => {
    const repository = makeRepositoryWithCommit();
    run(repository, 'cost', 'budget', '1');
    expect(runOrch(repository, ['record', 'cost', '2', '-e', 'x'], today).status).toBe(4);
    expect(statusOf(repository)).toBe('budget_exceeded');
    run(repository, 'cost', 'budget', '10');
    expect(statusOf(repository)).toBe('paused');
    expect(runOrch(repository, ['record', 'cost', '9', '-e', 'x'], today).status).toBe(4);
    expect(statusOf(repository)).toBe('budget_exceeded');
    run(repository, 'session', 'complete');
    expect(statusOf(repository)).toBe('completed');
    expect(sessionsOf(repository)).toHaveLength(1);
  });

  it('do not reopen an epic that is completed, and completing twice completes once', () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['start', '-e', 'x', '--no-baseline', '--', 'true'], today);
    run(repository, 'session', 'complete', '--reason', 'all done');
    expect(statusOf(repository)).toBe('completed');
    const again = run(repository, 'session', 'complete');
    expect(again.stderr).toContain('x is already completed; nothing was changed');
    const { total } = orchJson<{ total: number }>(repository, ['checkpoint', 'list', '-e', 'x']);

    run(repository, 'record', 'note', 'an afterthought');
    expect(statusOf(repository)).toBe('completed');
    repository.write('README', 'changed\n');
    run(repository, 'checkpoint', 'create');
    run(repository, 'restore', '1', '-y');
    expect(statusOf(repository)).toBe('completed');
    expect(sessionsOf(repository)).toHaveLength(2);
    expect(orchJson(repository, ['checkpoint', 'list', '-e', 'x'])).toMatchObject({ total: total + 4 });
    run(repository, 'session', 'complete');
    expect(orchJson(repository, ['checkpoint', 'list', '-e', 'x'])).toMatchObject({ total: total + 4 });
    expect(fail(repository, ['session', 'pause', '-e', 'x'])).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  it('can be completed, long after the first of them, in their own session', () => {
    const repository = makeRepositoryWithCommit();
    for (const text of ['one', 'two', 'three', 'four']) run(repository, 'record', 'note', text);
    run(repository, 'session', 'complete');
    run(repository, 'record', 'note', 'five');
    expect(sessionsOf(repository)).toMatchObject([{ number: 1, status: 'completed', checkpointCount: 6 }]);
  });
});

describe('calls in several clones', () => {
  it('share one session in each, and a sync carries all of it', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    for (let round = 0; round < 3; round++) {
      for (const [name, clone] of [['laptop', laptop] as const, ['desk', desk] as const]) {
        clone.write('file', `${name} ${round}\n`);
        run(clone, 'record', 'note', `${name} ${round}`);
        run(clone, 'record', 'cost', '0.10');
        expect(await syncIn(clone)).toMatchObject({ skipped: [], errors: [] });
      }
    }
    await syncIn(laptop);
    for (const clone of [laptop, desk]) {
      expect(sessionsOf(clone)).toHaveLength(2);
      expect(runOrch(clone, ['cost', '-e', 'x']).stdout).toContain('$0.60');
      expect(snapshotRefs(clone)).toHaveLength(1);
    }
    expect(snapshotRefs(hub)).toHaveLength(2);
    expectSound(hub);
  });

  it('are each their own after a clone was copied or moved', () => {
    const original = makeRepositoryWithCommit();
    run(original, 'record', 'note', 'before');
    const copy = repositoryAt(original.home, join(original.home, 'copy'));
    cpSync(original.folder, copy.folder, { recursive: true });
    run(copy, 'record', 'note', 'in the copy');
    run(original, 'record', 'note', 'in the original');
    expect(sessionsOf(copy)).toHaveLength(2);
    expect(sessionsOf(original)).toHaveLength(1);
    const moved = repositoryAt(original.home, join(original.home, 'moved'));
    renameSync(copy.folder, moved.folder);
    run(moved, 'record', 'note', 'moved');
    run(moved, 'record', 'note', 'and again');
    expect(sessionsOf(moved)).toHaveLength(3);
  });

  it('with one writer after the other, as in CI, can all be sent', async () => {
    const hub = makeHub();
    const pinned = { env: { ORCH_WRITER: 'ci', ORCH_NOW: noon, TZ: 'UTC' } };
    for (let job = 0; job < 3; job++) {
      const clone = cloneOf(hub, `job-${job}`);
      runOrch(clone, ['sync', '-y'], pinned);
      clone.write('file', `${job}\n`);
      expect(runOrch(clone, ['checkpoint', 'create', '-e', 'x'], pinned).status).toBe(0);
      const sent = runOrch(clone, ['sync', '-y'], pinned);
      expect(sent).toMatchObject({ status: 0, stdout: expect.stringContaining('snapshots') });
      expect(sent.stderr).not.toContain('other snapshots');
    }
    expect(snapshotRefs(hub)).toHaveLength(3);
  });
});
