import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseEpicId, parseSessionId, parseWriterId } from '../../src/ids.ts';
import { listEpics, openOrch, renameEpic } from '../../src/index.ts';
import { createJournal } from '../../src/journal/append.ts';
import { journalFolder } from '../../src/journal/read.ts';
import type { Fact } from '../../src/state/facts.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { expectSound, readRefs, repositoryAt } from '../support/checkpoints.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { runOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { buryLockHolders, cost } from '../support/store.ts';

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
  for (const at of crashPoints(8)) {
    const home = makeFolder();
    cpSync(used.folder, join(home, 'repository'), { recursive: true });
    const repository = repositoryAt(home, join(home, 'repository'));
    const crashing = makeCrashingDisk({ at, torn: false });
    const { disk, wrapEngine } = crashing;
    await rename(repository.folder, { disk, wrapEngine }).catch((error) => {
      if (!crashing.hasDied()) throw error;
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
});

it('what another process records while the journals are put away still counts (I4)', async () => {
  const repository = makeRepositoryWithCommit();
  runOrch(repository, ['record', 'cost', '1.25', '-e', 'old']);
  const home = join(repository.folder, '.git', 'orchestration');
  const writer = parseWriterId(JSON.parse(readFileSync(join(home, 'writer.json'), 'utf8')).id);
  const session = parseSessionId('sess-late22');
  const started: Fact = { kind: 'session_started', number: 2, agent: null, parentSessionId: null };
  const records = [started, cost(2)].map((fact) => ({ at: Date.now(), fact }));
  let late: Promise<void> | null = null;
  const disk: Disk = {
    ...realDisk,
    mkdir: (path) => {
      realDisk.mkdir(path);
      if (path === join(home, 'trash'))
        late = createJournal(
          realDisk,
          journalFolder(home),
          { epic: parseEpicId('old'), session, writer },
          records,
        );
    },
  };
  await rename(repository.folder, { disk });
  await (late ?? expect.fail('nothing was recorded meanwhile'));
  const spent = (await moneyOf(repository)).reduce((sum, [, usd]) => sum + usd, 0);
  expect(spent).toBe(1.25 + 2 / 1_000_000);
});
