import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { isAbsolute, resolve, sep } from 'node:path';
import { type Environment, inheritedEnvironment, isInstalled } from './spawn.ts';

export type Exit = { readonly status: number | null; readonly signal: NodeJS.Signals | null };

/** A command that runs under this process. */
export type Command = {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Settles when all it printed was handed over, which may be after its end. */
  readonly drained: Promise<void>;
};

export type CommandOptions = {
  readonly cwd: string;
  /** Added to what this process has. */
  readonly env: Environment;
  /** Where what it prints goes; with null the terminal is its own, in and out. */
  readonly onOutput: ((chunk: Buffer) => void) | null;
};

/** Can this be run at all? */
export function canRun(program: string, cwd: string): boolean {
  if (!program.includes('/') && !program.includes(sep)) return isInstalled(program);
  try {
    accessSync(isAbsolute(program) ? program : resolve(cwd, program), constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not to be run
  }
}

/**
 * Starts a command in this process's own group, so that it has the terminal and hears Ctrl+C by itself.
 * It is started without a shell.
 */
export function startCommand(argv: readonly string[], options: CommandOptions): Promise<Command> {
  const [program = '', ...args] = argv;
  const { cwd, env, onOutput } = options;
  const child = spawn(program, args, {
    cwd,
    env: { ...inheritedEnvironment(), ...env },
    stdio: onOutput ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    windowsHide: true,
  });
  if (onOutput) {
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
  }
  return new Promise((started, failed) => {
    child.once('error', failed);
    child.once('spawn', () => {
      const exited = new Promise<Exit>((end) => {
        child.once('exit', (status, signal) => end({ status, signal }));
      });
      const drained = new Promise<void>((end) => {
        child.once('close', () => end());
      });
      started({ pid: child.pid ?? 0, exited, drained });
    });
  });
}
