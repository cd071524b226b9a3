import { OrchError } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import { type Environment, inheritedEnvironment, startWithPipes } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { findOperation } from '../repository-facts.ts';
import { collectOutput, withoutMonitor, workFolder } from '../run-git.ts';

/*
 * The only place where orch commits on the user's branch, because they asked for it: with their own identity, hooks,
 * signature and index.
 */

/** Variables that are set inside hooks and would point git to another repository. */
const redirecting =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|NAMESPACE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/;

function userEnvironment(): Environment {
  const kept = Object.entries(inheritedEnvironment()).filter(([name]) => !redirecting.test(name));
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' };
}

const resumeBatch = 'Completed tasks stay completed. Fix the cause, then run: orch batch complete --commit';

async function runUserGit(
  repository: Repository,
  args: readonly string[],
  hint = resumeBatch,
): Promise<string> {
  const child = startWithPipes(
    'git',
    [...withoutMonitor, ...args],
    workFolder(repository),
    userEnvironment(),
  );
  child.stdin.end();
  const { status, stdout, stderr } = await collectOutput(child);
  if (status === 0) return stdout;
  const output = [stderr, stdout].find((text) => text.trim() !== '')?.trim() ?? `status ${status}`;
  const command = args.find((word) => !word.startsWith('-'));
  throw new OrchError('GIT_FAILED', `git ${command} failed: ${output.slice(-2_000)}`, {
    hint,
    data: { status },
  });
}

/** Refuses to commit during an operation that the commit would become part of; a bisection is none. */
export function refuseDuringOperation(repository: Repository): void {
  const operation = findOperation(repository);
  if (operation === null || operation === 'bisect') return;
  throw new OrchError('GIT_FAILED', `a ${operation} is in progress, and a commit would become part of it`, {
    hint: 'Nothing was changed. Finish it (see git status), then run the same command again',
  });
}

/** Returns the arguments of the gits that commit a batch, to run or to show. */
export function commitCommands(
  paths: readonly string[],
  message: string,
  trailers: readonly string[],
): readonly string[][] {
  const trailerArgs = trailers.flatMap((trailer) => ['--trailer', trailer]);
  // A file name may look like a pattern, such as app/[id]/page.tsx.
  const literal = paths.some((path) => /[*?[\\]|^:/.test(path)) ? ['--literal-pathspecs'] : [];
  const add = paths.length === 0 ? [] : [[...literal, 'add', '--', ...paths]];
  return [...add, ['commit', '--message', message, ...trailerArgs]];
}

/** Runs `commitCommands`, and returns the new commit. */
export async function commitForUser(
  repository: Repository,
  commands: readonly (readonly string[])[],
  hint?: string,
): Promise<Oid> {
  for (const args of commands) await runUserGit(repository, args, hint);
  return parseOid((await runUserGit(repository, ['rev-parse', '--verify', 'HEAD'])).trim());
}

export type ChangedFile = {
  readonly path: string;
  readonly isStaged: boolean;
  /** False for a staged deletion, which git no longer knows as a file, and for a conflict, which the user resolves. */
  readonly canBeAdded: boolean;
};

const conflicts: readonly string[] = ['DD', 'AU', 'UD', 'UA', 'DU', 'AA', 'UU'];

/** Lists what differs from HEAD in the user's index and files, including new files that are not ignored. */
export async function listUncommitted(repository: Repository): Promise<ChangedFile[]> {
  const status = ['status', '--porcelain', '-z', '--untracked-files=all', '--no-renames'];
  const text = await runUserGit(repository, ['--no-optional-locks', ...status]);
  return text
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => ({
      path: line.slice(3),
      isStaged: !/^[ ?]/.test(line),
      canBeAdded: line[1] !== ' ' && !conflicts.includes(line.slice(0, 2)),
    }));
}
