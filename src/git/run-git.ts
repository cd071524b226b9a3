import { limitReached, OrchError, systemCode, writeFailed } from '../errors.ts';
import {
  type Child,
  type Environment,
  inheritedEnvironment,
  startWithPipes,
} from '../system/process/spawn.ts';
import { orchIdentity } from './objects/commit-object.ts';
import type { Repository } from './repository.ts';

/** A file system monitor is a program named in the repository's config, which reading files must not start. */
export const withoutMonitor: readonly string[] = ['-c', 'core.fsmonitor=false'];

/** Settings for every git that orch starts: no hooks, no monitor, and results are synced. */
export const gitSettings: readonly string[] = [
  ...withoutMonitor,
  ...[
    'core.hooksPath=/dev/null',
    'core.fsync=committed,reference',
    'core.fsyncMethod=fsync',
    'log.showSignature=false',
  ].flatMap((setting) => ['-c', setting]),
];

/** The environment for git, without inherited `GIT_*`: in a hook, those point to another repository, index or date. */
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
    GIT_AUTHOR_NAME: orchIdentity.name,
    GIT_AUTHOR_EMAIL: orchIdentity.email,
    GIT_COMMITTER_NAME: orchIdentity.name,
    GIT_COMMITTER_EMAIL: orchIdentity.email,
  };
}

/** Starts git in a repository. Git finds the repository itself, so that its ownership checks apply. */
export function startGit(repository: Repository, args: readonly string[], extra: Environment = {}): Child {
  return startWithPipes('git', [...gitSettings, ...args], workFolder(repository), {
    ...gitEnvironment(),
    ...extra,
  });
}

export function workFolder({ worktree, gitDir }: Repository): string {
  return worktree ?? gitDir;
}

export type GitResult = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

/** Collects what a git prints until it ends. */
export function collectOutput(child: Child, encoding: Encoding = 'utf8'): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', () => {}); // it ended before reading all of its input: its status tells why
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

type Encoding = 'utf8' | 'latin1';
type AskOptions = {
  readonly input?: string;
  readonly environment?: Environment;
  readonly encoding?: Encoding;
};

/** Runs git and returns its result, whatever its status. */
export function askGit(
  repository: Repository,
  args: readonly string[],
  { input = '', environment = {}, encoding = 'utf8' }: AskOptions = {},
): Promise<GitResult> {
  const child = startGit(repository, args, environment);
  const result = collectOutput(child, encoding);
  child.stdin.end(Buffer.from(input, encoding));
  return result;
}

/** Runs git and returns what it prints; fails unless its status is 0. */
export async function runGit(
  repository: Repository,
  args: readonly string[],
  input = '',
  encoding: Encoding = 'utf8',
): Promise<string> {
  const result = await askGit(repository, args, { input, encoding });
  if (result.status !== 0) throw gitFailed(args, result);
  return result.stdout;
}

/** Git's messages for a disk that cannot be written to, with the system's code. */
const diskErrors = [
  ['No space left on device', 'ENOSPC'],
  ['Disk quota exceeded', 'EDQUOT'],
  ['Read-only file system', 'EROFS'],
] as const;

export function gitFailed(args: readonly string[], { status, stderr }: Omit<GitResult, 'stdout'>): OrchError {
  const line = stderr.split('\n').find((each) => /^(fatal|error):/.test(each)) ?? stderr.split('\n')[0] ?? '';
  if (/dubious ownership/.test(stderr)) {
    return new OrchError('NOT_A_REPOSITORY', 'git does not trust this repository: another user owns it', {
      hint: 'Run orch as its owner, or see: git help config, safe.directory',
    });
  }
  const failure = `git ${args[0] ?? ''} failed`;
  const [, code] = diskErrors.find(([words]) => stderr.includes(words)) ?? [];
  if (code) return writeFailed(failure, Object.assign(new Error(line), { code }));
  return new OrchError('GIT_FAILED', `${failure}: ${line.replace(/^fatal: /, '') || `status ${status}`}`, {
    hint: 'Check the repository with: git fsck',
    data: { status, stderr: stderr.slice(-2_000) },
  });
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
