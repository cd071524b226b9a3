import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { parseEpicId } from '../../src/ids.ts';
import { loadConvoyPlan, type RunFileOutcome, readConvoy, runConvoy } from '../../src/index.ts';
import type { OrchOptions } from '../../src/orch.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { watchAbort } from '../../src/system/process/signals.ts';
import { using } from '../../src/where.ts';
import { afterTest } from '../support/cleanup.ts';
import { makeProofConvoy, openProof } from '../support/convoy-proof.ts';
import { ranEnvironment, readAttempts } from '../support/convoys.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints, isDeep, makeRandom, runs } from '../support/depth.ts';
import { makeFullDisk } from '../support/full-disk.ts';
import type { TestRepository } from '../support/repository.ts';

/** Has this process schedule the convoy of a repository, from the beginning or from where it is. */
async function schedule(repository: TestRepository, options: OrchOptions = {}): Promise<RunFileOutcome> {
  const path = join(repository.folder, 'plan.yaml');
  const plan = loadConvoyPlan(path);
  const where = { cwd: repository.folder, engine: 'native', trusted: true, ...options } as const;
  return using(where, async (orch) => {
    const convoy = await readConvoy(orch, parseEpicId('auth'));
    return runConvoy(orch, {
      ...{ plan, path, intent: { kind: convoy === null ? 'plain' : 'resume' } },
      effects: { replan: [], as_planned: [], done: [] },
      ...{ budget: null, takeOver: false, requireGreen: false, report: null },
      ...{ epic: undefined, environmentEpic: undefined, ownSession: undefined },
      ...{ byAgent: false, isTrusted: true, resumeCommand: 'orch convoy resume' },
      signals: watchAbort(new AbortController().signal),
      onEvent: () => {},
    });
  });
}

/** What workers that this process starts see. */
function enter(repository: TestRepository): void {
  const more = { ...ranEnvironment(repository), HOME: repository.home };
  for (const [name, value] of Object.entries(more)) {
    const before = process.env[name];
    process.env[name] = value;
    afterTest(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}

/** After a death that was only played: this process no longer holds what it held. Its workers live on. */
function buryScheduler({ folder }: TestRepository): void {
  for (const kind of ['live', 'locks', 'slots', 'worktrees']) {
    const place = join(folder, '.git', 'orchestration', kind);
    if (!existsSync(place)) continue;
    for (const name of readdirSync(place, { withFileTypes: true })) {
      if (!name.isFile()) continue;
      const path = join(place, name.name);
      const text = readFileSync(path, 'utf8');
      const dead = text.replaceAll(`"pid":${process.pid},`, '"pid":4194999,');
      if (dead !== text) writeFileSync(path, dead);
    }
  }
}

/** Schedules until it dies at an operation of the disk; false if the convoy ended before. */
async function scheduleUntilDeath(repository: TestRepository, at: number, torn: boolean): Promise<boolean> {
  const { disk, wrapEngine, hasDied } = makeCrashingDisk({ at, torn });
  try {
    await schedule(repository, { disk, wrapEngine });
  } catch (error) {
    if (!hasDied()) throw error;
  }
  buryScheduler(repository);
  return hasDied();
}

/** Continues until everything is merged: what a dead scheduler began may keep a task waiting once. */
async function finish(repository: TestRepository): Promise<void> {
  let outcome = await schedule(repository);
  for (let tries = 0; statusOf(outcome) === 'resume_needed' && tries < 3; tries++)
    outcome = await schedule(repository);
  expect(statusOf(outcome)).toBe('succeeded');
}

function statusOf(outcome: RunFileOutcome) {
  return outcome.kind === 'ended' ? outcome.run.status : outcome.error.message;
}

describe('a scheduler that dies', () => {
  it.each(isDeep ? [false, true] : [null])(
    'C2, C3, C4, C6: at any operation of its disk, and one that follows merges everything once (torn: %s)',
    async (torn) => {
      for (const at of crashPoints(300)) {
        const repository = makeProofConvoy(['red']);
        enter(repository);
        const proof = await openProof(repository, ['red']);
        const hasDied = await scheduleUntilDeath(repository, at, torn ?? at % 2 === 0);
        await proof.check();
        await finish(repository);
        await proof.checkDone();
        if (!hasDied) break;
      }
    },
    36_000_000,
  );

  it('C2, C3, C4, C6: again and again, with several workers at once', async () => {
    const chance = makeRandom(73);
    for (let round = 0; round < runs(1); round++) {
      const some = ['commits', 'clash-a', 'clash-b', 'red'] as const;
      const repository = makeProofConvoy(some);
      enter(repository);
      const proof = await openProof(repository, some);
      let lives = 0;
      // The more have died, the longer the next one lives.
      while (await scheduleUntilDeath(repository, 100 + Math.ceil(chance() * 150 * ++lives), chance() < 0.5))
        await proof.check();
      await finish(repository);
      await proof.checkDone();
    }
  }, 36_000_000);
});

describe('a scheduler on a full disk', () => {
  it('holds the task for which nothing can be written, with the reason, and does it once there is room', async () => {
    const repository = makeProofConvoy(['leaves']);
    enter(repository);
    const proof = await openProof(repository, ['leaves']);
    let isFull = true;
    const disk: Disk = {
      ...realDisk,
      open: (path, flags, mode) => {
        if (isFull && path.includes('/slots/') && flags === 'wx')
          throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        return realDisk.open(path, flags, mode);
      },
    };
    const outcome = await schedule(repository, { disk });
    expect(statusOf(outcome)).toBe('resume_needed');
    expect(describeHeld(outcome)).toContain('nothing could be written for it: the disk is full');
    expect(readAttempts(repository)).toEqual([]);
    isFull = false;
    expect(statusOf(await schedule(repository, { disk }))).toBe('succeeded');
    await proof.checkDone();
  });

  it('C2, C3: says so and merges nothing wrong; with room everything is merged once', async () => {
    const chance = makeRandom(74);
    const said: string[] = [];
    for (let round = 0; round < runs(1); round++) {
      const repository = makeProofConvoy(['red']);
      enter(repository);
      const proof = await openProof(repository, ['red']);
      const disk = makeFullDisk(2 + Math.ceil(chance() * 90), chance() < 0.5);
      try {
        const outcome = await schedule(repository, { disk });
        if (statusOf(outcome) !== 'succeeded') said.push(describeHeld(outcome));
      } catch (error) {
        said.push(error instanceof Error ? error.message : String(error));
        expect(hasCode(error, 'WRITE_FAILED'), said.at(-1)).toBe(true);
      }
      await proof.check();
      // The same process continues, so what it holds is still its own.
      buryScheduler(repository);
      await finish(repository);
      await proof.checkDone();
    }
    for (const text of said) expect(text).toMatch(/the disk is full/);
  }, 36_000_000);
});

function describeHeld(outcome: RunFileOutcome): string {
  if (outcome.kind !== 'ended') return outcome.error.message;
  return outcome.result?.reason ?? '';
}
