import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { canBeHosted, runHosted } from './hosted.ts';
import { cleanEnvironment, type TestRepository } from './repository.ts';

/** The built program, as a user runs it. `npm test` builds it first. */
export const orchBin = fileURLToPath(new URL('../../bin/orch.js', import.meta.url));

export type Ran = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

type Options = { readonly cwd?: string; readonly env?: Record<string, string>; readonly input?: string };

/** Runs `orch` in a repository, in a cleared environment, to its end. */
export function runOrch(repository: TestRepository, args: readonly string[], options: Options = {}): Ran {
  const cwd = options.cwd ?? repository.folder;
  const env = cleanEnvironment(repository.home, options.env);
  const input = options.input ?? '';
  if (canBeHosted(args, options)) return runHosted({ args, cwd, env, input });
  const { status, stdout, stderr } = spawnSync(process.execPath, [orchBin, ...args], {
    cwd,
    env,
    input,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** Starts `orch` and returns the process. */
export function startOrch(repository: TestRepository, args: readonly string[], options: Options = {}) {
  return spawn(process.execPath, [orchBin, ...args], {
    cwd: options.cwd ?? repository.folder,
    env: cleanEnvironment(repository.home, options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs it with `--json`, and gives the parsed document; the status must be 0. */
export function orchJson<T = Record<string, unknown>>(
  repository: TestRepository,
  args: readonly string[],
  options: Options = {},
): T {
  const ran = runOrch(repository, [...args, '--json'], options);
  if (ran.status !== 0) throw new Error(`orch ${args.join(' ')} ended with ${ran.status}: ${ran.stderr}`);
  return JSON.parse(ran.stdout);
}

/** The error a run with `--json` printed: the last line of stderr. */
export function errorOf(ran: Ran): {
  code: string;
  message: string;
  hint: string | null;
  data: Record<string, unknown>;
} {
  return JSON.parse(ran.stderr.trim().split('\n').at(-1) ?? '').error;
}
