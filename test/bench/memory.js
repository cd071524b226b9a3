import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importHistory } from './history.js';
import { compare } from './measure.js';
import { environment, makeFolder, makeRepository, orchBin, removeFolder } from './scratch.js';

const epicId = 'epic';
const hook = fileURLToPath(new URL('peak-memory.cjs', import.meta.url));
const output = join(makeFolder(), 'peak');
const commands = {
  'checkpoint list': ['checkpoint', 'list', '--epic', epicId],
  'checkpoint create': ['checkpoint', 'create', '--epic', epicId],
  status: ['status'],
};

function runHidden(command, args, cwd) {
  const env = { ...environment, PEAK_MEMORY_FILE: output };
  const { status, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  if (error || status !== 0) throw error ?? new Error(`${command} ended with ${status}: ${stderr}`);
}

/** GNU time counts every process a command waits for, git too; where it is missing, node itself must do. */
function chooseMeter() {
  const time = ['/usr/bin/time', '-o', output, '-f', '%M'];
  const { status } = spawnSync(time[0], [...time.slice(1), 'true'], { env: environment });
  return status === 0 ? [...time, process.execPath] : [process.execPath, '--require', hook];
}

/** The largest a command gets, in megabytes. */
function readPeak([command, ...args], folder, words) {
  runHidden(command, [...args, orchBin, ...words], folder);
  return Number(readFileSync(output, 'utf8')) / 1_024;
}

/** What a command takes where its epic lies in a 500 MB pack, against the same epic in a pack of its own. */
export async function run() {
  const meter = chooseMeter();
  const [large, small] = [makeRepository(), makeRepository()];
  await importHistory(large, epicId, 100, { ballast: 500, saved: 20 });
  await importHistory(small, epicId, 100, { saved: 20 });
  const results = [];
  for (const [what, words] of Object.entries(commands)) {
    const [besideLarge, besideSmall] = [[], []];
    for (let round = 0; round < 7; round++) {
      besideLarge.push(readPeak(meter, large, words));
      besideSmall.push(readPeak(meter, small, words));
    }
    const figures = { ...compare(besideLarge, besideSmall), unit: 'MB', bar: 1.2 };
    results.push({ what: `memory: ${what}, 500 MB pack`, against: 'small pack', ...figures });
  }
  removeFolder(large);
  return results;
}
