import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment, makeFolder, orchBin } from './scratch.js';

const hook = fileURLToPath(new URL('peak-memory.cjs', import.meta.url));
const output = join(makeFolder(), 'peak');

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

let meter = null;

/** The largest a command gets, in megabytes. */
export function readPeak(folder, words) {
  meter ??= chooseMeter();
  const [command, ...args] = meter;
  runHidden(command, [...args, orchBin, ...words], folder);
  return Number(readFileSync(output, 'utf8')) / 1_024;
}
