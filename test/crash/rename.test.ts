import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listEpics, openOrch, renameEpic } from '../../src/index.ts';
import { expectSound, readRefs, repositoryAt } from '../support/checkpoints.ts';
import { Died, makeCrashingDisk } from '../support/crash-disk.ts';
import { runOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { buryLockHolders } from '../support/store.ts';

/** In an ordinary run it dies at every so many operations; `CRASH_STEP=1` dies at all of them. */
const step = Math.min(4, Number(process.env.CRASH_STEP ?? 4));

async function rename(cwd: string, more: Partial<Parameters<typeof openOrch>[0]> = {}): Promise<void> {
  const orch = await openOrch({ cwd, ...more });
  try {
    await renameEpic('old', 'new', orch);
  } finally {
    orch.close();
  }
}

/** The epics by name with what they spent: after a death either one, or both while it is not finished. */
async function moneyOf({ folder }: TestRepository): Promise<[string, number][]> {
  const { epics } = await listEpics({}, { cwd: folder });
  return epics.map(({ epicId, budget }) => [epicId, budget.spentUsd]);
}

it('a rename that dies anywhere loses nothing, and the same call finishes it (I3)', async () => {
  const used = makeRepositoryWithCommit();
  runOrch(used, ['cost', 'budget', '5', '-e', 'old']);
  runOrch(used, ['record', 'cost', '1.25', '-e', 'old']);
  runOrch(used, ['checkpoint', 'create', '-e', 'old']);
  let deaths = 0;
  for (let at = 1; ; at += step) {
    const home = makeFolder();
    cpSync(used.folder, join(home, 'repository'), { recursive: true });
    const repository = repositoryAt(home, join(home, 'repository'));
    const crashing = makeCrashingDisk({ at, torn: false });
    const { disk, wrapEngine } = crashing;
    await rename(repository.folder, { disk, wrapEngine }).catch((error) => {
      if (!(error instanceof Died)) throw error;
    });
    const whole = { at, money: await moneyOf(repository) };
    if (crashing.hasDied()) {
      deaths++;
      buryLockHolders(repository.folder);
      expect(whole.money.every(([, spent]) => spent === 1.25)).toBe(true);
      if (whole.money.some(([epic]) => epic === 'old')) await rename(repository.folder);
    }
    expect([at, await moneyOf(repository)]).toEqual([at, [['new', 1.25]]]);
    expect(readRefs(repository)).not.toContain('/old');
    expectSound(repository);
    if (!crashing.hasDied()) break;
  }
  expect(deaths).toBeGreaterThan(5);
}, 180_000);
