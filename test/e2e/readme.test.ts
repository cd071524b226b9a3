import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';

const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');

/** Ids, hashes, times and how long something took differ from run to run. */
function normalize(text: string): string {
  return text
    .replace(' with all it started', '') // said only where the kernel confirms it
    .replace(/\b(ckpt-\d{8}|sess|run)-[a-z0-9]+/g, '$1-ID')
    .replace(/\b[0-9a-f]{7,40}\b/g, 'HASH')
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')
    .replace(/\bpid \d+/g, 'pid PID')
    .replace(/( (?:in )?)\d+s\b/g, '$1Ns')
    .trimEnd();
}

/** A command and orch print at the same time: who is first is a matter of luck. */
function sortLines(text: string): string {
  return text.split('\n').sort().join('\n');
}

/** A killed process takes a moment to be gone, which a person who types does not notice. */
function killAndWait(pid: string): string {
  const isThere = `ps -o stat= -p ${pid} | grep -q '^[^Z]'`;
  return `kill -9 ${pid}; while ${isThere}; do sleep 0.02; done`;
}

it('the tour in the README prints what it says', () => {
  const tour = readme.slice(readme.indexOf('## Five minutes'), readme.indexOf('## Commands'));
  const blocks = [...tour.matchAll(/```\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block.split(/^\$ /m).slice(1),
  );
  expect(blocks.length).toBeGreaterThan(15);
  const repository = makeRepositoryWithCommit();
  const bin = join(repository.home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'orch'), `#!/bin/sh\nexec '${process.execPath}' '${orchBin}' "$@"\n`, {
    mode: 0o755,
  });
  const clean = cleanEnvironment(repository.home, {
    ORCH_NOW: '2026-11-16T02:11:47Z', // on a slow machine "now" would become "1s ago"
    TZ: 'UTC',
  });
  const env = { ...clean, PATH: `${bin}:${clean.PATH}` };
  let pid = '';
  for (const block of blocks) {
    const [command = '', ...expected] = block.split('\n');
    const line = command.replace(/^kill -9 \d+$/, killAndWait(pid));
    const { stdout } = spawnSync('bash', ['-c', 'eval "$1" 2>&1', 'bash', line], {
      cwd: repository.folder,
      env,
      encoding: 'utf8',
    });
    pid = /\bpid (\d+)/.exec(stdout)?.[1] ?? pid;
    const order = command.includes(' -- ') ? sortLines : (text: string) => text;
    const shown = order(normalize(stdout.replaceAll(repository.folder, '/home/you/shop')));
    expect(`$ ${command}\n${shown}`).toBe(`$ ${command}\n${order(normalize(expected.join('\n')))}`);
  }
});

it('every command in the README is there', () => {
  const repository = makeRepositoryWithCommit();
  const table = readme.slice(readme.indexOf('## Commands'), readme.indexOf('## Config'));
  const commands = [...table.matchAll(/^\| `orch ([a-z]+(?: [a-z]+)*)/gm)].map(([, words = '']) =>
    words.split(' '),
  );
  expect(commands.length).toBeGreaterThan(4);
  for (const words of commands) {
    const path = words.filter((word) => word !== 'bash');
    const { status, stdout } = runOrch(repository, [...path, '--help']);
    expect([path.join(' '), status]).toEqual([path.join(' '), 0]);
    expect(stdout).toContain(`Usage: orch ${path.join(' ')}`);
  }
});
