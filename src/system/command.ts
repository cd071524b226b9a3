import { accessSync, constants } from 'node:fs';
import { isAbsolute, resolve, sep } from 'node:path';
import { limitReached, OrchError, systemCode } from '../errors.ts';
import type { ControlGroup } from './control-group.ts';
import { statIfThere } from './files.ts';
import { type Environment, inheritedEnvironment, isInstalled, startProcess } from './spawn.ts';

export type Exit = { readonly status: number | null; readonly signal: NodeJS.Signals | null };

/** A command that runs under this process. */
export type Command = {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Settles when all it printed was taken, which may be later than its end. */
  readonly drained: Promise<void>;
};

export type CommandOptions = {
  readonly cwd: string;
  /** Added to what this process has. */
  readonly env: Environment;
  /** Where what it prints goes; with null the terminal is its own, in and out. */
  readonly onOutput: ((chunk: Buffer) => void) | null;
  /** Holds it and all that comes from it together. */
  readonly group?: ControlGroup | null;
  /** Hears of it at once, before anything else happens here. */
  readonly onStart?: (pid: number) => void;
};

/** Says why a program cannot be run; null where nothing speaks against it. */
export function explainUnrunnable(program: string, cwd: string): string | null {
  if (!program.includes('/') && !program.includes(sep))
    return isInstalled(program) ? null : 'it is not on the PATH';
  const path = isAbsolute(program) ? program : resolve(cwd, program);
  const found = statIfThere(path);
  if (found === null) return 'there is no such file';
  if (!found.isFile()) return 'it is not a file';
  try {
    accessSync(path, constants.X_OK);
    return null;
  } catch {
    return 'it may not be executed';
  }
}

/**
 * Starts a command in this process's own group, so that it has the terminal and hears Ctrl+C by itself.
 * It is started without a shell.
 */
export async function startCommand(argv: readonly string[], options: CommandOptions): Promise<Command> {
  const [program = '', ...args] = argv;
  const { cwd, env, onOutput, group, onStart } = options;
  const launch = () =>
    startProcess(program, args, {
      cwd,
      env: { ...inheritedEnvironment(), ...env },
      stdio: onOutput ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    });
  const child = group ? group.startIn(launch) : launch();
  if (child.pid !== undefined) onStart?.(child.pid);
  if (onOutput) {
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
  }
  return new Promise((started, failed) => {
    child.once('error', (error) => failed(couldNotStart(program, error)));
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

/** The system's answer is the same for a missing program and for one whose interpreter is missing. */
function couldNotStart(program: string, cause: Error): OrchError {
  const limit = limitReached(`${program} could not be started`, cause);
  if (limit) return limit;
  const why =
    systemCode(cause) === 'ENOENT' ? 'it, or the interpreter it names, is not there' : cause.message;
  return new OrchError('USAGE', `${program} could not be started: ${why}`, {
    hint: 'Run it by itself first, to see what it says',
    cause,
  });
}
