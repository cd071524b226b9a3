import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  type Checkpoint,
  type CheckpointDocument,
  type OrchOptions,
  openOrch,
  saveCheckpoint,
  type Verification,
} from '../../src/index.ts';
import { errorOf, orchJson, type Ran, runOrch } from './orch.ts';
import { readProgram, runProgram } from './programs.ts';
import { cleanEnvironment, type TestRepository } from './repository.ts';

export const engines = ['native', 'isomorphic'] as const;
export const epicRef = 'refs/orchestration/epics/x';

export type Options = NonNullable<Parameters<typeof runOrch>[2]>;
export type List = {
  epicId: string;
  checkpoints: Checkpoint[];
  total: number;
  damaged?: { message: string; object: string | null };
};
export type Shown = { checkpoint: Checkpoint; document: CheckpointDocument };

/** A repository that is already there: a worktree, a clone, a copy. */
export function repositoryAt(home: string, folder: string): TestRepository {
  const env = cleanEnvironment(home, {
    GIT_AUTHOR_NAME: 'A User',
    GIT_AUTHOR_EMAIL: 'user@example.com',
    GIT_COMMITTER_NAME: 'A User',
    GIT_COMMITTER_EMAIL: 'user@example.com',
  });
  return {
    folder,
    home,
    git: (...args) => readProgram('git', args, { cwd: folder, env }),
    tryGit: (...args) => runProgram('git', args, { cwd: folder, env }),
    write: (path, content) => writeFileSync(join(folder, path), content),
  };
}

/** Saves a checkpoint of epic x. */
export function create(repository: TestRepository, reason: string, options: Options = {}): Checkpoint {
  const args = ['checkpoint', 'create', '--epic', 'x', `--reason=${reason}`];
  return orchJson<{ checkpoint: Checkpoint }>(repository, args, options).checkpoint;
}

/** `apart`: each in a session of its own. Calls of a day share one, but not those of different agents. */
export type SaveOptions = OrchOptions & { readonly apart?: boolean };

/**
 * Saves several of epic x through the library, the oldest first: what a test begins with, not what it is about,
 * because a process for each takes ten times as long.
 */
export async function save<const T extends readonly string[]>(
  repository: TestRepository,
  reasons: T,
  { apart = false, ...options }: SaveOptions = {},
): Promise<{ [K in keyof T]: Checkpoint }> {
  const orch = await openOrch({ cwd: repository.folder, ...options });
  const made: Checkpoint[] = [];
  try {
    for (const reason of reasons)
      made.push(await saveCheckpoint({ epicId: 'x', reason, ...(apart && { agent: reason }) }, orch));
  } finally {
    orch.close();
  }
  return made as { [K in keyof T]: Checkpoint }; // one for each, which the loop does not say
}

export function list(repository: TestRepository, options: Options = {}): List {
  return orchJson<List>(repository, ['checkpoint', 'list', '--epic', 'x'], options);
}

export function reasonsOf({ checkpoints }: List): (string | null)[] {
  return checkpoints.map(({ reason }) => reason);
}

export function show(repository: TestRepository, name: string, options: Options = {}): Shown {
  return orchJson<Shown>(repository, ['checkpoint', 'show', name, '--epic', 'x'], options);
}

/** Verifies epic x: the document it prints, whatever its status. */
export function verify(repository: TestRepository, options: Options = {}): Ran & { found: Verification } {
  const ran = runOrch(repository, ['checkpoint', 'verify', '--epic', 'x', '--json'], options);
  return { ...ran, found: JSON.parse(ran.stdout) };
}

/** Runs a command that must fail; the error as scripts read it, after checking that stdout is empty. */
export function fail(repository: TestRepository, args: readonly string[], options: Options = {}) {
  const ran = runOrch(repository, [...args, '--json'], options);
  expect(ran.stdout).toBe('');
  return { status: ran.status, stderr: ran.stderr, ...errorOf(ran) };
}

/** Every ref with its value, symbolic ones as such. */
export function readRefs(repository: TestRepository): string {
  const lines = repository.git('for-each-ref', '--format=%(refname) %(objectname) %(symref)').split('\n');
  return lines.filter((line) => !line.startsWith('refs/orchestration/snapshots/')).join('\n');
}

/** Nothing is to be said about a repository that is whole. */
export function expectSound(repository: TestRepository): void {
  const { status, stdout, stderr } = repository.tryGit('fsck', '--strict', '--no-dangling', '--no-progress');
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
}

/** Every file below a folder. */
export function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

export function readText(...path: string[]): string {
  return readFileSync(join(...path), 'utf8');
}

/** A commit by somebody else on top of another: its tree with these files put in. The ref stays where it is. */
export function commitFiles(
  repository: TestRepository,
  parent: string,
  files: { readonly [path: string]: string },
  message: string,
): string {
  const env = cleanEnvironment(repository.home, {
    GIT_INDEX_FILE: join(repository.home, 'scratch-index'),
    GIT_AUTHOR_NAME: 'Somebody',
    GIT_AUTHOR_EMAIL: 'somebody@example.com',
    GIT_COMMITTER_NAME: 'Somebody',
    GIT_COMMITTER_EMAIL: 'somebody@example.com',
  });
  const git = (args: string[], input = '') =>
    readProgram('git', args, { cwd: repository.folder, env, input });
  git(['read-tree', parent]);
  for (const [path, content] of Object.entries(files)) {
    const blob = git(['hash-object', '-w', '--stdin'], content);
    git(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`]);
  }
  return git(['commit-tree', git(['write-tree']), '-p', parent], message);
}

/** Where a checkpoint's document is in the tree of its commit. */
export function documentPath({ seq, id }: Checkpoint): string {
  return `.orchestration/checkpoints/x/${String(seq).padStart(8, '0')}-${id}.json`;
}
