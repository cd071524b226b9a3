import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freeSlot, listSlots, slotEnvironment, takeSlot } from '../../src/convoy/worktree/slots.ts';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import { writeLive } from '../../src/journal/live.ts';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import type { Orch } from '../../src/orch.ts';
import { identifyProcess, identifyThisProcess } from '../../src/system/process/identity.ts';
import { afterTest } from '../support/cleanup.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { withOrch } from '../support/store.ts';
import { waitUntil } from '../support/supervised.ts';

const task = (name: string) => parseEpicId(`auth--${name}`);

function inRepository<T>(work: (orch: Orch) => Promise<T>): Promise<T> {
  return withOrch({ cwd: makeRepositoryWithCommit().folder }, work);
}

/** Writes all slots as if a scheduler that is dead now had taken them. */
async function letHolderDie(orch: Orch) {
  const child = spawn('sleep', ['60']);
  const holder = identifyProcess(child.pid ?? 0);
  child.kill('SIGKILL');
  await waitUntil(() => child.signalCode !== null);
  for (const slot of listSlots(orch))
    writeFileSync(join(orch.home, 'slots', String(slot.slot)), JSON.stringify({ ...slot, holder }));
}

describe('slots', () => {
  it('are the lowest free numbers, each with ten ports that no other has', () =>
    inRepository(async (orch) => {
      const a = await takeSlot(orch, { epic: task('a') });
      const b = await takeSlot(orch, { epic: task('b') });
      expect([a.slot, b.slot]).toEqual([1, 2]);
      expect(b.firstPort).toBe(a.lastPort + 1);
      expect(a.lastPort - a.firstPort).toBe(9);
      expect(slotEnvironment(a)).toEqual({
        ORCH_SLOT: '1',
        PORT: String(a.firstPort),
        ORCH_PORTS: `${a.firstPort}-${a.lastPort}`,
      });
      freeSlot(orch, task('a'));
      expect(listSlots(orch).map(({ epic, slot }) => [epic, slot])).toEqual([['auth--b', 2]]);
      expect((await takeSlot(orch, { epic: task('c') })).slot).toBe(1);
    }));

  it('stay with a task that asks again, and many at once get different ones', () =>
    inRepository(async (orch) => {
      const names = Array.from({ length: 12 }, (_, at) => `t${at}`);
      const taken = await Promise.all(names.map((name) => takeSlot(orch, { epic: task(name) })));
      expect(new Set(taken.map(({ slot }) => slot)).size).toBe(12);
      const again = await Promise.all(names.map((name) => takeSlot(orch, { epic: task(name) })));
      expect(again).toEqual(taken);
    }));

  it('skip a block in which something listens, on either loopback address', () =>
    inRepository(async (orch) => {
      const first = await takeSlot(orch, { epic: task('a') });
      freeSlot(orch, task('a'));
      for (const [port, host] of [
        [first.firstPort + 3, '127.0.0.1'],
        [first.firstPort + 15, '::1'],
      ] as const) {
        const server = createServer();
        await new Promise<void>((resolve) => server.listen({ port, host }, resolve));
        afterTest(() => void server.close());
      }
      expect((await takeSlot(orch, { epic: task('a') })).slot).toBe(3);
    }));

  it('of a scheduler that died are free, unless its worker lives', () =>
    inRepository(async (orch) => {
      for (const name of ['gone', 'adopted']) await takeSlot(orch, { epic: task(name) });
      await letHolderDie(orch);
      await writeLive(orch, {
        session: parseSessionId('sess-adopted'),
        epic: task('adopted'),
        holder: identifyThisProcess(),
        ...{ kind: 'supervised', worktree: null, command: null, since: 0, base: null },
        settings: defaultSettings,
      });
      expect(listSlots(orch).map(({ epic }) => epic)).toEqual(['auth--adopted']);
      expect((await takeSlot(orch, { epic: task('next') })).slot).toBe(1);
      expect((await takeSlot(orch, { epic: task('other') })).slot).toBe(3);
      expect((await takeSlot(orch, { epic: task('adopted') })).slot).toBe(2);
    }));

  it('survive a crash in the middle of a write', () =>
    inRepository(async (orch) => {
      await takeSlot(orch, { epic: task('a') });
      writeFileSync(join(orch.home, 'slots', '2'), '{"slot":2,"ep');
      expect((await takeSlot(orch, { epic: task('b') })).slot).toBe(2);
      expect(readdirSync(join(orch.home, 'slots'))).toEqual(['1', '2']);
    }));
});
