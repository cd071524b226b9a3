import { lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { create, engines, epicRef, expectSound, type List, listFiles } from '../support/checkpoints.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

type Seen = { readonly [path: string]: { mode: number; mtime: number; content: string } };

/** Every file in a repository but objects and what is orch's own: what it holds, and when it was last written. */
function look(
  repository: TestRepository,
  own = /^\.git\/(objects|orchestration|refs\/orchestration)\//,
): Seen {
  const paths = listFiles(repository.folder).map((path) => relative(repository.folder, path));
  return Object.fromEntries(
    paths
      .filter((path) => !own.test(path))
      .map((path) => {
        const full = join(repository.folder, path);
        const stat = lstatSync(full);
        const content = stat.isSymbolicLink() ? readlinkSync(full) : readFileSync(full, 'latin1');
        return [path, { mode: stat.mode, mtime: stat.mtimeMs, content }];
      }),
  );
}

/** Checkpoints in every way there is, of which the user's files must show nothing. */
function expectUntouched(repository: TestRepository, engine: string): void {
  const before = look(repository);
  for (const path of ['.git/HEAD', '.git/index', '.git/config', '.git/refs/heads/main', 'README'])
    expect(before).toHaveProperty([path]);
  create(repository, 'one', { env: { ORCH_ENGINE: engine } });
  create(repository, 'two', { env: { ORCH_ENGINE: engine } });
  expect(look(repository)).toEqual(before);
  expect(repository.git('rev-parse', `${epicRef}~1`)).toMatch(/^[0-9a-f]{40}$/);
}

/** A file that both sides changed, on main and on side. */
function makeConflict(repository: TestRepository): void {
  const commit = (text: string) => {
    repository.write('README', `${text}\n`);
    repository.git('commit', '--quiet', '--all', '--message', text);
  };
  repository.git('checkout', '--quiet', '-b', 'side');
  commit('side');
  repository.git('checkout', '--quiet', 'main');
  commit('main');
}

describe.each(engines)("I1: a checkpoint changes nothing of the user's (%s)", (engine) => {
  it('with staged, unstaged, untracked, ignored, linked and stashed files', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('branch', 'other');
    repository.git('tag', 'v1');
    repository.write('.gitignore', 'ignored\n');
    repository.write('README', 'stashed\n');
    repository.git('stash', 'push', '--quiet', '--include-untracked');
    repository.write('staged', 'staged\n');
    repository.git('add', 'staged');
    repository.write('staged', 'staged, then changed\n');
    repository.write('README', 'unstaged\n');
    repository.write('untracked', 'untracked\n');
    repository.write('ignored', 'ignored\n');
    repository.write('intended', '');
    repository.git('add', '--intent-to-add', 'intended');
    symlinkSync('/nowhere', join(repository.folder, 'link'));
    // A git that refreshed the index would now write it.
    utimesSync(join(repository.folder, 'README'), 1, 1);

    const status = repository.git('--no-optional-locks', 'status', '--porcelain=v2', '--show-stash');
    expectUntouched(repository, engine);
    expect(repository.git('--no-optional-locks', 'status', '--porcelain=v2', '--show-stash')).toBe(status);
    expect(repository.git('stash', 'list')).toContain('stash@{0}');
    expectSound(repository);
  });

  it('in the middle of a merge, which can be finished', () => {
    const repository = makeRepositoryWithCommit();
    makeConflict(repository);
    expect(repository.tryGit('merge', 'side').status).toBe(1);
    expectUntouched(repository, engine);
    expect(repository.git('ls-files', '--unmerged').split('\n')).toHaveLength(3);
    repository.write('README', 'both\n');
    repository.git('commit', '--quiet', '--all', '--message', 'merged');
    expect(repository.git('rev-list', '--parents', '-1', 'HEAD').split(' ')).toHaveLength(3);
  });

  it('in the middle of a rebase, which can be finished', () => {
    const repository = makeRepositoryWithCommit();
    makeConflict(repository);
    expect(repository.tryGit('rebase', 'side').status).toBe(1);
    expectUntouched(repository, engine);
    repository.write('README', 'both\n');
    repository.git('add', 'README');
    repository.git('-c', 'core.editor=true', 'rebase', '--continue');
    expect(repository.git('log', '--format=%s', 'main')).toBe('main\nside\nfirst');
  });

  it('while another git holds the index and HEAD', () => {
    const repository = makeRepositoryWithCommit();
    for (const lock of ['index.lock', 'HEAD.lock', 'refs/heads/main.lock', 'config.lock'])
      repository.write(`.git/${lock}`, '');
    expectUntouched(repository, engine);
  });
});

