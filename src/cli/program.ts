import { Command, CommanderError } from 'commander';
import { exitStatuses, isOrchError, OrchError } from '../errors.ts';
import { type Orch, openOrch } from '../orch.ts';
import { readSettings, type Settings } from './environment.ts';
import { type Output, openOutput } from './output.ts';

declare const __ORCH_VERSION__: string;
export const version: string = __ORCH_VERSION__;

/** What a command gets besides its own options. */
export type Context = {
  readonly out: Output;
  readonly json: boolean;
  readonly settings: Settings;
  /** Opens the repository, hands it over, and closes it. */
  withOrch<T>(work: (orch: Orch) => Promise<T>): Promise<T>;
};

/** Adds a group's commands to the program. */
export type Register = (program: Command, run: RunCommand) => void;
/** Wraps what a command does: it gets its context and may give an exit status. */
export type RunCommand = <Args extends unknown[]>(
  work: (context: Context, ...args: Args) => Promise<number | undefined>,
) => (...args: Args) => Promise<void>;

type GlobalOptions = { repo?: string; json?: boolean; quiet?: boolean; color: boolean };

/** Runs the command line against the groups that are loaded, and returns the exit status. */
export async function runProgram(argv: readonly string[], registers: readonly Register[]): Promise<number> {
  const env = process.env;
  let status = 0;
  const program = createProgram();
  const readContext = (): Context => {
    const { repo, json = false, quiet = false, color } = program.opts<GlobalOptions>();
    const out = openOutput(env, { color, quiet });
    const settings = readSettings(env);
    const withOrch = async <T>(work: (orch: Orch) => Promise<T>): Promise<T> => {
      const orch = await openOrch({
        ...settings,
        cwd: repo ?? currentFolder(),
        onReport: (what) => out.tell(`orch: ${what}`),
      });
      try {
        return await work(orch);
      } finally {
        orch.close();
      }
    };
    return { out, json, settings, withOrch };
  };
  const run: RunCommand =
    (work) =>
    async (...args) => {
      status = (await work(readContext(), ...args)) ?? 0;
    };
  for (const register of registers) register(program, run);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return status;
  } catch (error) {
    return showError(error, argv);
  }
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new OrchError('NOT_A_REPOSITORY', 'the current folder is gone', {
      hint: 'Change to one that is there, or name one with -C',
      cause,
    });
  }
}

function createProgram(): Command {
  const program = new Command('orch');
  program
    .description('Flight recorder and flight controller for AI agents, in plain git')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help, with examples')
    .option('-C, --repo <dir>', 'work in this folder instead of the current one')
    .option('--json', 'print one JSON document')
    .option('-q, --quiet', 'print data and errors only')
    .option('--no-color', 'print without colours (also: NO_COLOR)')
    .showSuggestionAfterError(true)
    .exitOverride()
    // Errors are told in one place, below.
    .configureOutput({ outputError: () => {}, writeErr: () => {} });
  return program;
}

/** The one place where an error becomes text and an exit status. */
function showError(error: unknown, argv: readonly string[]): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0; // help or version was printed
  const known = toOrchError(error);
  const out = openOutput(process.env, { color: !argv.includes('--no-color'), quiet: false });
  const { code, message, hint, data } = known;
  if (argv.includes('--json')) out.tell(JSON.stringify({ error: { code, message, hint, data } }));
  else {
    out.tell(`${out.paint('red', 'error:')} ${message}`);
    if (hint) out.tell(`       ${hint}`);
    if (code === 'INTERNAL' && known.cause instanceof Error) out.tell(known.cause.stack ?? '');
  }
  return exitStatuses[code];
}

function toOrchError(error: unknown): OrchError {
  if (isOrchError(error)) return error;
  if (error instanceof CommanderError) {
    if (error.code === 'commander.help') {
      return new OrchError('USAGE', 'a command is missing', { hint: 'See what there is with: orch --help' });
    }
    const message = error.message
      .replace(/^error: /, '')
      .replace(/\n\(Did you mean (.+)\?\)$/, ': did you mean $1?');
    return new OrchError('USAGE', message, { hint: 'See what there is with: orch --help' });
  }
  return new OrchError('INTERNAL', `a bug in orch: ${error instanceof Error ? error.message : error}`, {
    hint: 'Nothing that was acknowledged is lost. Please report this, with what you typed.',
    cause: error,
  });
}
