import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEpicId } from '../../src/ids.ts';
import { mostAttempts } from '../../src/notify/decide-delivery.ts';
import { deliverDue } from '../../src/notify/deliver.ts';
import { notify } from '../../src/notify/notify.ts';
import { forgetOld, keptFor, readOutbox } from '../../src/notify/outbox.ts';
import { openOrch } from '../../src/orch.ts';
import { realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/disk.ts';
import { afterTest } from '../support/cleanup.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { writeConfig } from '../support/supervised.ts';

const epic = parseEpicId('auth');
const statuses = [200, 200, 500, 503, 429, 410] as const;
const unanswered = 0;

/** A life of a process: at which operation on the disk it dies, if at all, and what it notes before it delivers. */
const life = fc.record({
  diesAt: fc.option(fc.integer({ min: 1, max: 60 }), { nil: null, freq: 2 }),
  isTorn: fc.boolean(),
  notes: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
});

it('nothing is sent twice after an acknowledgement that was noted, and nothing is lost, whatever happens', async () => {
  let answers: number[] = [];
  let acknowledged: string[] = [];
  const server = createServer((request, answer) => {
    const status = answers.shift() ?? 200;
    const id = String(request.headers['orch-event']);
    if (status === 200) acknowledged.push(id);
    if (status === unanswered) request.socket.destroy();
    else answer.writeHead(status).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  afterTest(() => server.close());
  const { port } = server.address() as AddressInfo; // it listens on an address, not on a pipe

  await fc.assert(
    fc.asyncProperty(
      fc.array(life, { minLength: 1, maxLength: 6 }),
      fc.array(fc.constantFrom(...statuses, unanswered), { maxLength: 12 }),
      async (lives, future) => {
        answers = [...future];
        acknowledged = [];
        const repository = makeRepositoryWithCommit();
        writeConfig(repository, `notify: [{ name: hook, webhook: "http://127.0.0.1:${port}" }]\n`);
        const home = join(repository.folder, '.git', 'orchestration');
        const began = Date.now();
        let now = began;
        let deaths = 0;
        const confirmed = new Set<string>();
        const live = async ({
          diesAt,
          isTorn,
          notes,
        }: typeof life extends fc.Arbitrary<infer L> ? L : never) => {
          const crashing = diesAt === null ? null : makeCrashingDisk({ at: diesAt, torn: isTorn });
          const orch = await openOrch({
            ...{ cwd: repository.folder, trusted: true, clock: { now: () => now } },
            ...(crashing && { disk: crashing.disk }),
          }).catch(() => null);
          if (orch === null) return;
          for (const unique of notes) {
            const happening = { kind: 'question', at: began, epic, unique: [unique], text: unique } as const;
            await notify(orch, happening);
            if (!crashing?.hasDied()) confirmed.add(unique);
          }
          await deliverDue(orch).catch(() => {});
          if (crashing?.hasDied()) {
            deaths += 1;
            // This process lives on, and would hold the locks of the one that died.
            rmSync(join(home, 'notify', 'locks'), { recursive: true, force: true });
          }
          orch.close();
          now += 86_400_000 / 4;
        };
        for (const each of lives) await live(each);
        const calm = { diesAt: null, isTorn: false, notes: [] };
        for (let round = 0; round <= mostAttempts + 3; round++) await live(calm);
        const outbox = readOutbox(home);
        // Lost: what was noted without an error is sent, or its receiver refused it.
        for (const unique of confirmed)
          expect(outbox.find(({ notice }) => notice.text === unique)?.state).toMatch(/^(?:sent|dead)$/);
        expect(outbox.every(({ state }) => state !== 'queued')).toBe(true);
        for (const { notice, state } of outbox)
          if (state === 'sent') expect(acknowledged).toContain(notice.id);
        // Twice: only a process that died between an acknowledgement and its note has one repeated.
        expect(acknowledged.length - new Set(acknowledged).size).toBeLessThanOrEqual(deaths);
        const before = acknowledged.length;
        now = Math.min(now, began + keptFor - 1);
        await live({ ...calm, notes: outbox.map(({ notice }) => notice.text) as ('a' | 'b' | 'c')[] });
        now = began + 3 * keptFor;
        forgetOld({ disk: realDisk, random: realRandom, home }, now);
        expect(readOutbox(home).filter(({ state }) => state === 'sent')).toEqual([]);
        await live({ ...calm, notes: ['a', 'b', 'c'] });
        expect(acknowledged).toHaveLength(before);
      },
    ),
    { numRuns: 40 },
  );
});
