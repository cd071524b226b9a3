import { Argument, Command, CommanderError } from 'commander';
import { OrchError } from '../errors.ts';
import { isEpicId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { findNearest } from '../spelling.ts';
import { isInstalled } from '../system/spawn.ts';
import {
  type Call,
  type CommandSpec,
  type Globals,
  globalOptions,
  isGroup,
  parseFlags,
  type Spec,
  withInitial,
} from './spec.ts';
import { ownWords, wordsOf } from './words.ts';

declare const __ORCH_VERSION__: string;

type RunCommand = (command: CommandSpec, globals: Globals, call: Call) => Promise<number>;

/** Help, suggestions, and every call that is not plain: commander reads it, against the same commands. */
export async function runWithCommander(
  argv: readonly string[],
  specs: readonly Spec[],
  runCommand: RunCommand,
): Promise<number> {
  let status = 0;
  const program = createProgram(ownWords(argv).includes('--json'));
  const add = (parent: Command, spec: Spec, isDefault = false): void => {
    const made = parent
      .command(spec.name, { isDefault })
      .description(spec.description)
      .summary(spec.summary ?? spec.description);
    if (isGroup(spec)) {
      for (const command of spec.commands) add(made, command, command.name === spec.initial);
      addExamples(
        made,
        spec.commands.flatMap(({ examples }) => examples.slice(0, 1)),
      );
      return;
    }
    addDetails(made, spec);
    made.action(async () => {
      const [words, paths] = spec.takesPaths ? splitAtDashes(made.args, argv) : [made.args, []];
      refuseFlagAsValue(argv, spec);
      if (spec.takesCommand && words.length > 0 && !argv.includes('--')) throw withoutDashes(spec, words);
      if (spec.takesPaths && !spec.argument?.several && words.length > 1)
        throw pathWithoutDashes(spec, words);
      status = await runCommand(spec, program.opts<Globals>(), {
        argument: spec.takesCommand ? undefined : words[0],
        rest: words,
        paths,
        options: readOptions(made, spec),
      });
    });
  };
  for (const spec of specs) add(program, spec);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return status;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0; // help or the version was printed
    const hint = `See what there is with: ${findHelp(argv, specs)}`;
    throw findMisspelled(error, argv, specs, hint) ?? wrongCall(error, argv, hint);
  }
}

function createProgram(json: boolean): Command {
  const version = json ? JSON.stringify({ version: __ORCH_VERSION__ }) : __ORCH_VERSION__;
  const program = new Command('orch')
    .description('Flight recorder and flight controller for AI agents, in plain git')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help, with examples')
    .showSuggestionAfterError(true)
    .exitOverride()
    // Errors are told in one place, by whoever called.
    .configureOutput({ outputError: () => {}, writeErr: () => {} });
  for (const { flags, description } of globalOptions) program.option(flags, description);
  addExamples(program, [
    'orch init',
    'orch start --epic feat-login --budget 5 -- claude',
    'orch status --json',
    'orch resume',
  ]);
  return program;
}

/** Commander takes whatever comes next for an option's value; `--reason -e x` forgot it, and would mean another epic. */
function refuseFlagAsValue(argv: readonly string[], { options }: CommandSpec): void {
  const known = [...globalOptions, ...options].map(parseFlags);
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  for (const [index, word] of argv.slice(0, end).entries()) {
    const option = known.find(({ names, takesValue }) => takesValue && names.includes(word));
    const next = argv[index + 1];
    if (option === undefined || next === undefined || !known.some(({ names }) => names.includes(next)))
      continue;
    throw new OrchError('USAGE', `option '${word}' argument missing: ${next} is an option itself`, {
      hint: `If it is meant as a text: ${option.names.at(-1)}=${next}`,
    });
  }
}

/** Programs that may not be on this PATH and are meant as such all the same. */
const agents = /^(claude|codex|gemini|aider|opencode|cursor-agent)$/;

function withoutDashes({ name }: CommandSpec, words: readonly string[]): OrchError {
  const [first = ''] = words;
  // One word that no program is called is an epic more often than a command.
  const isEpic = words.length === 1 && isEpicId(first) && !agents.test(first) && !isInstalled(first);
  return new OrchError('USAGE', `the command to run goes behind --, and ${first} does not`, {
    hint: isEpic
      ? `To name an epic: orch ${name} --epic ${first}`
      : `Try: orch ${name} -- ${words.join(' ')}`,
  });
}

/** Commander drops the `--`; what stood behind it are the last of its words. */
function splitAtDashes(words: readonly string[], argv: readonly string[]): [string[], string[]] {
  const behind = argv.includes('--') ? argv.length - argv.indexOf('--') - 1 : 0;
  return [words.slice(0, words.length - behind), words.slice(words.length - behind)];
}

