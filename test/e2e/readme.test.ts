import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';

const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');

/** Ids, hashes and times differ from run to run. */
function normalize(text: string): string {
  return text
    .replace(/\b(ckpt-\d{8}|sess)-[a-z0-9]+/g, '$1-ID')
    .replace(/\b[0-9a-f]{7,40}\b/g, 'HASH')
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')
    .trimEnd();
}

it('the tour in the README prints what it says', () => {
  const tour = readme.slice(readme.indexOf('## Five minutes'), readme.indexOf('## Commands'));
  const blocks = [...tour.matchAll(/```\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block.split(/^\$ /m).slice(1),
  );
  expect(blocks.length).toBeGreaterThan(6);
  const repository = makeRepositoryWithCommit();
  const script = 'orch() { "$NODE" "$ORCH" "$@"; }; eval "$1" 2>&1';
  for (const block of blocks) {
    const [command = '', ...expected] = block.split('\n');
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', command], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home, {
        NODE: process.execPath,
        ORCH: orchBin,
        ORCH_NOW: '2026-11-16T02:11:47Z', // on a slow machine "now" would become "1s ago"
      }),
      encoding: 'utf8',
    });
    // The tour goes on in the same branch; what git itself says about that is not ours to promise.
    if (command.startsWith('git switch')) continue;
    expect(`$ ${command}\n${normalize(stdout)}`).toBe(`$ ${command}\n${normalize(expected.join('\n'))}`);
  }
});

it('every command in the README is there', () => {
  const repository = makeRepositoryWithCommit();
  const table = readme.slice(readme.indexOf('## Commands'), readme.indexOf('## Scripts'));
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
