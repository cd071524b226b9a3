import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCommand } from './commands.js';
import { loadInternals } from './internals.js';
import { compare, measure, median } from './measure.js';
import { git, makeRepository, removeFolder } from './scratch.js';

const branches = 8;
const workers = 32;
const changed = 10;

/** A repository with so many files, packed, and a branch for each task, which changes some files of its own. */
function makeTasks(files, tasks, change) {
  const folder = makeRepository();
  const pathOf = (index) => `src/${index % 20}/${((index / 20) % 20) | 0}/file-${index}.ts`;
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const linesOf = (index) => Array.from({ length: 20 }, (_, n) => `export const value${index}_${n} = ${n};`);
  for (let index = 0; index < files; index++) write(pathOf(index), `${linesOf(index).join('\n')}\n`);
  git(folder, 'add', '.');
  git(folder, 'commit', '--quiet', '--message', 'much');
  git(folder, 'repack', '-adq');
  const base = git(folder, 'rev-parse', 'HEAD');
  const commits = Array.from({ length: tasks }, (_, task) => {
    git(folder, 'checkout', '--quiet', '-B', `orch/bench/task-${task}`, base);
    for (const { index, line } of change(task)) {
      const lines = linesOf(index);
      lines[line] = `export const changed = 'by task ${task}';`;
      write(pathOf(index), `${lines.join('\n')}\n`);
    }
    git(folder, 'commit', '--quiet', '--all', '--message', `task ${task}`);
    return git(folder, 'rev-parse', 'HEAD');
  });
  git(folder, 'checkout', '--quiet', 'main');
  return { folder, base, commits };
}

/** Finished tasks through the queue, all at once and one after the other, against `git merge` in a worktree. */
async function measureMerges({ openOrch, openMergeQueue, openMergedWorktree, parseEpicId }, files) {
  const own = (task) => Array.from({ length: changed }, (_, n) => ({ index: task * changed + n, line: n }));
  const { folder, base, commits } = makeTasks(files, branches, own);
  const convoy = parseEpicId('bench');
  git(folder, 'branch', 'orch/bench/merged', base);
  const orch = await openOrch({ cwd: folder, engine: 'native' });
  const worktree = await openMergedWorktree(orch, convoy);
  const bare = `${folder}-bare`;
  git(folder, 'worktree', 'add', '--quiet', '--detach', bare, base);
  const prepare = async () => {
    git(folder, 'update-ref', 'refs/heads/orch/bench/merged', base);
    return openMergeQueue(orch, { convoy, worktree, gates: 'none' });
  };
  const merge = async (queue, task) => {
    const request = { task: `task-${task}`, title: 'a task', lease: 1, commit: commits[task] };
    const result = await queue.merge(request, new AbortController().signal);
    if (result.kind !== 'merged') throw new Error(JSON.stringify(result));
  };
  const times = await measure(
    {
      together: { prepare, run: (queue) => Promise.all(commits.map((_, task) => merge(queue, task))) },
      single: {
        prepare,
        run: async (queue) => {
          for (const task of commits.keys()) await merge(queue, task);
        },
      },
      bare: {
        prepare: () => git(bare, 'reset', '--quiet', '--hard', base),
        run: async () => {
          for (const task of commits.keys())
            await runCommand('git', ['merge', '--quiet', '--no-ff', '--no-edit', `orch/bench/task-${task}`], {
              cwd: bare,
            });
        },
      },
    },
    { rounds: 11, warmUp: 2 },
  );
  const trees = ['refs/heads/orch/bench/merged', git(bare, 'rev-parse', 'HEAD')].map((commit) =>
    git(folder, 'rev-parse', `${commit}^{tree}`),
  );
  if (trees[0] !== trees[1]) throw new Error('the two trees differ');
  orch.close();
  removeFolder(bare);
  removeFolder(folder);
  return Object.fromEntries(
    Object.entries(times).map(([side, all]) => [side, all.map((time) => time / branches)]),
  );
}

/** 32 workers who change ten files each and share one, against merging the same pairs with a process each. */
async function measureCollisions({ openOrch, findCollisions, nothingCompared }, files) {
  const shared = (task) => [
    { index: 0, line: task % 16 },
    ...Array.from({ length: changed - 1 }, (_, n) => ({ index: 1 + task * changed + n, line: n })),
  ];
  const { folder, base, commits } = makeTasks(files, workers, shared);
  const orch = await openOrch({ cwd: folder, engine: 'native' });
  const works = commits.map((commit, task) => ({ task: `task-${task}`, commit, base }));
  const known = nothingCompared();
  const found = await findCollisions(orch, works, { known });
  const pairs = known.conflicts.size;
  // One worker has a new snapshot.
  const before = { touched: known.touched, conflicts: known.conflicts };
  const [first] = works;
  const tree = git(folder, 'rev-parse', `${first.commit}^{tree}`);
  const newer = { ...first, commit: git(folder, 'commit-tree', tree, '-p', first.commit, '-m', 'more') };
  const times = await measure(
    {
      all: () => findCollisions(orch, works),
      one: () => findCollisions(orch, [newer, ...works.slice(1)], { known: { ...before } }),
      none: () => findCollisions(orch, works, { known: { ...before } }),
    },
    { rounds: 5, warmUp: 1 },
  );
  const bare = await measure(
    {
      each: async () => {
        for (const [index, one] of commits.entries())
          for (const other of commits.slice(index + 1))
            await runCommand('git', ['merge-tree', '--write-tree', one, other], { cwd: folder }).catch(
              () => {},
            );
      },
    },
    { rounds: 1, warmUp: 0 },
  );
  orch.close();
  removeFolder(folder);
  return { ...times, each: bare.each, pairs, collisions: found.length };
}

/** What merging costs beyond git, without gates, and what it costs to see early which workers collide. */
export async function run() {
  const internals = await loadInternals();
  const results = [];
  for (const files of [500, 20_000]) {
    const times = await measureMerges(internals, files);
    const what = `merge a task, ${files} files, without gates`;
    const against = 'git merge --no-ff in a worktree';
    results.push(
      { what: `${what}, ${branches} waiting`, against, ...compare(times.together, times.bare), bar: 2 },
      { what: `${what}, one at a time`, against, ...compare(times.single, times.bare) },
    );
  }
  const files = 20_000;
  const { all, one, none, each, pairs, collisions } = await measureCollisions(internals, files);
  results.push({
    what: `collisions of ${workers} workers, ${files} files, ${pairs} pairs`,
    against: 'a git merge-tree for each pair',
    ...{ ours: median(all), theirs: median(each), ratio: median(all) / median(each) },
    note: `${collisions} collide; with one new snapshot ${median(one).toFixed(0)} ms, with none ${median(none).toFixed(2)} ms`,
  });
  return results;
}