/** A whole session with snapshots: start, records, a checkpoint by the clock, pause. */
async function expectUntouchedBySession(repository: TestRepository): Promise<void> {
  const own = /^\.git\/(objects|orchestration|refs\/orchestration)\//;
  const before = look(repository, own);
  const status = () => repository.git('--no-optional-locks', 'status', '--porcelain=v2', '--show-stash');
  const said = status();
  orchJson(repository, ['session', 'start', '-e', 'x', '--background', '--no-baseline', '--budget', '5']);
  try {
    orchJson(repository, ['record', 'note', 'a note', '-e', 'x']);
    orchJson(repository, ['record', 'cost', '1', '-e', 'x']);
    orchJson(repository, ['record', 'file', '-e', 'x', 'README']);
    await vi.waitFor(() => expect(triggersOf(repository)).toContain('interval'), {
      timeout: 20_000,
      interval: 100,
    });
  } finally {
    orchJson(repository, ['session', 'pause', '-e', 'x']);
  }
  expect(look(repository, own)).toEqual(before);
  expect(status()).toBe(said);
  // On a slow machine the clock may call for more than one.
  expect([...new Set(triggersOf(repository))]).toEqual(['pause', 'interval', 'session_start']);
  const { checkpoints } = orchJson<List>(repository, ['checkpoint', 'list', '-e', 'x']);
  for (const { snapshot } of checkpoints)
    expect(repository.git('cat-file', '-t', snapshot ?? 'none')).toBe('commit');
}

function triggersOf(repository: TestRepository): string[] {
  const { checkpoints } = orchJson<List>(repository, ['checkpoint', 'list', '-e', 'x']);
  return checkpoints.map(({ trigger }) => trigger);
}

describe("I1: a whole session with snapshots changes nothing of the user's", () => {
  it.each([
    ['with changes, staged and not, and a stash', null],
    ['in a merge', ['merge', 'side']],
    ['in a rebase', ['rebase', 'side']],
    ['in a cherry-pick', ['cherry-pick', 'side']],
    ['in a revert', ['revert', '--no-edit', 'main~1']],
  ])('%s', async (_, command) => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, '.orchestration'));
    repository.write('.orchestration/config.yaml', 'checkpoint:\n  interval: 1s\n');
    makeConflict(repository);
    repository.write('README', 'stashed\n');
    repository.git('stash', 'push', '--quiet');
    if (command?.[0] === 'revert') {
      repository.write('README', 'third\n');
      repository.git('commit', '--quiet', '--all', '--message', 'third');
    }
    if (command) expect(repository.tryGit(...command).status).toBe(1);
    repository.write('untracked', 'untracked\n');
    repository.write('staged', 'staged\n');
    if (!command) repository.git('add', 'staged');
    utimesSync(join(repository.folder, 'README'), 1, 1);
    await expectUntouchedBySession(repository);
    expectSound(repository);
  });
});

it("I1: reading changes nothing at all, not even orch's own files", () => {
  const repository = makeRepositoryWithCommit();
  create(repository, 'one');
  const before = look(repository, /^$/);
  const reading = [['list'], ['show', '1', '--json'], ['verify']];
  for (const engine of engines) {
    for (const args of reading) {
      const ran = runOrch(repository, ['checkpoint', ...args], { env: { ORCH_ENGINE: engine } });
      expect(ran.status).toBe(0);
    }
  }
  expect(look(repository, /^$/)).toEqual(before);
});
