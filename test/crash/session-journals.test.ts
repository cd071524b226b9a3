import { appendFileSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OrchError } from '../../src/errors.ts';
import { parseSessionId } from '../../src/ids.ts';
import { createJournal } from '../../src/journal/append.ts';
import { formatRecord } from '../../src/journal/journal-format.ts';
import { listLive } from '../../src/journal/live.ts';
import {
  journalFolder,
  journalPath,
  readJournal,
  releaseJournal,
  restoreHalfReleased,
} from '../../src/journal/read.ts';
import { record } from '../../src/record/record.ts';
import { readView } from '../../src/record/view.ts';
import { findDestination } from '../../src/record/which/which-session.ts';
import { recordTo } from '../../src/session/calls.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { makeForgetfulDisk } from '../support/power-loss-disk.ts';
import { makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';
import { bury, expectRecovery, notesIn, readHistory, start, withoutTree } from '../support/sessions.ts';
import { cost, epic, makeFastClock, note, saveFacts, withOrch, writer } from '../support/store.ts';

const engine = 'isomorphic';
/** To somebody who queues behind the one it is to interfere with, ten seconds are soon over. */
const impatient = { elapsed: makeFastClock().elapsed };

describe('journals that are on their way out', () => {
  it('I3: one that was left half released is not counted again when a long ledger is summed up', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    // The process dies between setting a journal aside and removing it.
    let dies = false;
    const disk: Disk = {
      ...realDisk,
      unlink: (path) => {
        if (dies && path.endsWith('.released')) throw new Error('died');
        realDisk.unlink(path);
      },
    };
    for (let round = 0; round < 120; round++) {
      dies = round >= 90 && round < 105;
      await saveFacts({ cwd, engine, disk, settings: withoutTree }, [note(`n${round}`), cost(1_000)]);
    }
    await withOrch({ cwd, engine }, async (orch) => {
      const { notes, micros } = await readHistory(orch);
      expect(micros).toBe(120_000);
      expect(notes).toHaveLength(120);
      expect(Object.values((await readView(orch, epic)).state.ledger)[0]?.value.generation).toBeGreaterThan(
        0,
      );
    });
  });

  it('I2: three processes that release and restore it at once do not lose what a fourth appended', async () => {
    const folder = makeFolder();
    const session = parseSessionId('sess-test');
    const path = journalPath(folder, session);
    await createJournal(realDisk, folder, { epic, session, writer }, [{ at: 1, fact: note('a') }]);
    const { size = 0 } = readJournal(folder, session) ?? {};
    const first: Disk = {
      ...realDisk,
      unlink: (aside) => {
        restoreHalfReleased(realDisk, folder);
        appendFileSync(path, formatRecord({ at: 2, fact: note('b') }));
        const third: Disk = {
          ...realDisk,
          rename: (from, to) => {
            realDisk.rename(from, to);
            if (from === path && existsSync(aside)) realDisk.unlink(aside);
          },
        };
        releaseJournal(third, folder, session, size, 'third');
        realDisk.unlink(aside);
      },
    };
    releaseJournal(first, folder, session, size, 'first');
    restoreHalfReleased(realDisk, folder);
    expect(notesIn(readJournal(folder, session)?.events ?? [])).toEqual(['a', 'b']);
  });
});

describe('a journal that is shorter than what was folded of it', () => {
  it('I2 I3: takes what comes after a power loss, even if a checkpoint was faster than the journal', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const { disk, losePower } = makeForgetfulDisk();
    const { target } = await withOrch({ cwd, engine, disk }, (orch) => start(orch));
    // One process has written its note and waits for the disk, as another makes a checkpoint of it.
    const slow: Disk = {
      ...disk,
      sync: async () => {
        await withOrch({ cwd, engine, disk }, (orch) =>
          record(orch, target, [], { trigger: 'manual', reason: null }),
        );
        losePower();
        throw new Error('died');
      },
    };
    const waiting = withOrch({ cwd, engine, disk: slow }, (orch) => record(orch, target, [note('a')]));
    await expect(waiting).rejects.toThrow('died');
    await withOrch({ cwd, engine }, async (orch) => {
      const { notes } = await expectRecovery(orch, cwd, [note('a')], [note('a')]);
      expect(notes).toEqual(['a', 'once', 'twice']);
    });
  });
});

