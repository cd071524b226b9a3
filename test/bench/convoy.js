import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openOrch, saveCheckpoint } from '../../dist/index.js';
import { runBareNode, runCommand, runOrch } from './commands.js';
import { compare, measure, median } from './measure.js';
import { environment, git, makeFolder, makeRepository, orchBin, removeFolder } from './scratch.js';

const tasks = 50;
const workers = 4;

/** What a worker does: with nothing changed at all, its task would count as not done. */
const command = 'echo done > "$ORCH_TASK.txt"';

function makePlan(count, agent, { workers: most = workers, more = '' } = {}) {
  const ids = Array.from({ length: count }, (_, n) => `  - { id: t${n}, prompt: do it }\n`);
  const worker = `worker: { agent: ${JSON.stringify(agent)}, budget: 1 }\n`;
  return `name: many\nworkers: ${most}\nbudget: 1000\n${more}${worker}tasks:\n${ids.join('')}`;
}

function makeConvoyed(plan) {
  const folder = makeRepository();
  mkdirSync(join(folder, '.orchestration'), { recursive: true });
  writeFileSync(join(folder, '.orchestration', 'config.yaml'), 'gates: []\n');
  writeFileSync(join(folder, 'plan.yaml'), plan);
  git(folder, 'add', '.orchestration');
  git(folder, 'commit', '--quiet', '--message', 'config');
  return folder;
}

function expectMerged(folder, count) {
  const merges = git(folder, 'rev-list', '--count', '--merges', '--first-parent', 'orch/many/merged');
  if (Number(merges) !== count) throw new Error(`${merges} of ${count} tasks were merged`);
}

/** A convoy whose workers only write a file, against the same commands in worktrees made and merged by git alone. */
async function measureOverhead() {
  const used = [];
  const bareScript = [
    'set -e',
    'git worktree add --quiet -b "task-$1" "$PWD-$1" main',
    'cd "$PWD-$1"',
    `ORCH_TASK=t$1 sh -c '${command}'`,
    'git add --all',
    'git commit --quiet --message "t$1"',
  ].join('\n');
  const numbers = Array.from({ length: tasks }, (_, n) => `${n}\n`).join('');
  const times = await measure(
    {
      ours: {
        prepare: () => {
          used.push(makeConvoyed(makePlan(tasks, command)));
          return used.at(-1);
        },
        run: async (folder) => {
          await runOrch(folder, 'convoy', 'start', 'plan.yaml', '--json');
          expectMerged(folder, tasks);
        },
      },
      commands: {
        prepare: makeFolder,
        run: (folder) =>
          runCommand('xargs', ['-n1', `-P${workers}`, 'sh', '-c', `ORCH_TASK=t$1; ${command}`, 'sh'], {
            cwd: folder,
            input: numbers,
          }),
      },
      byGit: {
        prepare: makeRepository,
        run: async (folder) => {
          await runCommand('xargs', ['-n1', '-P1', 'sh', '-c', bareScript, 'sh'], {
            cwd: folder,
            input: numbers,
          });
          for (let task = 0; task < tasks; task++)
            await runCommand('git', ['merge', '--quiet', '--no-ff', '--no-edit', `task-${task}`], {
              cwd: folder,
            });
        },
      },
    },
    { rounds: 3, warmUp: 0 },
  );
  for (const folder of used) removeFolder(folder);
  const each = (name) => times[name].map((time) => time / tasks);
  const figures = (name) => {
    const both = compare(each('ours'), each(name));
    return { ...both, difference: both.ours - both.theirs };
  };
  const what = `a task of a convoy of ${tasks}, ${workers} workers`;
  return [
    { what, against: `the bare command, xargs -P${workers}`, ...figures('commands') },
    { what, against: 'the command in a worktree, commit and merge, all by git', ...figures('byGit') },
  ];
}

const few = 10;
const many = 10_000;

