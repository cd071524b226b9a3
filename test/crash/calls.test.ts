import { cpSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readView } from '../../src/record/view.ts';
import { findDestination } from '../../src/record/which/which-session.ts';
import { recordTo } from '../../src/session/calls.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import type { Fact } from '../../src/state/facts.ts';
import { realDisk } from '../../src/system/disk.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { makeForgetfulDisk } from '../support/power-loss-disk.ts';
import { makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';
import { bury, goOn, notesIn, readHistory, sumOf, withoutTree } from '../support/sessions.ts';
import { cost, epic, makeFastClock, note, withOrch } from '../support/store.ts';

const noon = Date.UTC(2027, 0, 15, 12);
const clock = { now: () => noon };

async function call(options: Parameters<typeof withOrch>[0], facts: readonly Fact[], hasTree: boolean) {
  const settings = { ...withoutTree, snapshot: hasTree };
  return withOrch({ clock, ...options }, (orch) =>
    recordTo(orch, findDestination(orch, epic, settings, null), facts),
  );
}

const first = [note('first'), cost(5)];
const second = [note('second'), cost(7)];
const third = [note('third'), cost(11)];

describe('I2 I3: a call that shares the session of the one before', () => {
  it.each([
    ['an operation', { torn: false, powerLoss: false, hasTree: false }, 30, 8],
    ['a torn write', { torn: true, powerLoss: false, hasTree: false }, 4, 2],
    ['a power loss', { torn: false, powerLoss: true, hasTree: false }, 30, 8],
    ['an operation, with the files', { torn: false, powerLoss: false, hasTree: true }, 30, 20],
  ])('may die at any point (%s): all of it counts, or nothing', async (_, how, least, stride) => {
    const { torn, powerLoss, hasTree } = how;
    const engine = hasTree ? 'native' : 'isomorphic';
    const repository = makeRepositoryWithCommit();
    await call({ cwd: repository.folder, engine }, first, hasTree);
    repository.write('README', 'changed\n');
    let last = 0;
    for (const at of crashPoints(stride)) {
      last = at;
      const cwd = makeFolder();
      cpSync(repository.folder, cwd, { recursive: true });
      const forgetful = makeForgetfulDisk();
      const crashing = makeCrashingDisk({ at, torn }, powerLoss ? forgetful.disk : realDisk);
      const { disk, wrapEngine } = crashing;
      let isAcknowledged = false;
      try {
        await call({ cwd, engine, disk, wrapEngine }, second, hasTree);
        isAcknowledged = true;
      } catch (error) {
        if (!crashing.hasDied()) throw error;
      }
      if (powerLoss) forgetful.losePower();
      bury(cwd);
      const elapsed = makeFastClock().elapsed;
      await call({ cwd, engine, clock: { ...clock, elapsed } }, third, hasTree);
      await withOrch({ cwd, engine, clock }, async (orch) => {
        const { events, micros, sessions, snapshots } = await readHistory(orch);
        const said = events.map(({ fact }) => fact);
        const counts = notesIn(events).includes('second');
        expect(notesIn(events).toSorted()).toEqual(
          counts ? ['first', 'second', 'third'] : ['first', 'third'],
        );
        expect(micros, 'all of a call, or nothing').toBe(
          sumOf([...first, ...(counts ? second : []), ...third]),
        );
        if (isAcknowledged) expect(counts).toBe(true);
        expect(said.filter(({ kind }) => kind === 'session_started')).toHaveLength(1);
        expect(Object.values(sessions)).toMatchObject([{ status: 'paused', number: 1 }]);
        expect(snapshots.length > 0).toBe(hasTree);
      });
      if (hasTree) {
        const refs = repository.git('-C', cwd, 'for-each-ref', 'refs/orchestration/snapshots');
        expect(refs.split('\n')).toHaveLength(1);
        expect(repository.git('-C', cwd, 'fsck', '--strict', '--connectivity-only', '--no-dangling')).toBe(
          '',
        );
      }
      if (!crashing.hasDied()) break;
    }
    expect(last).toBeGreaterThan(least);
  });
});

it('I4: calls of a day whose journals are long gone still share their session', async () => {
  const { folder: cwd } = makeRepositoryWithCommit();
  for (let round = 0; round < 130; round++)
    await call({ cwd, engine: 'isomorphic' }, [note(`n${round}`), cost(1)], false);
  await withOrch({ cwd, engine: 'isomorphic', clock }, async (orch) => {
    const { micros, notes, sessions } = await readHistory(orch);
    expect(micros).toBe(130);
    expect(new Set(notes).size).toBe(130);
    expect(Object.values(sessions)).toMatchObject([{ status: 'paused', checkpoints: 130, worked: 260 }]);
    const [[id = ''] = []] = Object.entries(sessions);
    const { state } = await readView(orch, epic);
    const [row] = Object.values(state.ledger);
    expect(row?.value.generation, 'the row was summed up on the way').toBeGreaterThan(0);
    expect(Object.keys(row?.value.folded ?? {}).length).toBeLessThan(100);
    expect(row?.value.meters, 'what the session cost is still its own').toMatchObject({
      [`${id}/by-hand`]: { micros: 130 },
    });
  });
});

it('a call after work that came in between begins a session: the newest one has the newest code', async () => {
  const { folder: cwd } = makeRepositoryWithCommit();
  const options = { cwd, engine: 'isomorphic', clock } as const;
  await call(options, first, false);
  await withOrch(options, async (orch) => {
    const { target } = await goOn(orch);
    await endSession(orch, target, 'pause', null);
  });
  await call(options, second, false);
  await call(options, third, false);
  const { sessions } = await withOrch(options, (orch) => readHistory(orch));
  expect(
    Object.values(sessions)
      .map(({ number, worked }) => [number, worked])
      .sort(),
  ).toEqual([
    [1, 2],
    [2, 0],
    [3, 4],
  ]);
});

it('a call on another day begins a session', async () => {
  const { folder: cwd } = makeRepositoryWithCommit();
  const day = 86_400_000;
  for (const now of [noon, noon + 3_600_000, noon + day, noon + day + 1_000])
    await call({ cwd, engine: 'isomorphic', clock: { now: () => now } }, [note(`at ${now}`)], false);
  const { sessions } = await withOrch({ cwd, engine: 'isomorphic', clock }, (orch) => readHistory(orch));
  expect(Object.values(sessions).map(({ worked }) => worked)).toEqual([2, 2]);
});
