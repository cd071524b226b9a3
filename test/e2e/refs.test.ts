import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { identifyThisProcess } from '../../src/system/process/identity.ts';
import {
  create,
  engines,
  epicRef,
  expectSound,
  fail,
  list,
  readRefs,
  readText,
  reasonsOf,
  save,
  show,
  verify,
} from '../support/checkpoints.ts';
import { orchJson, runOrch, startOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/** Waits for a started process. */
async function finish(child: ReturnType<typeof startOrch>) {
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, stderr };
}

/** A ref as a power loss may leave it. */
function empty(repository: TestRepository): void {
  repository.git('update-ref', epicRef, 'main');
  repository.write(`.git/${epicRef}`, '');
}

describe.each(engines)('refs and objects as git keeps them (%s)', (engine) => {
  const env = { ORCH_ENGINE: engine };

  it('packed refs are read, and moved', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one', 'two']);
    repository.git('pack-refs', '--all');
    expect(existsSync(join(repository.folder, '.git', epicRef))).toBe(false);
    expect(reasonsOf(list(repository, { env }))).toEqual(['two', 'one']);
    const made = create(repository, 'three', { env });
    expect(repository.git('rev-parse', epicRef)).toBe(made.commit);
    repository.git('pack-refs', '--all');
    expect(orchJson(repository, ['checkpoint', 'list'], { env })).toMatchObject({ epicId: 'x', total: 3 });
    expectSound(repository);
  });

  it('packed objects are read, and built upon', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one', 'two']);
    repository.git('gc', '--quiet', '--prune=now');
    expect(readdirSync(join(repository.folder, '.git/objects')).sort()).toEqual(['info', 'pack']);
    expect(show(repository, '1', { env }).document.reason).toBe('one');
    create(repository, 'three', { env });
    expect(reasonsOf(list(repository, { env }))).toEqual(['three', 'two', 'one']);
    expect(verify(repository, { env })).toMatchObject({ status: 0, found: { checked: 3, damaged: [] } });
    expectSound(repository);
  });

  it('an empty folder where the ref goes is no obstacle, as it is none for git', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, '.git', epicRef), { recursive: true });
    const made = create(repository, 'one', { env });
    expect(repository.git('rev-parse', epicRef)).toBe(made.commit);
  });

  it('a symbolic ref in our place is not followed: the branch it points to never moves', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('symbolic-ref', epicRef, 'refs/heads/main');
    const before = readRefs(repository);
    for (const args of [
      ['create', '--epic', 'x'],
      ['list', '--epic', 'x'],
      ['show', '--epic', 'x'],
    ]) {
      const error = fail(repository, ['checkpoint', ...args], { env });
      expect(error).toMatchObject({ status: 6, code: 'INTEGRITY', hint: expect.any(String) });
    }
    expect(readRefs(repository)).toBe(before);
    expect(repository.git('log', '--format=%s', 'main')).toBe('first');
    expect(existsSync(join(repository.folder, '.git/refs/heads/main.lock'))).toBe(false);
  });

  it.each<[string, (repository: TestRepository) => unknown]>([
    ['symbolic', (repository) => repository.git('symbolic-ref', epicRef, 'refs/heads/main')],
    ['empty after a power loss', empty],
    ['deeper than an epic', (repository) => repository.git('update-ref', `${epicRef}/deep`, 'main')],
    ['no epic id', (repository) => repository.git('update-ref', `${epicRef}+y`, 'main')],
  ])('a ref that is %s does not stand in the way of other epics', (_, spoil) => {
    const repository = makeRepositoryWithCommit();
    spoil(repository);
    for (const epic of ['new', 'newer'])
      orchJson(repository, ['checkpoint', 'create', '--epic', epic], { env });
    expect(orchJson(repository, ['checkpoint', 'list', 'new'], { env })).toMatchObject({ total: 1 });
  });

  it.each([
    ['a tag', ['tag', '--annotate', '--message=tag', 'v1'], 'v1'],
    ['a blob', ['status'], 'HEAD:README'],
  ])('a ref that points to %s is damage, never an empty epic', (_, prepare, target) => {
    const repository = makeRepositoryWithCommit();
    repository.git(...prepare);
    repository.git('update-ref', epicRef, target);
    for (const command of ['list', 'show', 'create'])
      expect(fail(repository, ['checkpoint', command, '--epic', 'x'], { env }).code).toBe('INTEGRITY');
    expect(verify(repository, { env }).status).toBe(6);
  });
});