/** A convoy of that many tasks, nearly all of which are merged; a few are still open. */
async function makeRecorded(count) {
  const folder = makeConvoyed(makePlan(count, command));
  const orch = await openOrch({ cwd: folder, engine: 'native', settings: { snapshot: false } });
  const base = git(folder, 'rev-parse', 'HEAD');
  const run = 'run-bench';
  const shards = count <= 16 ? 0 : 3;
  const session = 'sess-bench';
  const worker = (n, step, merged) => ({
    ...{ lease: 1, step, epic: `many--t${n}`, base, agent: 'sh', model: null, commit: base, merged },
    costMicros: 120_000,
  });
  const digest = '0123456789abcdef';
  const record = (n, status, step) => ({
    ...{ kind: 'task', run, id: `t${n}`, status, attempts: 1, digest, artifacts: [], shards },
    worker: worker(n, step, status === 'succeeded' ? base : null),
  });
  const open = 4;
  const facts = [
    {
      ...{ kind: 'run', run, plan: 'many', digest: 'd', status: 'running', session, from: null },
      ...{ file: 'plan.yaml', startedAt: 1, endedAt: null, tasks: count, shards },
    },
    { kind: 'current_set', key: 'convoy', value: { base, run } },
    ...Array.from({ length: count - open }, (_, n) => record(n, 'succeeded', 'merging')),
    ...Array.from({ length: open }, (_, n) => ({
      ...record(count - open + n, 'pending', 'held'),
      why: 'it waits for a person',
    })),
  ];
  await saveCheckpoint({ epicId: 'many', facts }, orch);
  orch.close();
  git(folder, 'branch', 'orch/many/merged');
  git(folder, 'repack', '-adq');
  return folder;
}

/** `convoy show` at 10,000 tasks against 10, beyond the start of the process, which is the same. */
async function measureShow() {
  const [large, small] = [await makeRecorded(many), await makeRecorded(few)];
  for (const folder of [large, small]) {
    const { convoy } = JSON.parse(await runOrch(folder, 'convoy', 'show', '--json'));
    if (convoy.counts.held !== 4 || convoy.counts.done < few - 4)
      throw new Error(JSON.stringify(convoy.counts));
  }
  const results = [];
  for (const view of [['convoy', 'show'], ['convoy', 'list'], ['status']]) {
    const times = await measure(
      {
        large: () => runOrch(large, ...view),
        small: () => runOrch(small, ...view),
        node: () => runBareNode(small),
      },
      { rounds: 21 },
    );
    results.push({
      what: `orch ${view.join(' ')}, a convoy of ${many} tasks`,
      against: `of ${few}`,
      ...compare(times.large, times.small),
      bar: 1.25,
      note: `bare node: ${median(times.node).toFixed(1)} ms`,
    });
  }
  return results;
}

const together = 32;
const notes = 5;

/** So many workers record at the same time; everything is there afterwards, and what they spent is the convoy's. */
async function recordTogether(count, each) {
  const record = `"$ORCH" --quiet record note "$ORCH_TASK note $n"; "$ORCH" --quiet record cost 0.01`;
  const script = `n=0; while [ $n -lt ${each} ]; do n=$((n+1)); ${record}; done; ${command}`;
  const plan = makePlan(count, script, { workers: count }).replace('budget: 1 }', 'budget: 20 }');
  const folder = makeConvoyed(plan);
  const started = performance.now();
  await runCommand(process.execPath, [orchBin, 'convoy', 'start', 'plan.yaml', '--json'], {
    cwd: folder,
    env: { ...environment, ORCH: orchBin },
  });
  const elapsed = performance.now() - started;
  expectMerged(folder, count);
  const { convoy } = JSON.parse(await runOrch(folder, 'convoy', 'show', '--json', '--all'));
  const expected = count * each;
  let kept = 0;
  for (let task = 0; task < count; task++) {
    const history = git(folder, 'log', '-p', '--format=', `refs/orchestration/epics/many--t${task}`);
    for (let note = 1; note <= each; note++) if (history.includes(`t${task} note ${note}"`)) kept++;
  }
  const spent = Math.round(convoy.budget.spentUsd * 100);
  if (kept !== expected || spent !== expected)
    throw new Error(`${kept} of ${expected} notes and ${spent} of ${expected} cents are there`);
  removeFolder(folder);
  return elapsed;
}

async function measureTogether() {
  const all = together * notes;
  const [ours, theirs] = [await recordTogether(together, notes), await recordTogether(1, all)];
  return {
    what: `${together} workers record ${all} notes and costs at once`,
    against: 'one worker records them',
    ...compare([ours], [theirs]),
    note: `all ${all} notes and all of $${(all / 100).toFixed(2)} are there`,
  };
}

/** What a convoy costs beyond its commands, what looking at a large one costs, and that many at once lose nothing. */
export async function run() {
  return [...(await measureShow()), ...(await measureOverhead()), await measureTogether()];
}
