import { loadLatestCheckpoint, openOrch } from '../../dist/index.js';
import { formatImport, importDurably } from './fast-import.js';
import { compare, measure } from './measure.js';
import { git, makeRepository } from './scratch.js';
import { saveMuch, saveSome } from './work.js';

const ours = 'ours';
const theirs = 'theirs';
const kept = 5;

/** Our newest checkpoint, as `git fast-import` is to write it on another ref. */
async function copyNewest(orch, folder, names) {
  const { checkpoint, document } = await loadLatestCheckpoint(ours, orch);
  const ref = `refs/orchestration/epics/${theirs}`;
  const name = `${String(checkpoint.seq).padStart(8, '0')}-${checkpoint.id}-${names.length}.json`;
  const stream = formatImport({
    ref,
    from: names.length > 0 && `${ref}^0`,
    at: Math.floor(Date.parse(checkpoint.timestamp) / 1_000),
    message: git(folder, 'log', '-1', '--format=%B', checkpoint.commit),
    folder: theirs,
    removed: names.at(-kept),
    name,
    // Not the very same bytes: git does not write what it already has.
    document: `${JSON.stringify({ ...document, epicId: theirs, copy: names.length }, null, 1)}\n`,
  });
  names.push(name);
  return stream;
}

async function measureAppend(what, prepare) {
  const folder = makeRepository();
  const orch = await openOrch({ cwd: folder, engine: 'native', settings: { snapshot: false } });
  await prepare(orch, ours);
  const names = [];
  const sides = {
    library: { prepare: (round) => round, run: (round) => saveSome(orch, ours, round) },
    fastImport: {
      prepare: () => copyNewest(orch, folder, names),
      run: (stream) => importDurably(folder, stream),
    },
  };
  const { library, fastImport } = await measure(sides, { rounds: 100, warmUp: 12 });
  orch.close();
  return { what, against: 'git fast-import', ...compare(library, fastImport), bar: 0.9 };
}

/** A durable checkpoint by the library, against one `git fast-import` that writes and syncs the same. */
export async function run() {
  return [
    await measureAppend('append, new epic', () => {}),
    await measureAppend('append, full lists', saveMuch),
  ];
}
