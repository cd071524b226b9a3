import { isAbsolute, resolve, sep } from 'node:path';
import { limitReached, OrchError, systemCode } from '../../errors.ts';
import { statIfThere } from '../disk.ts';
import type { ControlGroup } from './control-group.ts';
import { type Environment, inheritedEnvironment, isExecutable, isInstalled, startProcess } from './spawn.ts';

export type Exit = { readonly status: number | null; readonly signal: NodeJS.Signals | null };

export type Command = {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Settles when all of its output has been read, which may be after its exit. */
  readonly drained: Promise<void>;
};

export type CommandOptions = {
  readonly cwd: string;
  /** Added to the environment of this process. */
  readonly env: Environment;
  /** Receives its output; with null, the command uses the terminal itself. */
  readonly onOutput: ((chunk: Buffer) => void) | null;
  /** The control group to start it in. */
  readonly group?: ControlGroup | null;
  /** Called synchronously, as soon as it has a pid. */
  readonly onStart?: (pid: number) => void;
};

/** Explains why a program cannot be run; null if no reason is known. */
export function explainUnrunnable(program: string, cwd: string): string | null {
  if (!program.includes('/') && !program.includes(sep))
    return isInstalled(program) ? null : 'it is not on the PATH';
  const path = isAbsolute(program) ? program : resolve(cwd, program);
  const found = statIfThere(path);
  if (found === null) return 'there is no such file';
  if (!found.isFile()) return 'it is not a file';
  return isExecutable(path) ? null : 'it is not executable';
}

/**
 * Starts a command without a shell, in this process's own process group, so that it shares the terminal and receives
 * Ctrl+C itself.
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

/** The system reports a missing program and a missing interpreter alike. */
function couldNotStart(program: string, cause: Error): OrchError {
  const limit = limitReached(`${program} could not be started`, cause);
  if (limit) return limit;
  const why =
    systemCode(cause) === 'ENOENT' ? 'it, or the interpreter it names, does not exist' : cause.message;
  return new OrchError('USAGE', `${program} could not be started: ${why}`, {
    hint: 'Run it without orch to see what it prints',
    cause,
  });
}
