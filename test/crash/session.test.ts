import { cpSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Orch } from '../../src/orch.ts';
import type { RunningSession } from '../../src/record/ports.ts';
import { record } from '../../src/record/record.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import { recoverInterrupted } from '../../src/session/recover.ts';
import type { Fact } from '../../src/state/facts.ts';
import { realDisk } from '../../src/system/disk.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { makeForgetfulDisk } from '../support/power-loss-disk.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { bury, expectRecovery, goOn, start, withoutTree } from '../support/sessions.ts';
import { cost, epic, makeFastClock, note, withOrch } from '../support/store.ts';

/** What a process does until it dies. Facts are acknowledged when what recorded them returns. */
type Work = (orch: Orch, target: RunningSession, acknowledge: (...facts: Fact[]) => void) => Promise<void>;
type Scenario = {
  /** Has the session that the work is about died before? */
  readonly isDead?: true;
  readonly work: Work;
  /** All that it tries to record. */
  readonly facts: readonly Fact[];
};

const [a, b, c] = [note('a'), note('b'), note('c')];

const scenarios: { readonly [name: string]: Scenario } = {
  'a start': {
    isDead: true,
    facts: [],
    work: async (orch) => void (await start(orch, { budget: '5' })),
  },
  'records, with the checkpoint that is due': {
    facts: [a, cost(7), b, cost(11)],
    work: async (orch, target, acknowledge) => {
      await record(orch, target, [a, cost(7)]);
      acknowledge(a, cost(7));
      await record(orch, target, [b, cost(11)], { trigger: 'interval', reason: null, onlyIfChanged: true });
      acknowledge(b, cost(11));
    },
  },
  'the cost that uses the budget up': {
    facts: [a, cost(900_000)],
    work: async (orch, target, acknowledge) => {
      const { verdict, stored } = await record(orch, target, [a, cost(900_000)]);
      acknowledge(a, cost(900_000));
      expect(verdict.stop).not.toBeNull();
      expect(stored?.checkpoint.trigger).toBe('budget');
    },
  },
  'a pause': {
    facts: [a],
    work: async (orch, target, acknowledge) => {
      await record(orch, target, [a]);
      acknowledge(a);
      await endSession(orch, target, 'pause', 'enough');
    },
  },
  'a completion': {
    facts: [],
    work: async (orch, target) => void (await endSession(orch, target, 'complete', null)),
  },
  'a recovery': {
    isDead: true,
    facts: [],
    work: async (orch) => void (await recoverInterrupted(orch, epic, withoutTree)),
  },
  'a resumed session': {
    isDead: true,
    facts: [a, cost(3)],
    work: async (orch, _, acknowledge) => {
      const { target } = await goOn(orch);
      await record(orch, target, [a, cost(3)]);
      acknowledge(a, cost(3));
      await endSession(orch, target, 'pause', null);
    },
  },
};

/** What every scenario begins with: a running session, some of it in checkpoints and some not. */
const before = [c, cost(250_000), note('d'), cost(1)];

async function prepare(options: Parameters<typeof withOrch>[0], settings = withoutTree) {
  return withOrch(options, async (orch) => {
    const earlier = await start(orch, { budget: '1' });
    await endSession(orch, earlier.target, 'pause', null);
    const { target } = await start(orch, { settings });
    await record(orch, target, before.slice(0, 2), { trigger: 'manual', reason: null });
    await record(orch, target, before.slice(2));
    return target;
  });
}

function expectWhole(repository: TestRepository, cwd: string): void {
  expect(repository.git('-C', cwd, 'fsck', '--strict', '--connectivity-only', '--no-dangling')).toBe('');
}

/** Lets a scenario die at one operation after the other; returns the first that it never came to. */
async function dieEverywhere(
  { work, facts, isDead }: Scenario,
  how: { readonly torn: boolean; readonly powerLoss: boolean; readonly snapshots?: true },
): Promise<number> {
  const engine = how.snapshots ? 'native' : 'isomorphic';
  const repository = makeRepositoryWithCommit();
  const settings = { ...withoutTree, snapshot: how.snapshots === true };
  const target = await prepare({ cwd: repository.folder, engine }, settings);
  repository.write('README', 'changed since the last snapshot\n');
  if (isDead) bury(repository.folder);
  for (const at of crashPoints(how.torn ? 8 : 55)) {
    const cwd = makeFolder();
    cpSync(repository.folder, cwd, { recursive: true });
    const forgetful = makeForgetfulDisk();
    const crashing = makeCrashingDisk({ at, torn: how.torn }, how.powerLoss ? forgetful.disk : realDisk);
    const acknowledged: Fact[] = [...before];
    const options = { cwd, engine, disk: crashing.disk, wrapEngine: crashing.wrapEngine } as const;
    await withOrch(options, (orch) => work(orch, target, (...said) => acknowledged.push(...said))).catch(
      (error) => {
        if (!crashing.hasDied()) throw error;
      },
    );
    if (how.powerLoss) forgetful.losePower();
    const { snapshots } = await withOrch({ cwd, engine, clock: makeFastClock() }, (orch) =>
      expectRecovery(orch, cwd, acknowledged, [...before, ...facts]),
    );
    if (how.snapshots) expect(snapshots.length).toBeGreaterThan(0);
    for (const snapshot of snapshots)
      repository.git('-C', cwd, 'rev-parse', '--verify', `${snapshot}^{tree}`);
    if (at % 4 === 1) expectWhole(repository, cwd);
    if (!crashing.hasDied()) return at;
  }
  return 0;
}

describe.each(Object.entries(scenarios).map(([name, scenario]) => ({ name, scenario })))(
  'I2 I3 I4: $name',
  ({ scenario }) => {
    it.each([
      ['an operation', { torn: false, powerLoss: false }, 30],
      ['a torn write', { torn: true, powerLoss: false }, 4],
      ['a power loss', { torn: false, powerLoss: true }, 30],
    ])('may die at any point (%s)', async (_, how, least) => {
      expect(await dieEverywhere(scenario, how)).toBeGreaterThan(least);
    });
  },
);

it('I2 I3: a session with snapshots may die at any point, and every snapshot that is spoken of is there', async () => {
  const work: Work = async (orch, target, acknowledge) => {
    await record(orch, target, [a], { trigger: 'interval', reason: null, onlyIfChanged: true });
    acknowledge(a);
    await endSession(orch, target, 'pause', null);
  };
  const how = { torn: false, powerLoss: false, snapshots: true } as const;
  expect(await dieEverywhere({ work, facts: [a] }, how)).toBeGreaterThan(30);
});
