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

/** What people write in a script: everything added to a copy of the index. */
async function addAll(folder) {
  const index = join(folder, '.git', `bare-${++scratch}`);
  fs.copyFileSync(join(folder, '.git', 'index'), index);
  const env = { ...environment, GIT_INDEX_FILE: index };
  await runCommand('git', ['add', '-A'], { cwd: folder, env });
  return runCommand('git', ['write-tree'], { cwd: folder, env });
}

/** Two folders alike, so that neither side finds objects the other has written. */
async function compareSnapshots({ openOrch, takeSnapshot, parseEpicId, parseSessionId }, make, amount) {
  const [ours, theirs] = [make(), make()];
  const orch = await openOrch({ cwd: ours, engine: 'native' });
  const request = {
    epic: parseEpicId('epic'),
    session: parseSessionId('sess-bench2'),
    label: 'session 1',
    at: Date.now(),
    maxFileBytes: 10_000_000,
  };
  const sides = {
    snapshot: {
      prepare: (round) => makeChange(ours, amount, `round ${round}`),
      run: () => takeSnapshot(orch, request),
    },
    bare: { prepare: (round) => makeChange(theirs, amount, `round ${round}`), run: () => addAll(theirs) },
  };
  const { snapshot, bare } = await measure(sides, { rounds: 40 });
  const { tree } = await takeSnapshot(orch, request);
  if (tree !== (await addAll(theirs)).trim()) throw new Error('the two trees differ');
  orch.close();
  for (const folder of [ours, theirs]) removeFolder(folder);
  return compare(snapshot, bare);
}

/** A snapshot with its commit and ref, durable, against a bare `git add -A` and `git write-tree` on a copied index. */
export async function run() {
  const internals = await loadInternals();
  const against = 'git add -A, write-tree';
  const large = await compareSnapshots(internals, makeLargeRepository, changed);
  const same = await compareSnapshots(internals, makeLargeRepository, 0);
  return [
    { what: `snapshot, ${files / 1_000},000 files, ${changed} changed`, against, ...large, bar: 1.3 },
    { what: `snapshot, ${files / 1_000},000 files, none changed`, against, ...same, bar: 1.3 },
  ];
}
