import { join } from 'node:path';
import { OrchError } from '../errors.ts';
import { parseOid } from '../ids.ts';
import { statIfThere } from '../system/files.ts';
import { type Environment, inheritedEnvironment, start } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { finished, withoutMonitor, workFolder } from './spawn.ts';

/*
 * The one place where orch commits on the user's branch, because they asked for exactly that. It is their git: with
 * their identity, hooks, signature and index.
 */

/** What would send this git to another repository than the one orch works in, as it is set inside of hooks. */
const redirecting =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|NAMESPACE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/;

function userEnvironment(): Environment {
  const kept = Object.entries(inheritedEnvironment()).filter(([name]) => !redirecting.test(name));
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' };
}

async function runUserGit(repository: Repository, args: readonly string[]): Promise<string> {
  const child = start('git', [...withoutMonitor, ...args], workFolder(repository), userEnvironment());
  child.stdin.end();
  const { status, stdout, stderr } = await finished(child);
  if (status === 0) return stdout;
  const said = [stderr, stdout].find((text) => text.trim() !== '')?.trim() ?? `status ${status}`;
  throw new OrchError(
    'GIT_FAILED',
    `git ${args.find((word) => !word.startsWith('-'))} failed: ${said.slice(-2_000)}`,
    {
      hint: 'What is completed stays completed. Fix what git says, then: orch batch complete --commit',
      data: { status },
    },
  );
}

const underway: readonly (readonly [file: string, what: string])[] = [
  ['MERGE_HEAD', 'a merge'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  ['rebase-merge', 'a rebase'],
  ['rebase-apply', 'a rebase'],
];

/** Refuses to commit where a commit would end something else that is going on. */
export function refuseUnderway({ gitDir }: Repository): void {
  const [, what] = underway.find(([file]) => statIfThere(join(gitDir, file)) !== null) ?? [];
  if (what === undefined) return;
  throw new OrchError('GIT_FAILED', `${what} is going on here, and a commit would become part of it`, {
    hint: 'Nothing was changed. See git status, bring it to its end, then run the same command again',
  });
}

/** The arguments of the gits that commit a batch, as they are run and as they are shown. */
export function commitCommands(
  paths: readonly string[],
  message: string,
  trailers: readonly string[],
): readonly string[][] {
  const trailerArgs = trailers.flatMap((trailer) => ['--trailer', trailer]);
  // A file may be called as a pattern is written, such as app/[id]/page.tsx.
  const literal = paths.some((path) => /[*?[\\]|^:/.test(path)) ? ['--literal-pathspecs'] : [];
  const add = paths.length === 0 ? [] : [[...literal, 'add', '--', ...paths]];
  return [...add, ['commit', '--message', message, ...trailerArgs]];
}

/** Adds files to the user's index, and commits what is in it. */
export async function commitForUser(
  repository: Repository,
  commands: readonly (readonly string[])[],
): Promise<Oid> {
  for (const args of commands) await runUserGit(repository, args);
  return parseOid((await runUserGit(repository, ['rev-parse', '--verify', 'HEAD'])).trim());
}

export type ChangedFile = {
  readonly path: string;
  readonly isStaged: boolean;
  /** Is there something to add? Of a deletion that is staged git knows no file any more; a conflict is the user's. */
  readonly canBeAdded: boolean;
};

const conflicts: readonly string[] = ['DD', 'AU', 'UD', 'UA', 'DU', 'AA', 'UU'];

/** What differs from HEAD in the user's index and files; new files that git does not ignore included. */
export async function listUncommitted(repository: Repository): Promise<ChangedFile[]> {
  const args = [
    '--no-optional-locks',
    'status',
    '--porcelain',
    '-z',
    '--untracked-files=all',
    '--no-renames',
  ];
  const text = await runUserGit(repository, args);
  return text
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => ({
      path: line.slice(3),
      isStaged: !/^[ ?]/.test(line),
      canBeAdded: line[1] !== ' ' && !conflicts.includes(line.slice(0, 2)),
    }));
}
