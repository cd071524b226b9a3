import type { ChildProcess, ChildProcessWithoutNullStreams, SpawnOptions } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { limitReached } from '../../errors.ts';

export type Environment = { readonly [name: string]: string | undefined };
export type { ChildProcess };
export type Child = ChildProcessWithoutNullStreams;

export function inheritedEnvironment(): Environment {
  return process.env;
}

/** Moves this process into another folder, so that the one it is in can be removed. */
export function leaveFolder(folder: string): void {
  process.chdir(folder);
}

/**
 * Starts a program without a shell, so that no argument is read as a command. Every process orch starts comes from
 * here. Throws if a system limit is reached; a missing program shows up as the child's `error` event.
 */
export function startProcess(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  let child: ChildProcess;
  try {
    // Loaded late, because most commands start no process.
    const { spawn } = process.getBuiltinModule('node:child_process');
    child = spawn(program, args, { windowsHide: true, ...options });
  } catch (error) {
    throw limitReached(`${program} could not be started`, error) ?? error;
  }
  // An error without a listener would end this process. Callers add their own.
  child.on('error', () => {});
  // When descriptors run out, the child has no streams, whatever its type says.
  if ((child.stdio as ChildProcess['stdio'] | undefined) === undefined) throw tooManyFiles(program);
  return child;
}

function tooManyFiles(program: string): Error {
  const error = Object.assign(new Error(`spawn ${program} EMFILE`), { code: 'EMFILE' });
  return limitReached(`${program} could not be started`, error) ?? error;
}

/** Runs a program synchronously and returns what it prints. */
export function readOutput(program: string, args: readonly string[], env: Environment): string {
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { stdout, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    windowsHide: true,
  });
  if (error) throw limitReached(`${program} could not be started`, error) ?? error;
  return stdout;
}

/** Runs a script with this node and returns what it prints. */
export async function runNode(script: string, args: readonly string[], cwd: string, env: Environment = {}) {
  const all = { ...inheritedEnvironment(), ...env };
  const child = startWithPipes(process.execPath, [script, ...args], cwd, all);
  child.stdin.end();
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { status, ...printed };
}

/** Starts a program with pipes for input, output and errors. */
export function startWithPipes(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Environment,
): Child {
  // With pipes, all three streams exist.
  return startProcess(command, args, { cwd, env: { ...env }, stdio: 'pipe' }) as Child;
}

/** Tells whether a program is on the PATH. */
export function isInstalled(name: string, env = inheritedEnvironment()): boolean {
  return findProgram(name, env) !== null;
}

/** Finds a program on the PATH; null if it is not there. */
export function findProgram(name: string, env = inheritedEnvironment()): string | null {
  const names = process.platform === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name];
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = folders.flatMap((folder) => names.map((file) => join(folder, file)));
  return places.find(isExecutable) ?? null;
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // missing, or not permitted
  }
}

/** Starts a program that outlives this one; its output is dropped. */
export function startDetached(command: string, args: readonly string[], cwd: string, env: Environment): void {
  // A failure to start is ignored: upkeep runs again within the hour.
  startProcess(command, args, { cwd, env: { ...env }, stdio: 'ignore', detached: true }).unref();
}

/** The first message from a background process, or how it ended without sending one. */
export type FirstMessage =
  | { readonly kind: 'message'; readonly message: unknown; readonly pid: number }
  | { readonly kind: 'ended'; readonly status: number | null; readonly signal: NodeJS.Signals | null };

/**
 * Starts this program again, detached from this process and its terminal, and waits for its first message.
 * Its output goes to an open file. It starts in the same folder, so that relative paths in its arguments stay valid.
 */
export async function startInBackground(
  args: readonly string[],
  options: { readonly env: Environment; readonly output: number },
): Promise<FirstMessage> {
  const { env, output } = options;
  const child = startProcess(process.execPath, [process.argv[1] ?? '', ...args], {
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(limitReached('orch could not be started in the background', error) ?? error),
    );
    child.once('message', (message) => {
      child.disconnect();
      child.unref();
      resolve({ kind: 'message', message, pid: child.pid ?? 0 });
    });
    child.once('exit', (status, signal) => resolve({ kind: 'ended', status, signal }));
  });
}
