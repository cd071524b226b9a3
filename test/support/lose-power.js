// Records on a file system of its own, and loses its power again and again: `node lose-power.js FOLDER ORCH ROUNDS`, as
// root, in a mount namespace of its own. A copy of the disk's image is what a power loss at that moment leaves: it
// holds what was written back by then, and nothing that is only in memory. Prints what each copy holds, as JSON.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '', orch = '', rounds = '1'] = process.argv.slice(2);
const [image, repository, after] = ['disk.img', 'repository', 'after'].map((name) => join(folder, name));

function run(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

function ask(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [orch, ...args, '--json'], {
    cwd: after,
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(`orch ${args.join(' ')}: ${status} ${stderr}`);
  return JSON.parse(stdout);
}

mkdirSync(repository);
mkdirSync(after);
run('truncate', '-s', '64M', image);
run('mkfs.ext4', '-q', image);
run('mount', '-o', 'loop', image, repository);
run('git', '-C', repository, 'init', '--quiet');
run('sync');

let acknowledged = 0;
const copies = [];
function losePower(inFlight) {
  const copy = join(folder, `${copies.length}.img`);
  run('cp', '--sparse=always', image, copy);
  copies.push({ copy, acknowledged, inFlight });
}

for (let round = 0; round < Number(rounds); round++) {
  const child = spawn(process.execPath, [orch, 'record', 'cost', '1', '-e', 'x'], {
    cwd: repository,
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  if (round % 3 > 0) {
    // Held still, so that the copy is of one moment.
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 40 + ((round * 37) % 90)))]);
    if (child.exitCode === null && child.kill('SIGSTOP')) {
      losePower(true);
      child.kill('SIGCONT');
    }
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`round ${round}: status ${status}`);
  acknowledged += 1;
  if (round % 3 === 0) losePower(false);
}
// git may still be packing, detached.
run('umount', '--lazy', repository);

const found = copies.map(({ copy, ...known }) => {
  run('mount', '-o', 'loop', copy, after);
  try {
    const [epic] = ask('status').epics;
    const { damaged } = ask('checkpoint', 'verify');
    const fsck = run('git', '-C', after, 'fsck', '--strict', '--no-dangling', '--no-progress');
    // It can be worked on right away.
    ask('record', 'cost', '1', '-e', 'x');
    const next = ask('status').epics[0].budget.spentUsd;
    return { ...known, spent: epic?.budget.spentUsd ?? 0, damaged, fsck, next };
  } finally {
    run('umount', '--lazy', after);
  }
});
process.stdout.write(JSON.stringify(found));
