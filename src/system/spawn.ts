import type { ChildProcess, ChildProcessWithoutNullStreams, SpawnOptions } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { limitReached } from '../errors.ts';

export type Environment = { readonly [name: string]: string | undefined };
export type { ChildProcess };
export type Child = ChildProcessWithoutNullStreams;

/** The environment this process was started in. */
export function inheritedEnvironment(): Environment {
  return process.env;
}

/**
 * Starts a program without a shell: no argument is ever read as a command. Every process orch starts comes from here.
 * It throws where a limit of the system is reached; that there is no such program is told by the child's `error`.
 */
export function startProcess(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  let child: ChildProcess;
  try {
    // Loaded only now: most commands start nothing.
    const { spawn } = process.getBuiltinModule('node:child_process');
    child = spawn(program, args, { windowsHide: true, ...options });
  } catch (error) {
    throw limitReached(`${program} could not be started`, error) ?? error;
  }
  // An error without a listener would end this process. Who wants to know of it listens too.
  child.on('error', () => {});
  // Without a descriptor left there is a child without streams, whatever its type says.
  if ((child.stdio as ChildProcess['stdio'] | undefined) === undefined) throw tooManyFiles(program);
  return child;
}

function tooManyFiles(program: string): Error {
  const error = Object.assign(new Error(`spawn ${program} EMFILE`), { code: 'EMFILE' });
  return limitReached(`${program} could not be started`, error) ?? error;
}

/** Runs a program to its end and gives what it printed; this process waits. */
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

/** Runs a script with this node to its end, and gives what it printed. */
export async function runNode(script: string, args: readonly string[], cwd: string) {
  const child = start(process.execPath, [script, ...args], cwd, inheritedEnvironment());
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

/** Starts a program that is written to and read from. */
export function start(command: string, args: readonly string[], cwd: string, env: Environment): Child {
  // All three streams are there, because all are pipes.
  return startProcess(command, args, { cwd, env: { ...env }, stdio: 'pipe' }) as Child;
}

/** Is a program of this name on the path? */
export function isInstalled(name: string, env = inheritedEnvironment()): boolean {
  return findProgram(name, env) !== null;
}

/** Where on the path a program of this name is; null where it is not. */
export function findProgram(name: string, env = inheritedEnvironment()): string | null {
  const names = process.platform === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name];
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = folders.flatMap((folder) => names.map((file) => join(folder, file)));
  return places.find(isExecutable) ?? null;
}

/** May this be run? */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not to be run
  }
}

/** Starts a program that goes on by itself when this one ends; nobody reads what it prints. */
export function startDetached(command: string, args: readonly string[], cwd: string, env: Environment): void {
  // Upkeep that could not be started is tried again in an hour.
  startProcess(command, args, { cwd, env: { ...env }, stdio: 'ignore', detached: true }).unref();
}