function pathWithoutDashes({ name }: CommandSpec, [first = '', ...paths]: readonly string[]): OrchError {
  return new OrchError('USAGE', `a path stands behind --, and ${paths[0]} does not`, {
    hint: `Try: orch ${name} ${first} -- ${paths.join(' ')}`,
  });
}

function addDetails(made: Command, spec: CommandSpec): void {
  const { argument, options, takesCommand, takesPaths, examples } = spec;
  if (takesCommand) made.argument('[command...]', 'behind --: a command to run in the session');
  if (argument) {
    const name = argument.several ? `${argument.name}...` : argument.name;
    const syntax = argument.required ? `<${name}>` : `[${name}]`;
    const added = new Argument(syntax, argument.description);
    made.addArgument(argument.choices ? added.choices(argument.choices) : added);
  }
  if (takesPaths && !argument?.several)
    made.argument('[paths...]', 'behind --: only these files and folders');
  for (const { flags, description, initial } of options) made.option(flags, description, initial);
  addExamples(made, examples);
}

function addExamples(made: Command, examples: readonly string[]): void {
  made.addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
}

/** Commander names options in camel case; the commands know them by their long names. */
function readOptions(made: Command, spec: CommandSpec): Call['options'] {
  const given = made.opts<{ [name: string]: string | boolean | undefined }>();
  const camel = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const values = spec.options.flatMap((option) => {
    const { name } = parseFlags(option);
    // Commander takes --no-baseline for the opposite of a --baseline.
    const isNo = name.startsWith('no-') && given[camel(name.slice(3))] === false;
    const value = isNo ? true : given[camel(name)];
    return value === undefined || value === false ? [] : [[name, value] as const];
  });
  return withInitial(spec, Object.fromEntries(values));
}

/** The command whose help tells more: as much of what was typed as is known. */
function findHelp(argv: readonly string[], specs: readonly Spec[]): string {
  const [first, second] = wordsOf(argv);
  const found = specs.find(({ name }) => name === first);
  if (found === undefined) return 'orch --help';
  const below = isGroup(found) ? found.commands.find(({ name }) => name === second) : undefined;
  return `orch ${found.name}${below ? ` ${below.name}` : ''} --help`;
}

/** Where a group's own name means one of its commands, a slip in another is taken for an argument of that one. */
function findMisspelled(
  { code }: CommanderError,
  argv: readonly string[],
  specs: readonly Spec[],
  hint: string,
): OrchError | null {
  const group = specs.find(({ name }) => name === wordsOf(argv)[0]);
  if (code !== 'commander.excessArguments' || !group || !isGroup(group)) return null;
  const word = argv[argv.indexOf(group.name) + 1] ?? '-';
  const names = group.commands.map(({ name }) => name);
  if (group.initial === undefined || word.startsWith('-') || names.includes(word)) return null;
  const near = findNearest(word, names);
  return new OrchError('USAGE', `unknown command '${word}'${near ? `: did you mean ${near}?` : ''}`, {
    hint,
  });
}

/** The commands whose epic is an option, though people give it as an argument. */
const namesEpic = new Set(['pause', 'complete', 'list', 'brief']);

/** What people type who know other tools. */
const otherWords: { readonly [word: string]: string } = {
  stop: 'pause',
  end: 'complete',
  finish: 'complete',
  done: 'complete',
  ls: 'list',
  history: 'log',
  undo: 'restore --undo',
  rewind: 'restore',
  checkout: 'restore',
  save: 'checkpoint create',
  note: 'record note',
  budget: 'cost budget',
  version: '--version',
};

function wrongCall(error: CommanderError, argv: readonly string[], hint: string): OrchError {
  const [word = ''] = wordsOf(argv);
  const known = error.code === 'commander.unknownCommand' ? lookUp(otherWords, word) : undefined;
  if (known !== undefined)
    return new OrchError('USAGE', `unknown command '${word}': did you mean orch ${known}?`, { hint });
  const [, extra] = wordsOf(argv);
  if (error.code === 'commander.excessArguments' && extra && isEpicId(extra) && namesEpic.has(word))
    return new OrchError('USAGE', `orch ${word} takes no argument: ${extra}`, {
      hint: `To name an epic: orch ${word} --epic ${extra}`,
    });
  if (error.code === 'commander.help') return new OrchError('USAGE', 'a command is missing', { hint });
  const message = error.message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.+)\?\)$/, ': did you mean $1?');
  return new OrchError('USAGE', message, { hint });
}
