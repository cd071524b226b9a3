import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { loadLatestCheckpoint, openOrch, saveCheckpoint, sync } from '../../dist/index.js';
import { runBareNode, runCommand, runOrch } from './commands.js';
import { importHistory, saveHistory } from './history.js';
import { compare, measure } from './measure.js';
import { git, makeFolder, makeRepository, removeFolder } from './scratch.js';

const epicId = 'epic';
export const mayPublish = () => true;

/** A repository that is shared, and clones of it which have all that `fill` put into the first. */
export async function makeClones(fill) {
  const first = makeRepository();
  const hub = makeFolder();
  git(hub, 'init', '--quiet', '--bare', '--initial-branch=main');
  // What is sent stays as it was sent, so that it can be weighed.
  git(hub, 'config', 'receive.unpackLimit', '1');
  git(hub, 'config', 'receive.autogc', 'false');
  git(first, 'remote', 'add', 'origin', `file://${hub}`);
  git(first, 'push', '--quiet', 'origin', 'main');
  await fill(first);
  await sync(null, { cwd: first }, { mayPublish });
  const second = makeFolder();
  git(second, 'clone', '--quiet', `file://${hub}`, '.');
  git(second, 'config', 'gc.auto', '0');
  await sync(null, { cwd: second }, { mayPublish });
  return { hub, first, second };
}

async function runNothingToDo() {
  const { first } = await makeClones((folder) => saveHistory(folder, epicId, 10));
  const { ours, theirs } = await measure(
    {
      ours: () => runOrch(first, 'sync'),
      theirs: async () => {
        await runBareNode(first);
        await runCommand('git', ['ls-remote', 'origin', 'refs/orchestration/*'], { cwd: first });
      },
    },
    { rounds: 24 },
  );
  const what = 'orch sync, nothing to do';
  return { what, against: 'node -e 0, git ls-remote', ...compare(ours, theirs), bar: 2 };
}

/** Both sides went on: one syncs, and the other's sync has to join, save and send. */
function syncDiverged({ first, second }) {
  const settings = { snapshot: false };
  return {
    prepare: async () => {
      await saveCheckpoint({ epicId, reason: 'There' }, { cwd: second, settings });
      await sync(null, { cwd: second }, { mayPublish });
      const orch = await openOrch({ cwd: first, settings });
      await saveCheckpoint({ epicId, reason: 'Here' }, orch);
      return orch;
    },
    run: async (orch) => {
      const { merged } = await sync(null, orch, { mayPublish });
      orch.close();
      if (merged.length !== 1) throw new Error('nothing was joined');
    },
  };
}

async function runJoin() {
  const long = await makeClones((folder) => importHistory(folder, epicId, 100_000));
  const short = await makeClones((folder) => saveHistory(folder, epicId, 10));
  const sides = { atMany: syncDiverged(long), atFew: syncDiverged(short) };
  const { atMany, atFew } = await measure(sides, { rounds: 12, warmUp: 2 });
  for (const folder of Object.values(long)) removeFolder(folder);
  return {
    what: 'sync: join, save, send, at 100,000',
    against: 'at 10',
    ...compare(atMany, atFew),
    bar: 1.5,
  };
}

/** The bytes of all packs in a repository. */
function weigh(hub) {
  const folder = join(hub, 'objects', 'pack');
  const packs = readdirSync(folder).filter((name) => name.endsWith('.pack'));
  return packs.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function weighCheckpoint({ hub, first }, snapshot) {
  const sent = [];
  const documents = [];
  for (let round = 0; round < 12; round++) {
    await saveCheckpoint({ epicId, reason: `Step ${round}` }, { cwd: first, settings: { snapshot } });
    const before = weigh(hub);
    await sync(null, { cwd: first }, { mayPublish });
    sent.push(weigh(hub) - before);
    const { document } = await loadLatestCheckpoint(epicId, { cwd: first });
    documents.push(deflateSync(JSON.stringify(document, null, 1)).length);
  }
  return { sent, documents };
}

async function runBytes() {
  const clones = await makeClones((folder) => saveHistory(folder, epicId, 30));
  const without = await weighCheckpoint(clones, false);
  const withFiles = await weighCheckpoint(clones, true);
  return [
    {
      what: 'sync: bytes sent for a checkpoint',
      against: 'its document, deflated',
      ...compare(without.sent, without.documents),
      unit: 'B',
      bar: 2,
    },
    {
      what: 'sync: the same with its snapshot',
      against: 'without',
      ...compare(withFiles.sent, without.sent),
      unit: 'B',
    },
  ];
}

/** What a sync takes when there is nothing to do, when both sides went on, and on the wire. */
export async function run() {
  return [await runNothingToDo(), await runJoin(), ...(await runBytes())];
}
