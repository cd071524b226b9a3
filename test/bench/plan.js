import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runBareNode, runCommand, runOrch } from './commands.js';
import { compare, measure } from './measure.js';
import { makeRepository } from './scratch.js';

const few = 20;
const many = 200;

/** A repository with a plan of so many tasks that do next to nothing; each may have an effect, the last may fail. */
function makePlanned(count, { effects, fails }) {
  const folder = makeRepository();
  const lines = Array.from({ length: count }, (_, n) => {
    const run = fails && n === count - 1 ? 'false' : 'true';
    const effect = effects ? `, effects: [{ id: e${n}, run: "true" }]` : '';
    return `  - { id: t${n}, run: "${run}"${effect} }\n`;
  });
  mkdirSync(join(folder, '.orchestration'));
  writeFileSync(join(folder, '.orchestration', 'config.yaml'), 'checkpoint: { snapshot: false }\n');
  writeFileSync(join(folder, 'plan.yaml'), `tasks:\n${lines.join('')}`);
  return folder;
}

/** The same commands without orch: a shell for each. */
async function runBare(folder, count) {
  for (let n = 0; n < count; n++) await runCommand('sh', ['-c', 'true'], { cwd: folder });
}

const runPlan = (folder, ...args) =>
  runOrch(folder, 'run', 'plan.yaml', '--epic', 'bench', '--json', ...args);

/** Runs a plan whose last task fails, as it should. */
async function failPlan(folder, ...args) {
  const isFailure = (error) => /ended with 3:/.test(error.message);
  await runPlan(folder, ...args).catch((error) => {
    if (!isFailure(error)) throw error;
  });
}

/** What a task costs beyond its command, and what a long plan does, from its start and when it is resumed. */
export async function run() {
  const short = makePlanned(few, { effects: false, fails: false });
  const long = makePlanned(many, { effects: true, fails: false });
  const stopped = makePlanned(many, { effects: true, fails: true });
  await failPlan(stopped);
  const times = await measure(
    { node: () => runBareNode(short), bare: () => runBare(short, few), run: () => runPlan(short) },
    { rounds: 5, warmUp: 1 },
  );
  const longTimes = await measure(
    { bare: () => runBare(long, 2 * many), run: () => runPlan(long) },
    { rounds: 2, warmUp: 0 },
  );
  const resumed = await measure(
    { node: () => runBareNode(stopped), resume: () => failPlan(stopped, '--resume') },
    { rounds: 5, warmUp: 1 },
  );
  return [
    { what: `a plan of ${few} tasks`, against: 'their commands bare', ...compare(times.run, times.bare) },
    {
      what: `a plan of ${many} tasks, each with an effect`,
      against: 'their commands bare',
      ...compare(longTimes.run, longTimes.bare),
    },
    {
      what: `resume of it with one task left`,
      against: 'node -e 0',
      ...compare(resumed.resume, resumed.node),
    },
  ];
}
