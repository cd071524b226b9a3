import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import { appendToJournal, createJournal } from '../../src/journal/append.ts';
import { formatRecord, parseEvents } from '../../src/journal/journal-format.ts';
import { readPending } from '../../src/journal/pending.ts';
import { journalPath, readJournal, releaseJournal, restoreHalfReleased } from '../../src/journal/read.ts';
import { emptyState } from '../../src/state/lists.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import type { EpicId } from '../../src/types.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { makeForgetfulDisk } from '../support/power-loss-disk.ts';
import { makeFolder } from '../support/repository.ts';
import { epic, note, writer } from '../support/store.ts';

const session = parseSessionId('sess-test');
const header = { epic, session, writer };
const record = (id: string) => ({ at: 1, fact: note(id) });

const notesIn = (folder: string, from = 0): string[] =>
  (readJournal(folder, session, from)?.events ?? []).flatMap(({ fact }) =>
    fact.kind === 'note' ? [fact.id] : [],
  );

/** Creates a journal and appends twice; returns the acknowledged notes. */
async function work(disk: Disk, folder: string): Promise<string[]> {
  const acknowledged: string[] = [];
  await createJournal(disk, folder, header, [record('a')]);
  acknowledged.push('a');
  await appendToJournal(disk, folder, session, [record('b'), record('c')]);
  acknowledged.push('b', 'c');
  await appendToJournal(disk, folder, session, [record('d')]);
  return [...acknowledged, 'd'];
}

describe('a journal', () => {
  it.each([
    ['whole writes', false, false],
    ['torn writes', true, false],
    ['power loss', false, true],
    ['torn writes and power loss', true, true],
  ])('I2: keeps what was acknowledged, whatever operation it dies at (%s)', async (_, torn, powerLoss) => {
    for (let at = 1, died = true; died; at++) {
      const folder = makeFolder();
      const forgetful = makeForgetfulDisk();
      const crashing = makeCrashingDisk({ at, torn }, powerLoss ? forgetful.disk : realDisk);
      let acknowledged: string[] = [];
      const begun = await createJournal(crashing.disk, folder, header, [record('a')]).then(
        () => true,
        () => false,
      );
      if (begun) acknowledged = ['a'];
      for (const ids of [['b', 'c'], ['d']]) {
        try {
          await appendToJournal(crashing.disk, folder, session, ids.map(record));
          acknowledged.push(...ids);
        } catch {
          break;
        }
      }
      died = crashing.hasDied();
      if (powerLoss) forgetful.losePower();
      const found = notesIn(folder);
      expect(found.slice(0, acknowledged.length)).toEqual(acknowledged);
      expect(['a', 'b', 'c', 'd'].slice(0, found.length)).toEqual(found);
      if (!begun) continue;
      // The next one is not spoiled by what was torn.
      await appendToJournal(realDisk, folder, session, [record('e')]);
      expect(notesIn(folder)).toEqual([...found, 'e']);
    }
  });

  it('reads on from any place where it was read to', async () => {
    const folder = makeFolder();
    await work(realDisk, folder);
    const { events = [], end } = readJournal(folder, session) ?? {};
    expect(end).toBe(statSync(journalPath(folder, session)).size);
    for (const [index, event] of events.entries()) {
      expect(notesIn(folder, event.end)).toEqual(['a', 'b', 'c', 'd'].slice(index + 1));
    }
  });

  it('finds every complete record again, whatever is between them', () => {
    const garbage = fc.oneof(
      fc.string(),
      fc.constantFrom('\n', '{"sum":"00000000",', formatRecord(record('x')).slice(0, 30)),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), garbage), { maxLength: 6 }), (parts) => {
        const text = parts.map(([whole, junk], index) =>
          whole ? formatRecord(record(`n${index}`)) : `\n${junk}`,
        );
        const expected = parts.flatMap(([whole], index) => (whole ? [`n${index}`] : []));
        const { events } = parseEvents(header, Buffer.from(text.join('')), 0);
        expect(events.map(({ fact }) => fact.kind === 'note' && fact.id)).toEqual(expected);
      }),
    );
  });

  it('takes a record that was cut at any byte for none', () => {
    const bytes = Buffer.from(formatRecord(record('ünïcode ✓')));
    for (let length = 0; length < bytes.length; length++) {
      const { events, end } = parseEvents(header, bytes.subarray(0, length), 100);
      expect(events).toEqual([]);
      expect(end).toBe(100); // so that it is read again once it is whole
    }
    expect(parseEvents(header, bytes, 100)).toMatchObject({ end: 100 + bytes.length, torn: 0 });
  });

  it('reports a short write as a failure', async () => {
    const folder = makeFolder();
    await createJournal(realDisk, folder, header, [record('a')]);
    const full: Disk = { ...realDisk, write: (fd, bytes) => realDisk.write(fd, bytes.subarray(0, 10)) };
    const appended = appendToJournal(full, folder, session, [record('b')]);
    await expect(appended).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      hint: expect.stringContaining('space'),
    });
    await appendToJournal(realDisk, folder, session, [record('c')]);
    expect(notesIn(folder)).toEqual(['a', 'c']);
    expect(readJournal(folder, session)?.torn).toBe(1);
  });

  it('is read anew if another epic begins one of its name, though the process has seen whose it was', async () => {
    const folder = makeFolder();
    const other = parseEpicId('renamed');
    const idsOf = (of: EpicId) => readPending(folder, of, emptyState).events.map(({ fact }) => fact);
    await createJournal(realDisk, folder, header, [record('a')]);
    expect([idsOf(other), idsOf(epic)]).toEqual([[], [note('a')]]);
    // As when an epic is renamed while its session continues.
    renameSync(journalPath(folder, session), join(makeFolder(), 'trashed'));
    await createJournal(realDisk, folder, { ...header, epic: other }, [record('b')]);
    expect([idsOf(other), idsOf(epic)]).toEqual([[note('b')], []]);
  });

  it('refuses a journal of a newer format, and one that never began', async () => {
    const folder = makeFolder();
    writeFileSync(journalPath(folder, session), formatRecord({ format: 2, ...header }));
    expect(() => readJournal(folder, session)).toThrow(
      expect.objectContaining({ code: 'FORMAT_UNSUPPORTED' }),
    );
    writeFileSync(journalPath(folder, session), formatRecord({ format: 1, ...header }).slice(0, 20));
    expect(readJournal(folder, session)).toBeNull();
  });
});