describe('locks that others left', () => {
  const create = ['checkpoint', 'create', '--epic', 'x', '--reason', 'in spite of it'];

  function writeOwnLock(repository: TestRepository, holder: string): string {
    const folder = join(repository.folder, '.git/orchestration/locks');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'x.lock'), holder);
    return join(folder, 'x.lock');
  }

  /** How many objects are not packed. */
  function countLoose(repository: TestRepository): number {
    return Number(repository.git('count-objects').split(' ')[0]);
  }

  it("a ref's lock that nobody touches is waited for, then removed, and said; in any language", async () => {
    const runs = engines.map(async (engine) => {
      const repository = makeRepositoryWithCommit();
      await save(repository, ['before']);
      const before = countLoose(repository);
      repository.write(`.git/${epicRef}.lock`, '');
      const env = { ORCH_ENGINE: engine, LC_ALL: 'C.UTF-8', LANGUAGE: 'de' };
      const ran = await finish(startOrch(repository, create, { env }));
      return { repository, ran, written: countLoose(repository) - before };
    });
    const ended = await Promise.all(runs);
    for (const { repository, ran } of ended) {
      expect(ran.status).toBe(0);
      expect(ran.stderr).toContain(`${epicRef}.lock`);
      expect(reasonsOf(list(repository))[0]).toBe('in spite of it');
      expect(existsSync(join(repository.folder, `.git/${epicRef}.lock`))).toBe(false);
      expect(readText(repository.folder, '.git/orchestration/logs/orch.log')).toContain(`${epicRef}.lock`);
    }
    // Waiting is no reason to write the checkpoint hundreds of times.
    for (const { written } of ended) expect(written).toBeLessThan(50);
  });

  it("a ref's lock that is let go of is not taken away", async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['before']);
    const before = countLoose(repository);
    const lock = join(repository.folder, `.git/${epicRef}.lock`);
    writeFileSync(lock, '');
    const run = finish(startOrch(repository, create));
    const isWritten = () => expect(countLoose(repository)).toBeGreaterThan(before + 4);
    await vi.waitFor(isWritten, { timeout: 10_000, interval: 5 });
    rmSync(lock);
    expect(await run).toEqual({ status: 0, stderr: '' });
    expect(reasonsOf(list(repository))[0]).toBe('in spite of it');
  });

  it.each([
    ['died', () => ({ pid: spawnSync('true').pid })],
    ['died, and whose number another got', () => ({ startedAt: '1' })],
    ['ran before the machine was started again', () => ({ boot: 'another' })],
  ])("orch's own lock, of a process that %s, holds nobody up", (_, differing) => {
    const repository = makeRepositoryWithCommit();
    const holder = JSON.stringify({ ...identifyThisProcess(), ...differing() });
    const lock = writeOwnLock(repository, `${holder}\nabcdefgh`);
    expect(runOrch(repository, create)).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(lock)).toBe(false);
  });

  it("orch's own lock that was torn holds nobody up for long", () => {
    const repository = makeRepositoryWithCommit();
    writeOwnLock(repository, '{"host":"ab');
    expect(runOrch(repository, create).status).toBe(0);
  });

  it('nor does it wait for ever when the clock stands still', async () => {
    const repository = makeRepositoryWithCommit();
    writeOwnLock(repository, '{"host":"ab');
    const child = startOrch(repository, create, { env: { ORCH_NOW: '2026-03-01T10:00:00Z' } });
    const run = finish(child);
    try {
      await vi.waitFor(() => expect(child.exitCode).toBe(0), { timeout: 60_000, interval: 20 });
    } finally {
      child.kill('SIGKILL');
      await run;
    }
  });

  it.each(engines)('locks of other things do not matter, and stay (%s)', async (engine) => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['before']);
    repository.git('pack-refs', '--all');
    const locks = ['packed-refs.lock', 'index.lock', 'shallow.lock', 'objects/maintenance.lock', 'gc.pid'];
    for (const name of locks) repository.write(`.git/${name}`, '');
    expect(runOrch(repository, create, { env: { ORCH_ENGINE: engine } })).toMatchObject({
      status: 0,
      stderr: '',
    });
    for (const name of locks) expect(readText(repository.folder, '.git', name)).toBe('');
  });
});
