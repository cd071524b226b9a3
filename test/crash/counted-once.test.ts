import { readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isOrchError } from '../../src/errors.ts';
import { parseSessionId } from '../../src/ids.ts';
import { appendToJournal, createJournal } from '../../src/journal/append.ts';
import { formatGroup, parseEvents } from '../../src/journal/journal-format.ts';
import { journalPath, readJournal, releaseJournal, restoreHalfReleased } from '../../src/journal/read.ts';
import { record as pump } from '../../src/record/record.ts';
import { findDestination } from '../../src/record/which/which-session.ts';
import { recordTo } from '../../src/session/calls.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { crashPoints } from '../support/depth.ts';
import { type Fault, makeFaultyDisk } from '../support/faulty-disk.ts';
import { makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';
import { goOn, readHistory, start, withoutTree } from '../support/sessions.ts';
import { cost, epic, note, withOrch, writer } from '../support/store.ts';

const engine = 'isomorphic';
const session = parseSessionId('sess-test');
const header = { epic, session, writer };
const records = (...ids: string[]) => ids.map((id) => ({ at: 1, fact: note(id) }));
const notesIn = (folder: string): string[] =>
  (readJournal(folder, session)?.events ?? []).flatMap(({ fact }) => (fact.kind === 'note' ? [fact.id] : []));

const faults: readonly Fault[] = [
  { in: 'open', code: 'EMFILE' },
  { in: 'write', code: 'EIO' },
  { in: 'write', code: 'ENOSPC' },
  'short write',
  { in: 'sync', code: 'EIO' },
  { in: 'sync', code: 'ENOSPC' },
  { in: 'close', code: 'EIO' },
];

/** Not those of closing a file: a lock whose file could not be closed is waited for, which says nothing of counting. */
const lasting = faults.filter((fault) => fault === 'short write' || fault.in !== 'close');

/** Follows an error like a script or an agent would: retries unless the error says that it is recorded. */
async function followingHints(call: (disk: Disk) => Promise<unknown>, disk: Disk): Promise<string> {
  try {
    await call(disk);
    return 'done';
  } catch (error) {
    if (!isOrchError(error)) throw error;
    if (error.data.recorded === true) {
      expect(error.hint).not.toMatch(/run the same command|then record it again/i);
      return 'recorded, with an error';
    }
    expect(error.hint).toMatch(/again/);
    await call(realDisk);
    return 'done again';
  }
}

describe('I10: counted or not counted, never both', () => {
  it.each(faults)('whatever operation of an append fails, its events are there once (%j)', async (fault) => {
    const seen = new Set<string>();
    for (let at = 1, failed = true; failed; at++) {
      const folder = makeFolder();
      await createJournal(realDisk, folder, header, records('first'));
      const faulty = makeFaultyDisk(fault, at);
      seen.add(
        await followingHints(
          (disk) => appendToJournal(disk, folder, session, records('a', 'b', 'c')),
          faulty.disk,
        ),
      );
      failed = faulty.hasFailed();
      await appendToJournal(realDisk, folder, session, records('next'));
      expect(notesIn(folder)).toEqual(['first', 'a', 'b', 'c', 'next']);
    }
    expect(seen.size).toBeGreaterThan(fault !== 'short write' && fault.in === 'close' ? 0 : 1);
  });

  it.each(lasting)('whatever operation of a record fails, its cost counts once (%j)', async (fault) => {
    const { folder: cwd } = makeRepositoryWithCommit();
    let paid = 0;
    // Past the budget the pump appends a second time: that one failing must not unsay the first.
    for (const budget of ['none', '+1']) {
      for (const at of crashPoints(3)) {
        const { target } = await withOrch({ cwd, engine }, (orch) => goOn(orch, { budget }));
        const faulty = makeFaultyDisk(fault, at);
        await followingHints(
          (disk) => withOrch({ cwd, engine, disk }, (orch) => pump(orch, target, [cost(2_000_000)])),
          faulty.disk,
        );
        paid += 2_000_000;
        await withOrch({ cwd, engine }, (orch) => endSession(orch, target, 'pause', null));
        if (!faulty.hasFailed() || at >= 12) break;
      }
    }
    expect((await withOrch({ cwd, engine }, (orch) => readHistory(orch))).micros).toBe(paid);
  });

  it.each(faults)(
    'whatever operation fails where no session runs, the cost counts once (%j)',
    async (fault) => {
      const { folder: cwd } = makeRepositoryWithCommit();
      let paid = 0;
      for (const at of crashPoints(4)) {
        const faulty = makeFaultyDisk(fault, at);
        await followingHints(
          (disk) =>
            withOrch({ cwd, engine, disk }, (orch) =>
              recordTo(orch, findDestination(orch, epic, withoutTree, null), [cost(3)]),
            ),
          faulty.disk,
        );
        paid += 3;
        if (!faulty.hasFailed() || at >= 25) break;
      }
      await withOrch({ cwd, engine }, async (orch) => {
        const { target } = await start(orch);
        await endSession(orch, target, 'pause', null);
        expect((await readHistory(orch)).micros).toBe(paid);
      });
    },
  );

  it('events of one write are taken together, wherever the write was cut', () => {
    const before = Buffer.from(formatGroup(records('before')));
    const group = Buffer.from(formatGroup(records('a', 'b', 'c')));
    const next = Buffer.from(formatGroup(records('x', 'y')));
    for (let length = 0; length <= group.length; length++) {
      const cut = Buffer.concat([before, group.subarray(0, length)]);
      const names = (bytes: Buffer) =>
        parseEvents(header, bytes, 0).events.map(({ fact }) => fact.kind === 'note' && fact.id);
      const whole = length === group.length ? ['a', 'b', 'c'] : [];
      expect(names(cut)).toEqual(['before', ...whole]);
      // The same group again, and another one: neither completes what was cut.
      expect(names(Buffer.concat([cut, group]))).toEqual(['before', ...whole, 'a', 'b', 'c']);
      expect(names(Buffer.concat([cut, next]))).toEqual(['before', ...whole, 'x', 'y']);
      const { end } = parseEvents(header, cut, 0);
      expect(end).toBe(before.length + (whole.length > 0 ? group.length : 0));
    }
  });
});

describe('I4: an append while its journal is released', () => {
  it('exists once it is acknowledged, even if the releasing process died', async () => {
    const folder = makeFolder();
    await createJournal(realDisk, folder, header, records('a'));
    const path = journalPath(folder, session);
    const racing: Disk = {
      ...realDisk,
      write: (fd, bytes) => {
        renameSync(path, `${path}.dead.released`); // and it never puts it back
        return realDisk.write(fd, bytes);
      },
    };
    await appendToJournal(racing, folder, session, records('late'));
    expect(notesIn(folder)).toEqual(['a', 'late']);
  });

  it('that is refused is in no journal that could come back', async () => {
    const folder = makeFolder();
    await createJournal(realDisk, folder, header, records('a'));
    const path = journalPath(folder, session);
    const racing: Disk = {
      ...realDisk,
      write: (fd, bytes) => {
        releaseJournal(realDisk, folder, session, statSync(path).size, 'x');
        return realDisk.write(fd, bytes);
      },
    };
    const late = appendToJournal(racing, folder, session, records('late'));
    await expect(late).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    restoreHalfReleased(realDisk, folder);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is reported as unconfirmed if the journal was moved away with its epic', async () => {
    const [folder, trash] = [makeFolder(), makeFolder()];
    await createJournal(realDisk, folder, header, records('a'));
    const racing: Disk = {
      ...realDisk,
      write: (fd, bytes) => {
        renameSync(journalPath(folder, session), join(trash, 'x'));
        return realDisk.write(fd, bytes);
      },
    };
    await expect(appendToJournal(racing, folder, session, records('late'))).rejects.toMatchObject({
      data: { recorded: true },
    });
  });
});