describe('releasing a journal', () => {
  it('does not take one that grew meanwhile', async () => {
    const folder = makeFolder();
    await work(realDisk, folder);
    const { size } = statSync(journalPath(folder, session));
    expect(releaseJournal(realDisk, folder, session, size - 1, 'x')).toBe(false);
    expect(notesIn(folder)).toHaveLength(4);
    expect(releaseJournal(realDisk, folder, session, size, 'x')).toBe(true);
    expect(readJournal(folder, session)).toBeNull();
  });

  it('that died half-way is undone', async () => {
    const folder = makeFolder();
    await work(realDisk, folder);
    const before = readFileSync(journalPath(folder, session));
    const crashing = makeCrashingDisk({ at: 2, torn: false });
    expect(() => releaseJournal(crashing.disk, folder, session, before.length, 'x')).toThrow('');
    restoreHalfReleased(realDisk, folder);
    expect(readFileSync(journalPath(folder, session)).equals(before)).toBe(true);
  });

  it('I2: an append that came too late is told so, never acknowledged', async () => {
    const folder = makeFolder();
    await work(realDisk, folder);
    const path = journalPath(folder, session);
    const racing: Disk = {
      ...realDisk,
      write: (fd, bytes) => {
        releaseJournal(realDisk, folder, session, statSync(path).size, 'x');
        return realDisk.write(fd, bytes);
      },
    };
    const late = appendToJournal(racing, folder, session, [record('late')]);
    await expect(late).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  it('appends nothing to a journal that is not there', async () => {
    const folder = makeFolder();
    const appended = appendToJournal(realDisk, folder, session, [record('x')]);
    await expect(appended).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    appendFileSync(journalPath(folder, session), '');
    expect(readJournal(folder, session)).toBeNull();
  });
});
