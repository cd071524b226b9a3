import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterTest } from './cleanup.ts';
import { readProgram, runProgram } from './programs.ts';

/** A folder that is gone after the test. */
export function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'orch-test-')));
  afterTest(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** An environment in which nothing of the developer's is visible. */
export function cleanEnvironment(home: string, extra: Record<string, string> = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    GIT_CONFIG_NOSYSTEM: '1',
    ...extra,
  };
}

export type TestRepository = {
  readonly folder: string;
  readonly home: string;
  /** Runs git there; its output without the last newline. */
  git(...args: string[]): string;
  /** Runs git there, whatever comes of it. */
  tryGit(...args: string[]): { status: number; stdout: string; stderr: string };
  write(path: string, content: string): void;
};

/** A real repository with an identity of its own; `init` are arguments of `git init`. */
export function makeRepository(...init: string[]): TestRepository {
  const home = makeFolder();
  const folder = join(home, 'repository');
  const env = cleanEnvironment(home, {
    GIT_AUTHOR_NAME: 'A User',
    GIT_AUTHOR_EMAIL: 'user@example.com',
    GIT_COMMITTER_NAME: 'A User',
    GIT_COMMITTER_EMAIL: 'user@example.com',
  });
  readProgram('git', ['init', '--quiet', '--initial-branch=main', ...init, folder], { cwd: home, env });
  const git = (...args: string[]) => readProgram('git', args, { cwd: folder, env });
  const tryGit = (...args: string[]) => runProgram('git', args, { cwd: folder, env });
  return { folder, home, git, tryGit, write: (path, content) => writeFileSync(join(folder, path), content) };
}

/** The same, with one commit on main. */
export function makeRepositoryWithCommit(...init: string[]): TestRepository {
  const repository = makeRepository(...init);
  repository.write('README', 'hello\n');
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'first');
  return repository;
}
