import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadInternals } from './internals.js';
import { withoutSnapshots } from './long-run.js';
import { compare, measure } from './measure.js';
import { environment, makeRepository, orchBin, sizes } from './scratch.js';

const few = 1_000;
/** How many items are done before the run is killed. */
const doneFirst = 300;

function formatPlan(count) {
  const items = Array.from({ length: count }, (_, n) => `item${n}`).join(', ');
  return `tasks:\n  - id: each\n    foreach: [${items}]\n    run: "true"\n  - { id: last, run: "true" }\n`;
}

/** Parses a plan and works through its schedule without running anything; the time for each item. */
async function measureSchedule({ parsePlan, openSchedule, nothingKnown, expandItems }, count) {
  const text = formatPlan(count);
  return () => {
    const began = performance.now();
    const { tasks } = parsePlan(text, 'plan.yaml');
    const schedule = openSchedule(tasks, nothingKnown, 2, expandItems);
    let finished = 0;
    for (;;) {
      const { decisions, ready } = schedule.next();
      if (ready.length === 0 && decisions.length === 0) break;
      for (const task of ready) {
        schedule.valuesFor(task);
        schedule.finish(task.id, { status: 'succeeded' });
        finished += 1;
      }
    }
    if (finished !== count + 1) throw new Error(`${finished} of ${count + 1} tasks were scheduled`);
    return (performance.now() - began) / count;
  };
}

/** Starts orch and returns when it has said that so many tasks are done: what it said, and a way to kill it. */
function runUntil(folder, args, ended) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [orchBin, 'run', 'plan.yaml', '--epic', 'e', ...args], {
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (said.split(' ✓ ').length > ended) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('close', () => resolve(said));
  });
}

/** A run of that many items, killed after a few hundred. */
async function makeStopped(count) {
  const folder = makeRepository();
  withoutSnapshots(folder);
  writeFileSync(join(folder, 'plan.yaml'), formatPlan(count));
  await runUntil(folder, ['--jobs', '2'], doneFirst);
  return folder;
}

/** A list of 100,000 items: scheduled in a time that grows with it and no faster, and resumed. */
export async function run() {
  const many = sizes.items;
  const internals = await loadInternals();
  const [long, short] = [await measureSchedule(internals, many), await measureSchedule(internals, few)];
  const each = { long: [], short: [] };
  for (let round = -1; round < 5; round++) {
    const figures = { long: long() * 1_000, short: short() * 1_000 };
    if (round >= 0) for (const name of ['long', 'short']) each[name].push(figures[name]);
  }
  const [large, small] = [await makeStopped(many), await makeStopped(few)];
  const times = await measure(
    {
      large: () => runUntil(large, ['--resume'], 1),
      small: () => runUntil(small, ['--resume'], 1),
    },
    { rounds: 5, warmUp: 1 },
  );
  return [
    {
      what: `foreach: parse and schedule one of ${many} items`,
      against: `of ${few}`,
      ...compare(each.long, each.short),
      unit: 'µs',
      bar: 2,
    },
    {
      what: `resume of ${many} items, to the first task that ends`,
      against: `of ${few}`,
      ...compare(times.large, times.small),
    },
  ];
}
