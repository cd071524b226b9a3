import { cpSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EngineChoice } from '../../src/git/open-engine.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { makeForgetfulDisk } from '../support/power-loss-disk.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { buryLockHolders, cost, makeFastClock, note, readBack, saveFacts } from '../support/store.ts';

/** A repository with two acknowledged checkpoints. */
async function makeHistory(engine: EngineChoice): Promise<TestRepository> {
  const repository = makeRepositoryWithCommit();
  await saveFacts({ cwd: repository.folder, engine }, [note('one'), cost(100_000)]);
  await saveFacts({ cwd: repository.folder, engine }, [note('two'), cost(20_000)]);
  return repository;
}

/** What must hold after any death: recover once, recover twice, and compare. */
async function expectRecovery(cwd: string, engine: EngineChoice, acknowledged: boolean): Promise<boolean> {
  const clock = makeFastClock();
  buryLockHolders(cwd);
  const found = await readBack({ cwd, engine });
  // I3: the old state or the new, and nothing in between.
  expect(found.damaged).toBe(0);
  expect([2, 3]).toContain(found.seqs.length);
  if (acknowledged) expect(found.notes).toContain('three');
  await saveFacts({ cwd, engine, clock }, [note('after')]);
  const once = await readBack({ cwd, engine });
  const survived = once.notes.includes('three');
  // I4: nothing acknowledged is lost; exactly once, however the death and the recovery fell.
  expect(once.notes).toEqual(survived ? ['one', 'two', 'three', 'after'] : ['one', 'two', 'after']);
  expect(once.costUsd).toBe(survived ? 0.123 : 0.12);
  expect(once.seqs).toEqual(once.seqs.map((_, index) => index + 1));
  await saveFacts({ cwd, engine, clock }, [note('again')]);
  const twice = await readBack({ cwd, engine });
  expect(twice.notes).toEqual([...once.notes, 'again']);
  expect(twice.costUsd).toBe(once.costUsd);
  return survived;
}

function fsck(repository: TestRepository, cwd: string): void {
  expect(repository.git('-C', cwd, 'fsck', '--strict', '--no-dangling')).toBe('');
}

describe.each(['native', 'isomorphic'] as const)('a save with the %s engine', (engine) => {
  it.each([false, true])('I2 I3 I4: may die at any file operation (torn writes: %s)', async (torn) => {
    const repository = await makeHistory(engine);
    const outcomes: boolean[] = [];
    for (const at of crashPoints(torn ? 3 : 14)) {
      const cwd = makeFolder();
      cpSync(repository.folder, cwd, { recursive: true });
      const crashing = makeCrashingDisk({ at, torn });
      const facts = [note('three'), cost(3_000)];
      let acknowledged = false;
      try {
        await saveFacts({ cwd, engine, disk: crashing.disk, wrapEngine: crashing.wrapEngine }, facts);
        acknowledged = true;
      } catch {
        expect(crashing.hasDied()).toBe(true);
      }
      outcomes.push(await expectRecovery(cwd, engine, acknowledged));
      fsck(repository, cwd);
      if (!crashing.hasDied()) break;
    }
    // The walk went from "nothing of it is there" to "all of it is there", through more than a few operations.
    expect(outcomes.length).toBeGreaterThan(3);
    expect(outcomes[0]).toBe(false);
    expect(outcomes.at(-1)).toBe(true);
  });
});

describe('power loss', () => {
  it('I2 I3: may come at any file operation, and takes everything with it that was not waited for', async () => {
    const engine = 'isomorphic';
    const repository = await makeHistory(engine);
    const outcomes: boolean[] = [];
    for (const at of crashPoints(12)) {
      const cwd = makeFolder();
      cpSync(repository.folder, cwd, { recursive: true });
      const { disk, losePower } = makeForgetfulDisk();
      const crashing = makeCrashingDisk({ at, torn: false }, disk);
      let acknowledged = false;
      try {
        await saveFacts({ cwd, engine, disk: crashing.disk }, [note('three'), cost(3_000)]);
        acknowledged = true;
      } catch {
        expect(crashing.hasDied()).toBe(true);
      }
      losePower();
      outcomes.push(await expectRecovery(cwd, engine, acknowledged));
      if (!crashing.hasDied()) break;
    }
    expect(outcomes.length).toBeGreaterThan(3);
    expect(outcomes.at(-1)).toBe(true);
  });

  it('I2: what a save acknowledged is there afterwards, with nothing that was not waited for', async () => {
    const engine = 'isomorphic';
    const repository = makeRepositoryWithCommit();
    const cwd = repository.folder;
    const { disk, losePower } = makeForgetfulDisk();
    await saveFacts({ cwd, engine, disk }, [note('one'), cost(100_000)]);
    losePower();
    expect((await readBack({ cwd, engine })).notes).toEqual(['one']);
    await saveFacts({ cwd, engine, disk }, [note('two'), cost(20_000)]);
    losePower();
    await saveFacts({ cwd, engine, disk }, [note('three'), cost(3_000)]);
    losePower();
    const found = await readBack({ cwd, engine });
    expect(found.notes).toEqual(['one', 'two', 'three']);
    expect(found.costUsd).toBe(0.123);
    fsck(repository, cwd);
  });
});
