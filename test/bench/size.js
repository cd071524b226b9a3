import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openOrch, sync } from '../../dist/index.js';
import { runBareNode, runCommand, runOrch } from './commands.js';
import { recordRun, withoutSnapshots, writeGraph } from './long-run.js';
import { compare, measure } from './measure.js';
import { readPeak } from './peak-memory.js';
import { git, makeFolder, makeRepository, removeFolder, sizes } from './scratch.js';
import { makeClones, mayPublish } from './sync.js';

const few = 10;
const many = 10_000;

const runGraph = (folder, jobs) =>
  runOrch(folder, 'run', 'plan.yaml', '--epic', 'e', '--fresh', '--json', '--jobs', String(jobs));

function makeGraph(count) {
  const folder = makeRepository();
  writeGraph(folder, count);
  return folder;
}

/** What a task takes beyond its command, in a plan with needs: against a shell for each, and against make. */
async function runTasks(jobs) {
  const count = sizes.tasks;
  const folder = makeGraph(count);
  const numbers = Array.from({ length: count }, (_, n) => `${n}\n`).join('');
  const xargs = ['-n1', `-P${jobs}`, 'sh', '-c', 'true'];
  const times = await measure(
    {
      ours: { prepare: () => makeGraph(count), run: (own) => runGraph(own, jobs) },
      bare: () => runCommand('xargs', xargs, { cwd: folder, input: numbers }),
      make: () => runCommand('make', ['--silent', `-j${jobs}`], { cwd: folder }),
    },
    { rounds: count > 2_000 ? 1 : 3, warmUp: 0 },
  );
  const each = (name) => times[name].map((time) => time / count);
  const what = `one of ${count} tasks, --jobs ${jobs}`;
  return ['bare', 'make'].map((name) => {
    const figures = compare(each('ours'), each(name));
    const against = name === 'bare' ? `xargs -P${jobs}` : `make -j${jobs}`;
    return { what, against, ...figures, difference: figures.ours - figures.theirs, bar: 15 };
  });
}

/** The memory of a long run against one of a hundred tasks. */
function runMemory() {
  const words = ['run', 'plan.yaml', '--epic', 'e', '--jobs', '2'];
  const peaks = (count) => Array.from({ length: 3 }, () => readPeak(makeGraph(count), words));
  const figures = compare(peaks(sizes.tasks), peaks(100));
  return { what: `memory: a run of ${sizes.tasks} tasks`, against: 'of 100', ...figures, unit: 'MB', bar: 3 };
}

const settings = { snapshot: false };

async function makeRecorded(count) {
  const folder = makeRepository();
  withoutSnapshots(folder);
  const orch = await openOrch({ cwd: folder, engine: 'native', settings });
  await recordRun(orch, 'e', count);
  orch.close();
  return folder;
}

/** What people look at, at 10,000 tasks against 10: beyond the start of the process, which is the same. */
async function runViews() {
  const [long, short] = [await makeRecorded(many), await makeRecorded(few)];
  const views = [
    ['run', '--list', '-e', 'e'],
    ['status'],
    ['checkpoint', 'show', 'latest', '-e', 'e'],
    ['log', 'e'],
  ];
  const results = [];
  for (const view of views) {
    const { node, atMany, atFew } = await measure(
      {
        node: () => runBareNode(short),
        atMany: () => runOrch(long, ...view),
        atFew: () => runOrch(short, ...view),
      },
      { rounds: 21 },
    );
    const beyond = (times) => times.map((time, round) => time - node[round]);
    const figures = compare(beyond(atMany), beyond(atFew));
    results.push({
      what: `orch ${view.slice(0, 3).join(' ')}, at ${many} tasks`,
      against: `at ${few}`,
      ...figures,
      bar: 1.25,
    });
  }
  for (const folder of [long, short]) removeFolder(folder);
  return results;
}

/** Counts what a repository sends: a pack at the other end has what git adds to it there. */
function countSent(folder) {
  const file = join(makeFolder(), 'sent');
  git(folder, 'config', 'remote.origin.receivepack', `tee -a '${file}' | git-receive-pack`);
  return () => statSync(file).size;
}

/** What a sync sends after one task of a run has changed. */
async function runSync() {
  const open = async (count) => {
    let save = null;
    const { first } = await makeClones(async (folder) => {
      const orch = await openOrch({ cwd: folder, engine: 'native', settings });
      save = await recordRun(orch, 'e', count);
    });
    const readSent = countSent(first);
    const sent = [];
    let before = 0;
    return {
      sent,
      send: async () => {
        await save();
        await sync(null, { cwd: first }, { mayPublish });
        sent.push(readSent() - before);
        before += sent.at(-1);
      },
    };
  };
  const [long, short] = [await open(many), await open(few)];
  for (let round = 0; round < 12; round++) for (const { send } of [long, short]) await send();
  const what = `sync: bytes sent for one changed task of ${many}`;
  return { what, against: `of ${few}`, ...compare(long.sent, short.sent), unit: 'B', bar: 1.5 };
}

/** What a long plan costs: each task, the memory, looking at it, and sending it. */
export async function run() {
  return [
    ...(await runTasks(2)),
    ...(await runTasks(1)),
    runMemory(),
    ...(await runViews()),
    await runSync(),
  ];
}