describe('a journal that a power loss took altogether', () => {
  it('I3: does not keep its epic from being worked on', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const { disk, losePower } = makeForgetfulDisk();
    await saveFacts({ cwd, engine, disk }, [note('a')]);
    let isBegun = false;
    let death: Promise<void> | null = null;
    const slow: Disk = {
      ...disk,
      write: (fd, bytes) => {
        isBegun ||= Buffer.from(bytes).includes('session_running');
        return disk.write(fd, bytes);
      },
      sync: async (fd) => {
        if (!isBegun) return disk.sync(fd);
        // The record of who works on it was waited for, and is there.
        death ??= saveFacts({ cwd, engine, disk, clock: impatient }, [note('b')]).then(losePower);
        await death;
        throw new Error('died');
      },
      unlink: (path) => {
        if (death) throw new Error('died');
        disk.unlink(path);
      },
    };
    await expect(withOrch({ cwd, engine, disk: slow }, (orch) => start(orch))).rejects.toThrow('died');
    await withOrch({ cwd, engine }, async (orch) => {
      expect(Object.keys((await readView(orch, epic)).state.sessions)).toHaveLength(2);
      await expectRecovery(orch, cwd, [note('a'), note('b')], [note('a'), note('b')]);
    });
  });
});

describe('two processes that record at the same moment', () => {
  it('each get only what they recorded themselves', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const { target } = await withOrch({ cwd, engine }, (orch) => start(orch));
    const recordOther = () => withOrch({ cwd, engine }, (orch) => record(orch, target, [note('other')]));
    const disk: Disk = {
      ...realDisk,
      sync: async (fd) => {
        await recordOther();
        await realDisk.sync(fd);
      },
    };
    const { events } = await withOrch({ cwd, engine, disk }, (orch) => record(orch, target, [note('own')]));
    expect(notesIn(events)).toEqual(['own']);
  });
});

describe('a failure that asks to run the same command again', () => {
  it('I10: is not said of what was recorded, where only the checkpoint failed', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const reports: string[] = [];
    const wrapEngine = (git: Parameters<NonNullable<Parameters<typeof withOrch>[0]['wrapEngine']>>[0]) => ({
      ...git,
      moveRefs: async () => {
        throw new OrchError('REF_CONFLICT', 'held', { data: { lock: null } });
      },
    });
    const options = { cwd, engine, wrapEngine, onReport: (what: string) => reports.push(what) } as const;
    const outcome = await withOrch(options, (orch) =>
      recordTo(orch, findDestination(orch, epic, withoutTree, null), [cost(5)]),
    );
    expect(outcome).toMatchObject({ stored: null, events: expect.any(Array) });
    expect(outcome.events.map(({ fact }) => fact.kind)).toContain('cost');
    expect(reports.join()).toMatch(/recorded, but the checkpoint could not be made yet/);
    await saveFacts({ cwd, engine }, [note('next')]);
    expect((await withOrch({ cwd, engine }, readHistory)).micros).toBe(5);
  });

  it.each([
    ['a full disk', (bytes: Uint8Array) => realShort(bytes)],
    ['a disk that takes nothing', () => null],
  ])('I10: leaves nothing of a session that could not begin (%s)', async (_, cut) => {
    const { folder: cwd } = makeRepositoryWithCommit();
    await saveFacts({ cwd, engine }, [note('before')]);
    const journals = new Set<number>();
    const disk: Disk = {
      ...realDisk,
      open: (path, flags, mode) => {
        const fd = realDisk.open(path, flags, mode);
        if (path.endsWith('.jsonl')) journals.add(fd);
        return fd;
      },
      write: (fd, bytes) => {
        if (!journals.has(fd)) return realDisk.write(fd, bytes);
        const part = cut(bytes);
        if (part === null) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        return realDisk.write(fd, part);
      },
    };
    await withOrch({ cwd, engine, disk }, async (orch) => {
      await expect(start(orch)).rejects.toMatchObject({ code: 'WRITE_FAILED' });
      // This process goes on living, and must not hold what it could not begin.
      expect(listLive(orch.home)).toEqual([]);
      await expect(
        recordTo(orch, findDestination(orch, epic, withoutTree, null), [cost(7)]),
      ).rejects.toMatchObject({
        code: 'WRITE_FAILED',
        hint: expect.stringContaining('Free some space'),
      });
      expect(readdirSync(journalFolder(orch.home))).toHaveLength(1);
    });
    await saveFacts({ cwd, engine }, [note('next')]);
    expect((await withOrch({ cwd, engine }, readHistory)).micros).toBe(0);
  });
});

/** All but the last bytes: whole records, and a torn one. */
function realShort(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.length - 10);
}

describe('what a session leaves behind where its process died at the very end', () => {
  it('is no session that may still run elsewhere', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const keepsLive: Disk = {
      ...realDisk,
      unlink: (path) => {
        if (path.includes(`${join('orchestration', 'live')}`)) throw new Error('died');
        realDisk.unlink(path);
      },
    };
    await withOrch({ cwd, engine, disk: keepsLive }, async (orch) => {
      const { target } = await start(orch);
      await expect(endSession(orch, target, 'pause', null)).rejects.toThrow('died');
    });
    bury(cwd, 'another-machine');
    await withOrch({ cwd, engine }, async (orch) => {
      const { target } = await start(orch);
      await endSession(orch, target, 'pause', null);
      expect(listLive(orch.home)).toEqual([]);
    });
  });
});
