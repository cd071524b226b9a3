import fs from 'node:fs';
import { join } from 'node:path';
import { loadInternals } from './internals.js';
import { compare, measure } from './measure.js';
import { makeFolder } from './scratch.js';

const header = { epic: 'epic', session: 'sess-bench2', writer: 'w-bench' };
const fact = { kind: 'note', id: 'note-1', text: 'The form posts to the new endpoint; the redirect is lost' };
const { O_APPEND, O_WRONLY } = fs.constants;

function appendBare(path, bytes) {
  const fd = fs.openSync(path, O_APPEND | O_WRONLY);
  fs.writeSync(fd, bytes);
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

/** One event, durable in its journal, against the same bytes appended and synced by hand. */
export async function run() {
  const { appendToJournal, createJournal, journalPath, realDisk } = await loadInternals();
  const folder = makeFolder();
  const path = journalPath(folder, header.session);
  const record = { at: Date.now(), fact };
  await createJournal(realDisk, folder, header, [record]);
  const { size } = fs.statSync(path);
  await appendToJournal(realDisk, folder, header.session, [record]);
  const bytes = fs.readFileSync(path).subarray(size);
  const bare = join(folder, 'bare');
  fs.copyFileSync(path, bare);
  const sides = {
    journal: () => appendToJournal(realDisk, folder, header.session, [record]),
    bare: () => appendBare(bare, bytes),
  };
  // Neither side leaves the disk anything to do for the other.
  const times = await measure(sides, { rounds: 2_000, warmUp: 100, settled: false });
  return [
    { what: 'journal one event', against: 'append + fsync', ...compare(times.journal, times.bare), bar: 1.2 },
  ];
}
