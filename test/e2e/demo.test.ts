import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { afterTest } from '../support/cleanup.ts';
import { runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';

/** Plays a demo, and returns what it printed and the repository it kept. */
function play(...what: string[]) {
  const temporary = mkdtempSync(join(tmpdir(), 'orch-played-'));
  afterTest(() => rmSync(temporary, { recursive: true, force: true }));
  const { status, stdout, stderr } = runOrch(makeRepositoryWithCommit(), ['demo', ...what], {
    env: { TMPDIR: temporary },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const folder = /That was a real repository: (\S+)/.exec(stdout)?.[1] ?? '';
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: folder, env: cleanEnvironment(temporary), encoding: 'utf8' }).trim();
  return { stdout, folder, git };
}

it('the demo: a session is killed, resumes with its brief, and is stopped at its budget', () => {
  const { stdout, git } = play();
  expect(stdout).toMatch(/\$ kill -9 \d+\n/);
  expect(stdout).toContain('Read the brief. Continuing with: Redirect to /home after login');
  expect(stdout).toContain('exit 4');
  expect(stdout).toContain('orch demo convoy');
  expect(git('log', '--oneline', '--branches').split('\n')).toHaveLength(1);
});

it('the demo of convoys: a conflict, a red gate and two kills later, everything is merged once', () => {
  const { stdout, git, folder } = play('convoy');
  expect(stdout).toMatch(/\$ kill -9 \d+ \d+ \d+\n/);
  expect(stdout).toContain('its worker died');
  expect(stdout).toMatch(/↻ search {2}It conflicts .*; next: attempt 2 of 3/);
  expect(stdout).toMatch(/↻ prices {2}The gate "test" fails .*; next: attempt 2 of 3/);
  expect(stdout).toMatch(/✓ 4 done {3}\$0\.72 of \$5\.00/);
  const tasks = git(
    'log',
    '--first-parent',
    '--merges',
    '--format=%(trailers:key=Orch-Task,valueonly)',
    'main',
  );
  expect(tasks.split('\n').filter(Boolean).sort()).toEqual(['guide', 'login', 'prices', 'search']);
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  expect(read('pages.txt').split('\n').sort()).toEqual(['', '/home', '/login', '/search']);
  expect(read('guide.md')).toBe('# Chapter 1\n# Chapter 2\n');
  expect(git('status', '--porcelain')).toBe('');
  expect(git('worktree', 'list').split('\n')).toHaveLength(1);
});
