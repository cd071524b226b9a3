import fs from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './commands.js';
import { loadInternals } from './internals.js';
import { compare, measure } from './measure.js';
import { environment, git, makeRepository, removeFolder } from './scratch.js';

const files = 20_000;
const changed = 10;

function pathOf(folder, index) {
  return join(folder, `src/${index % 20}/${((index / 20) % 20) | 0}/file-${index}.ts`);
}

/** A repository of a size people work in, packed as it comes out of a clone. */
function makeLargeRepository() {
  const folder = makeRepository();
  for (let index = 0; index < files; index++) {
    const path = pathOf(folder, index);
    if (index < 400) fs.mkdirSync(join(path, '..'), { recursive: true });
    fs.writeFileSync(path, `export const value${index} = ${index};\n`);
  }
  git(folder, 'add', '.');
  git(folder, 'commit', '--quiet', '--message', 'much');
  git(folder, 'repack', '-adq');
  return folder;
}

/** Ten files change, in folders that lie apart, never to what they were before. */
function makeChange(folder, amount, word) {
  for (let turn = 0; turn < amount; turn++) {
    fs.writeFileSync(pathOf(folder, (turn * 1_997) % files), `export const value = '${word} ${turn}';\n`);
  }
}

let scratch = 0;

const durably = ['-c', 'core.fsync=loose-object', '-c', 'core.fsyncMethod=fsync'];

/** What people write in a script: everything added to a copy of the index. */
async function addAll(folder, settings = []) {
  const index = join(folder, '.git', `bare-${++scratch}`);
  fs.copyFileSync(join(folder, '.git', 'index'), index);
  const env = { ...environment, GIT_INDEX_FILE: index };
  await runCommand('git', [...settings, 'add', '-A'], { cwd: folder, env });
  return runCommand('git', [...settings, 'write-tree'], { cwd: folder, env });
}

/** Folders alike, so that no side finds objects another has written. */
async function measureSnapshots({ openOrch, takeSnapshot, parseEpicId, parseSessionId }, amount) {
  const folders = [makeLargeRepository(), makeLargeRepository(), makeLargeRepository()];
  const [ours, bare, synced] = folders;
  const orch = await openOrch({ cwd: ours, engine: 'native' });
  const request = {
    epic: parseEpicId('epic'),
    session: parseSessionId('sess-bench2'),
    label: 'session 1',
    at: Date.now(),
    maxFileBytes: 10_000_000,
  };
  const side = (folder, run) => ({
    prepare: (round) => makeChange(folder, amount, `round ${round}`),
    run,
  });
  const times = await measure(
    {
      snapshot: side(ours, () => takeSnapshot(orch, request)),
      bare: side(bare, () => addAll(bare)),
      synced: side(synced, () => addAll(synced, durably)),
    },
    { rounds: 30 },
  );
  const { tree } = await takeSnapshot(orch, request);
  if (tree !== (await addAll(bare)).trim()) throw new Error('the two trees differ');
  orch.close();
  for (const folder of folders) removeFolder(folder);
  return times;
}

/** All of them new in each round, in folders that were not there before; neither side has to forget those of the last. */
function makeNewFiles(folder, round) {
  fs.rmSync(join(folder, 'new'), { recursive: true, force: true });
  fs.rmSync(join(folder, '.git', 'orchestration', 'snapshot-index'), { recursive: true, force: true });
  for (let index = 0; index < files; index++) {
    const path = pathOf(join(folder, 'new', `round-${round}`), index);
    if (index < 400) fs.mkdirSync(join(path, '..'), { recursive: true });
    fs.writeFileSync(path, `export const value${index} = '${round}';\n`);
  }
}

async function measureNewFiles({ openOrch, takeSnapshot, parseEpicId, parseSessionId }) {
  const folders = [makeRepository(), makeRepository()];
  for (const folder of folders) git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'none');
  const [ours, bare] = folders;
  git(bare, 'read-tree', '--empty'); // an index to copy
  const orch = await openOrch({ cwd: ours, engine: 'native' });
  const request = {
    epic: parseEpicId('epic'),
    session: parseSessionId('sess-bench3'),
    label: 'session 1',
    at: Date.now(),
    maxFileBytes: 10_000_000,
  };
  const side = (folder, run) => ({ prepare: (round) => makeNewFiles(folder, round), run });
  const times = await measure(
    { snapshot: side(ours, () => takeSnapshot(orch, request)), bare: side(bare, () => addAll(bare)) },
    { rounds: 5 },
  );
  orch.close();
  for (const folder of folders) removeFolder(folder);
  return times;
}

/**
 * A snapshot with its commit and ref, all of it on disk, against `git add -A` and `git write-tree` on a copied index:
 * as they are, where nothing waits for the disk, and with git's own waiting for each object (not for its folder).
 */
export async function run() {
  const internals = await loadInternals();
  const some = await measureSnapshots(internals, changed);
  const none = await measureSnapshots(internals, 0);
  const added = await measureNewFiles(internals);
  const what = `snapshot, ${files / 1_000},000 files`;
  const add = 'git add -A, write-tree';
  return [
    { what: `${what}, ${changed} changed`, against: add, ...compare(some.snapshot, some.bare), bar: 1.3 },
    {
      what: `${what}, ${changed} changed`,
      against: `${add}, fsync`,
      ...compare(some.snapshot, some.synced),
      bar: 1.3,
    },
    {
      what: `snapshot, ${files / 1_000},000 new files`,
      against: add,
      ...compare(added.snapshot, added.bare),
      bar: 1.5,
    },
    { what: `${what}, none changed`, against: add, ...compare(none.snapshot, none.bare), bar: 1.3 },
  ];
}
