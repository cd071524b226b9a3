import { limitReached, OrchError, systemCode, writeFailed } from '../errors.ts';
import { type Child, type Environment, inheritedEnvironment, start } from '../system/spawn.ts';
import { identity } from './commit.ts';
import type { Repository } from './repository.ts';

/** A file system monitor is a program that the repository's own config names; a look at files must not run it. */
export const withoutMonitor: readonly string[] = ['-c', 'core.fsmonitor=false'];

/** What every git we start is told: no hooks, no monitor, and what it says it did is on disk. */
export const gitSettings: readonly string[] = [
  ...withoutMonitor,
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'core.fsync=committed,reference',
  '-c',
  'core.fsyncMethod=fsync',
  '-c',
  'log.showSignature=false',
];

/**
 * The environment for git. Whatever of `GIT_*` this process inherited is dropped: inside a hook it would send
 * git to another repository, index or date.
 */
export function gitEnvironment(inherited: Environment = inheritedEnvironment()): Environment {
  const kept = Object.entries(inherited).filter(([name]) => !name.toUpperCase().startsWith('GIT_'));
  return {
    ...Object.fromEntries(kept),
    LC_ALL: 'C',
    LANGUAGE: '',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
  };
}

/**
 * Starts git in a repository. It finds the repository itself, so that its own checks of ownership hold.
 * `extra` is what this one git is told beside the rest.
 */
export function startGit(repository: Repository, args: readonly string[], extra: Environment = {}): Child {
  return start('git', [...gitSettings, ...args], workFolder(repository), { ...gitEnvironment(), ...extra });
}

export function workFolder({ worktree, gitDir }: Repository): string {
  return worktree ?? gitDir;
}

export type Finished = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

/** Collects what a git prints, and waits for its end. */
export function finished(child: Child, encoding: 'utf8' | 'latin1' = 'utf8'): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', () => {}); // it ended before reading all: its exit status tells why
    child.on('error', (error) => reject(gitNotStarted(error)));
    child.on('close', (status) => {
      resolve({
        status,
        stdout: Buffer.concat(out).toString(encoding),
        stderr: Buffer.concat(err).toString().trim(),
      });
    });
  });
}

/** Runs git to its end; a status other than 0 is an error. */
export async function runGit(repository: Repository, args: readonly string[], input = ''): Promise<string> {
  const child = startGit(repository, args);
  child.stdin.end(input);
  const result = await finished(child);
  if (result.status !== 0) throw gitFailed(args, result);
  return result.stdout;
}

/** What git says where the disk takes nothing, and the system's code for it. */
const diskTroubles = [
  ['No space left on device', 'ENOSPC'],
  ['Disk quota exceeded', 'EDQUOT'],
  ['Read-only file system', 'EROFS'],
] as const;

export function gitFailed(args: readonly string[], { status, stderr }: Omit<Finished, 'stdout'>): OrchError {
  const said = stderr.split('\n').find((line) => /^(fatal|error):/.test(line)) ?? stderr.split('\n')[0] ?? '';
  if (/dubious ownership/.test(stderr)) {
    return new OrchError('NOT_A_REPOSITORY', 'git does not trust this repository: another user owns it', {
      hint: 'Run orch as its owner, or see: git help config, safe.directory',
    });
  }
  const trouble = diskTroubles.find(([words]) => stderr.includes(words));
  if (trouble)
    return writeFailed(`git ${args[0] ?? ''} failed`, Object.assign(new Error(said), { code: trouble[1] }));
  return new OrchError(
    'GIT_FAILED',
    `git ${args[0] ?? ''} failed: ${said.replace(/^fatal: /, '') || `status ${status}`}`,
    {
      hint: 'Check the repository with: git fsck',
      data: { status, stderr: stderr.slice(-2_000) },
    },
  );
}

export function gitNotStarted(error: unknown): OrchError {
  const limit = limitReached('git could not be started', error);
  if (limit) return limit;
  const missing = systemCode(error) === 'ENOENT';
  return new OrchError('GIT_FAILED', missing ? 'git was not found' : 'git could not be started', {
    hint: missing ? 'Install git, or set ORCH_ENGINE=isomorphic' : 'Run the same command again',
    cause: error,
  });
}
