import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { saveCheckpoint } from '../../src/index.ts';
import type { Fact } from '../../src/state/facts.ts';
import { listTree } from '../../src/system/process/process-tree.ts';
import { makeRandom, runs, seed } from '../support/depth.ts';
import { orchBin, runOrch } from '../support/orch.ts';
import { expectOnce, startRecorder, type Told } from '../support/recorders.ts';
import { cloneOf, type Hub, makeHub, serveDaemon, serveHttp, syncIn } from '../support/remotes.ts';
import { cleanEnvironment, type TestRepository } from '../support/repository.ts';
import { readHistory, sumOf } from '../support/sessions.ts';
import { cost, epic, note, withOrch } from '../support/store.ts';

const ref = `refs/orchestration/epics/${epic}`;

/** Everybody once, and once more for what came after the first ones. */
async function syncAll(clones: readonly TestRepository[]): Promise<void> {
  for (const clone of [...clones, ...clones]) {
    const { errors } = await syncIn(clone);
    expect(errors).toEqual([]);
  }
}

/** I4, I6: all clones and the hub stand on one commit, which knows all that was acknowledged, each once. */
async function expectSame(hub: TestRepository, clones: readonly TestRepository[]) {
  const tips = [hub, ...clones].map((one) => one.git('rev-parse', ref));
  expect(new Set(tips).size, `seed ${seed}`).toBe(1);
  const histories = [];
  for (const { folder } of clones) histories.push(await withOrch({ cwd: folder }, readHistory));
  const [first, ...others] = histories;
  for (const other of others) expect(other.micros).toBe(first?.micros);
  for (const one of [hub, ...clones]) expect(one.tryGit('fsck', '--strict', '--no-dangling').status).toBe(0);
  if (first === undefined) throw new Error('no clones');
  return first;
}

describe('clones that share an epic', () => {
  it.each([2, 3, 5])(
    'I4 I6: %i of them, working and syncing in any order, end with the same',
    async (size) => {
      const random = makeRandom(size);
      const rounds = runs(4);
      const hub = makeHub();
      const clones = Array.from({ length: size }, (_, index) => cloneOf(hub, `clone-${index}`));
      const told: Fact[] = [];
      const work = async (index: number, round: number) => {
        const facts = [note(`${index}-${round}`), cost(1 + index * 100 + round)];
        // Clocks that are hours apart.
        const clock = { now: () => 1_800_000_000_000 + index * 7_200_000 + round * 1_000 };
        const where = { cwd: clones[index]?.folder ?? '', clock, settings: { snapshot: false } };
        await saveCheckpoint({ epicId: epic, facts }, where);
        told.push(...facts);
      };
      for (let round = 0; round < rounds; round++) {
        const doings = clones.map((clone, index) => async () => {
          const what = random();
          if (what < 0.7) await work(index, round);
          if (what > 0.4) await syncIn(clone);
        });
        await Promise.all(doings.map((doing) => doing()));
      }
      await syncAll(clones);
      const { notes, micros } = await expectSame(hub, clones);
      const ids = told.flatMap((fact) => (fact.kind === 'note' ? [fact.id] : []));
      expect([...notes].sort(), `seed ${seed}`).toEqual(ids.sort());
      expect(micros).toBe(sumOf(told));
    },
  );

  const ways: [size: number, way: string, serve: (hub: Hub) => Promise<string> | string][] = [
    [2, 'over file://', (hub) => hub.url],
    [3, 'through git daemon', (hub) => serveDaemon(hub, '--enable=receive-pack')],
    [5, 'through smart HTTP', (hub) => serveHttp(hub)],
  ];

  it.runIf(process.platform === 'linux').each(ways)(
    'I2 I4 I6: %i of them %s, killed at any moment, with all they started',
    async (size, _, serve) => {
      const random = makeRandom(size);
      const rounds = runs(2);
      const hub = makeHub();
      const url = await serve(hub);
      const clones = Array.from({ length: size }, (_, index) => cloneOf(hub, `clone-${index}`));
      for (const clone of clones) clone.git('remote', 'set-url', 'origin', url);
      const told: Told[] = [];
      for (let round = 0; round < rounds; round++) {
        const recorders = clones.map((clone, index) =>
          startRecorder(clone, [
            'cost',
            `0.${String(1_000 * (index + 1) + round).padStart(6, '0')}`,
            '-e',
            epic,
          ]),
        );
        const syncs = clones.map((clone) => startSync(clone));
        await new Promise((resolve) => setTimeout(resolve, 100 + random() * 500));
        for (const { pid } of syncs) if (random() < 0.7) killTree(pid);
        for (const { process: child } of recorders) if (random() < 0.3) child.kill('SIGKILL');
        for (const { told: said } of await Promise.all(recorders.map(({ ended }) => ended)))
          if (said) told.push(said);
        await Promise.all(syncs.map(({ ended }) => ended));
      }
      // What a killed one left in a journal is taken in by the next session there.
      for (const clone of clones)
        expect(runOrch(clone, ['record', 'note', clone.folder, '-e', epic]).status).toBe(0);
      await syncAll(clones);
      const { events } = await expectSame(hub, clones);
      expectOnce(events, told);
    },
  );
});

function startSync(repository: TestRepository) {
  const child = spawn(process.execPath, [orchBin, 'sync', '-y'], {
    cwd: repository.folder,
    env: cleanEnvironment(repository.home),
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise<void>((resolve) => {
    child.on('close', () => resolve());
  });
  return { pid: child.pid ?? 0, ended };
}

function killTree(root: number): void {
  for (const { pid } of listTree(root)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it was faster
    }
  }
}
