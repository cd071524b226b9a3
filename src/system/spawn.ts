import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export type Environment = { readonly [name: string]: string | undefined };
export type Child = ChildProcessWithoutNullStreams;

/** The environment this process was started in. */
export function inheritedEnvironment(): Environment {
  return process.env;
}

/** Starts a program without a shell: no argument is ever read as a command. */
export function start(command: string, args: readonly string[], cwd: string, env: Environment): Child {
  return spawn(command, args, { cwd, env: { ...env }, stdio: 'pipe', windowsHide: true });
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
  const child = spawn(command, args, {
    cwd,
    env: { ...env },
    stdio: 'ignore',
    detached: true,
    windowsHide: true,
  });
  child.on('error', () => {}); // upkeep that could not be started is tried again in an hour
  child.unref();
}
