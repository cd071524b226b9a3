import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import './scratch.js';
import { formatResults, isPast } from './table.js';

const groups = {
  append: () => import('./append.js'),
  scale: () => import('./scale.js'),
  start: () => import('./start.js'),
  journal: () => import('./journal.js'),
  concurrent: () => import('./concurrent.js'),
  snapshot: () => import('./snapshot.js'),
  memory: () => import('./memory.js'),
  transcript: () => import('./transcript.js'),
  sync: () => import('./sync.js'),
  plan: () => import('./plan.js'),
  bisect: () => import('./bisect.js'),
  convoy: () => import('./convoy.js'),
  merge: () => import('./merge.js'),
  shards: () => import('./shards.js'),
  size: () => import('./size.js'),
  worktree: () => import('./worktree.js'),
  lists: () => import('./lists.js'),
  compare: () => import('./compare.js'),
  hooks: () => import('./hooks.js'),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(groups, name));
if (unknown.length > 0) {
  process.stderr.write(
    `no such benchmark: ${unknown.join(', ')}; there are ${Object.keys(groups).join(', ')}\n`,
  );
  process.exit(2);
}

const results = [];
for (const name of asked.length > 0 ? asked : Object.keys(groups)) {
  const started = performance.now();
  const { run } = await groups[name]();
  results.push(...(await run()));
  process.stderr.write(`${name}: ${((performance.now() - started) / 1_000).toFixed(0)} s\n`);
}

const version = execFileSync('git', ['--version'], { encoding: 'utf8' }).trim();
process.stdout.write(`${formatResults(results)}\n\n`);
process.stdout.write(`${availableParallelism()} cores, node ${process.version}, ${version}\n`);
if (results.some(isPast)) process.exitCode = 1;
