import { resolve } from 'node:path';
import { exitStatuses, isOrchError, limitReached, OrchError, systemCode, writeFailed } from '../errors.ts';
import { type Orch, openOrch } from '../index.ts';
import { readSettings, type Settings } from './environment.ts';
import { type Output, openOutput, printJson } from './output.ts';
import {
  type Call,
  type Command,
  type CommandSpec,
  type ExitStatus,
  type Globals,
  parseSimple,
  takeOwnWords,
} from './spec.ts';

/** What a command gets besides its own options. */
export type Context = {
  readonly out: Output;
  readonly json: boolean;
  readonly settings: Settings;
  /** The words that were typed. */
  readonly argv: readonly string[];
  /** The current folder, or the one given with -C. */
  readonly cwd: string;
  /** Opens the repository for `work`, and closes it afterwards. */
  withOrch<T>(work: (orch: Orch) => Promise<T>): Promise<T>;
};

/** Makes a command from its spec, for its file to export and main.ts to call. */
export function defineCommand(spec: CommandSpec): Command {
  return {
    ...spec,
    start: async (argv, place) => {
      const simple = parseSimple(argv, place, spec);
      return simple && runCommand(spec, simple.globals, simple.call, argv);
    },
  };
}

/** Makes the `run` of a command that works in a repository, which is open while it runs. */
export function inRepository(
  work: (context: Context, orch: Orch, call: Call) => Promise<ExitStatus>,
): CommandSpec['run'] {
  return (context, call) => context.withOrch((orch) => work(context, orch, call));
}

/** Prints what a command found: one JSON document with --json, else the text. */
export function answer({ out, json }: Context, document: unknown, showText: () => string): undefined {
  if (json) printJson(out, document);
  else out.print(showText());
}

/** Runs a command, and returns the exit status. */
export async function runCommand(
  spec: CommandSpec,
  globals: Globals,
  call: Call,
  argv: readonly string[],
): Promise<number> {
  try {
    return (await spec.run(makeContext(globals, argv), call)) ?? 0;
  } catch (error) {
    return showError(error, argv);
  }
}

function makeContext({ repo, json, quiet, color }: Globals, argv: readonly string[]): Context {
  const out = openOutput(process.env, { color, quiet });
  const settings = readSettings(process.env);
  return openContext({ out, json, settings, argv, cwd: resolve(repo ?? currentFolder()) });
}

/** Completes a command's context with `withOrch`. */
export function openContext(about: Omit<Context, 'withOrch'>): Context {
  const { out, settings, cwd } = about;
  const withOrch = async <T>(work: (orch: Orch) => Promise<T>): Promise<T> => {
    const reported = new Set<string>();
    const onReport = (what: string) => {
      if (!reported.has(what)) out.inform(`orch: ${what}`); // reading a history twice finds the same problems
      reported.add(what);
    };
    const trusted = settings.trusted && !settings.byAgent;
    const orch = await openOrch({ ...settings, trusted, cwd, onReport });
    try {
      return await work(orch);
    } finally {
      orch.close();
    }
  };
  return { ...about, withOrch };
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new OrchError('NOT_A_REPOSITORY', 'the current folder no longer exists', {
      hint: 'Change to an existing folder, or name one with -C',
      cause,
    });
  }
}

/** The one place where an error becomes text and an exit status. */
export function showError(error: unknown, argv: readonly string[]): number {
  const known = isOrchError(error) ? error : (recogniseSystemError(error) ?? bug(error));
  reportToParent(known);
  const own = takeOwnWords(argv);
  const out = openOutput(process.env, { color: !own.includes('--no-color'), quiet: false });
  const { code, message, hint, data } = known;
  if (own.includes('--json')) out.inform(JSON.stringify({ error: { code, message, hint, data } }));
  else {
    out.inform(`${out.paint('red', 'error:')} ${message}`);
    if (hint) out.inform(`       ${hint}`);
    if (code === 'INTERNAL' && known.cause instanceof Error) out.inform(known.cause.stack ?? '');
  }
  return exitStatuses[code];
}

/** A background process sends the error to the call that started it and waits. */
function reportToParent({ code, message, hint, data }: OrchError): void {
  if (process.connected) process.send?.({ error: { code, message, hint, data } });
}

/** Recognises a full or read-only disk, or a system limit: those are not bugs in orch. */
function recogniseSystemError(error: unknown): OrchError | null {
  const code = systemCode(error) ?? '';
  const isOne = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM'].includes(code);
  return isOne ? writeFailed('orch had to stop', error) : limitReached('orch had to stop', error);
}

function bug(cause: unknown): OrchError {
  return new OrchError('INTERNAL', `a bug in orch: ${cause instanceof Error ? cause.message : cause}`, {
    hint: 'Everything orch confirmed is saved. Please report this, with the command you ran.',
    cause,
  });
}
