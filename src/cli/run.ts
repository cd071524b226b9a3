import { resolve } from 'node:path';
import { exitStatuses, isOrchError, limitReached, OrchError, systemCode, writeFailed } from '../errors.ts';
import { type Orch, openOrch } from '../orch.ts';
import { readSettings, type Settings } from './environment.ts';
import { type Output, openOutput } from './output.ts';
import { type Call, type CommandSpec, type Globals, parseSimple, type Spec } from './spec.ts';
import { ownWords } from './words.ts';

/** What a command gets besides its own options. */
export type Context = {
  readonly out: Output;
  readonly json: boolean;
  readonly settings: Settings;
  /** What was typed. */
  readonly argv: readonly string[];
  /** The folder it is about: the current one, or the one given with -C. */
  readonly cwd: string;
  /** Opens the repository, hands it over, and closes it. */
  withOrch<T>(work: (orch: Orch) => Promise<T>): Promise<T>;
};

/** Runs a call against the commands that are loaded, and returns the exit status. */
export async function runCommands(argv: readonly string[], specs: readonly Spec[]): Promise<number> {
  try {
    const simple = parseSimple(argv, specs);
    const run = async (command: CommandSpec, globals: Globals, call: Call) =>
      (await command.run(makeContext(globals, argv), call)) ?? 0;
    if (simple) return await run(simple.command, simple.globals, simple.call);
    const { runWithCommander } = await import('./commander.ts');
    return await runWithCommander(argv, specs, run);
  } catch (error) {
    return showError(error, argv);
  }
}

function makeContext({ repo, json, quiet, color }: Globals, argv: readonly string[]): Context {
  const out = openOutput(process.env, { color, quiet });
  const settings = readSettings(process.env);
  return openContext({ out, json, settings, argv, cwd: resolve(repo ?? currentFolder()) });
}

/** What a command gets, wherever it prints to. */
export function openContext(about: Omit<Context, 'withOrch'>): Context {
  const { out, settings, cwd } = about;
  const withOrch = async <T>(work: (orch: Orch) => Promise<T>): Promise<T> => {
    const told = new Set<string>();
    const onReport = (what: string) => {
      if (!told.has(what)) out.tell(`orch: ${what}`); // two readings of one history find the same
      told.add(what);
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
    throw new OrchError('NOT_A_REPOSITORY', 'the current folder is gone', {
      hint: 'Change to one that is there, or name one with -C',
      cause,
    });
  }
}

/** The one place where an error becomes text and an exit status. */
function showError(error: unknown, argv: readonly string[]): number {
  const known = isOrchError(error) ? error : (refusal(error) ?? bug(error));
  tellParent(known);
  const own = ownWords(argv);
  const out = openOutput(process.env, { color: !own.includes('--no-color'), quiet: false });
  const { code, message, hint, data } = known;
  if (own.includes('--json')) out.tell(JSON.stringify({ error: { code, message, hint, data } }));
  else {
    out.tell(`${out.paint('red', 'error:')} ${message}`);
    if (hint) out.tell(`       ${hint}`);
    if (code === 'INTERNAL' && known.cause instanceof Error) out.tell(known.cause.stack ?? '');
  }
  return exitStatuses[code];
}

/** A process that works in the background for another tells it why it could not. */
function tellParent({ code, message, hint, data }: OrchError): void {
  if (process.connected) process.send?.({ error: { code, message, hint, data } });
}

/** A full or closed disk, or a limit of the system, is no bug of ours, wherever it is met. */
function refusal(error: unknown): OrchError | null {
  const code = systemCode(error) ?? '';
  const isOne = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM'].includes(code);
  return isOne ? writeFailed('it could not be done', error) : limitReached('it could not be done', error);
}

function bug(cause: unknown): OrchError {
  return new OrchError('INTERNAL', `a bug in orch: ${cause instanceof Error ? cause.message : cause}`, {
    hint: 'Nothing that was acknowledged is lost. Please report this, with what you typed.',
    cause,
  });
}
