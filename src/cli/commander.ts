import { Argument, Command, CommanderError } from 'commander';
import { OrchError } from '../errors.ts';
import { isEpicId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { isInstalled } from '../system/process/spawn.ts';
import { findNearest } from '../text.ts';
import { showCommands } from './help.ts';
import { openOutput } from './output.ts';
import {
  type Call,
  findWords,
  type Globals,
  globalOptions,
  isGroup,
  type NamedSpec,
  parseFlags,
  type Spec,
  takeOwnWords,
  withInitial,
} from './spec.ts';

declare const __ORCH_VERSION__: string;

type RunCommand = (command: NamedSpec, globals: Globals, call: Call) => Promise<number>;

/** Parses a call with commander, against the same specs, and runs the command or prints help. */
export async function runWithCommander(
  argv: readonly string[],
  specs: readonly Spec[],
  runCommand: RunCommand,
): Promise<number> {
  let status = 0;
  const program = createProgram(argv, specs);
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
      const [words, behind] = splitAtDashes(made.args, argv);
      const { takesCommand, takesPaths } = spec;
      refuseFlagAsValue(argv, spec);
      if (takesCommand && words.length > (spec.argument ? 1 : 0)) throw missingDashes(spec, words);
      if (takesPaths && !spec.argument?.several && words.length > 1) throw missingPathDashes(spec, words);
      status = await runCommand(spec, program.opts<Globals>(), {
        argument: takesCommand || takesPaths ? words[0] : made.args[0],
        rest: takesCommand ? behind : takesPaths ? words : made.args,
        paths: takesPaths ? behind : [],
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
    const hint = `See: ${findHelp(argv, specs)}`;
    throw findMisspelled(error, argv, specs, hint) ?? wrongCall(error, argv, hint);
  }
}

function createProgram(argv: readonly string[], specs: readonly Spec[]): Command {
  const own = takeOwnWords(argv);
  const version = own.includes('--json') ? JSON.stringify({ version: __ORCH_VERSION__ }) : __ORCH_VERSION__;
  const program = new Command('orch')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help, with examples')
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureHelp({
      visibleCommands: ({ commands }) => [...commands],
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map(showArgument)].join(' '),
    })
    // Errors are printed in one place, by the caller.
    .configureOutput({ outputError: () => {}, writeErr: () => {} });
  for (const { flags, description } of globalOptions) program.option(flags, description);
  const out = openOutput(process.env, { color: !own.includes('--no-color'), quiet: false });
  program.helpInformation = () => showCommands(out, specs);
  return program;
}

function showArgument(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** Commander would take `-e` as the value in `--reason -e x`, and then use the wrong epic. */
function refuseFlagAsValue(argv: readonly string[], { options }: NamedSpec): void {
  const known = [...globalOptions, ...options].map(parseFlags);
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  for (const [index, word] of argv.slice(0, end).entries()) {
    const option = known.find(({ names, takesValue }) => takesValue && names.includes(word));
    const next = argv[index + 1];
    if (option === undefined || next === undefined || !known.some(({ names }) => names.includes(next)))
      continue;
    throw new OrchError('USAGE', `option ${word} needs a value, but ${next} is an option`, {
      hint: `To use it as the value: ${option.names.at(-1)}=${next}`,
    });
  }
}

/** Agents, which are meant as programs even if they are not on this PATH. */
const agents = /^(claude|codex|gemini|aider|opencode|cursor-agent)$/;

function missingDashes({ name }: NamedSpec, words: readonly string[]): OrchError {
  const [first = ''] = words;
  // A single word that is not a program is more likely an epic.
  const isEpic = words.length === 1 && isEpicId(first) && !agents.test(first) && !isInstalled(first);
  return new OrchError('USAGE', `put -- before the command to run: ${first} is not after --`, {
    hint: isEpic
      ? `To name an epic: orch ${name} --epic ${first}`
      : `Try: orch ${name} -- ${words.join(' ')}`,
  });
}

/** Commander drops the `--`; the words after it are the last ones. */
function splitAtDashes(words: readonly string[], argv: readonly string[]): [string[], string[]] {
  const behind = argv.includes('--') ? argv.length - argv.indexOf('--') - 1 : 0;
  return [words.slice(0, words.length - behind), words.slice(words.length - behind)];
}

function missingPathDashes({ name }: NamedSpec, [first = '', ...paths]: readonly string[]): OrchError {
  return new OrchError('USAGE', `put -- before paths: ${paths[0]} is not after --`, {
    hint: `Try: orch ${name} ${first} -- ${paths.join(' ')}`,
  });
}

function addDetails(made: Command, spec: NamedSpec): void {
  const { argument, options, takesCommand, takesPaths, examples } = spec;
  if (argument) {
    const name = argument.several ? `${argument.name}...` : argument.name;
    const syntax = argument.required ? `<${name}>` : `[${name}]`;
    const added = new Argument(syntax, argument.description);
    made.addArgument(argument.choices ? added.choices(argument.choices) : added);
  }
  if (takesCommand) made.argument('[command...]', `after --: ${takesCommand}`);
  if (takesPaths && !argument?.several) made.argument('[paths...]', 'after --: only these files and folders');
  for (const { flags, description, initial, several } of options) {
    if (several) made.option(flags, description, (value: string, all: string[] = []) => [...all, value]);
    else made.option(flags, description, initial);
  }
  addExamples(made, examples);
}

function addExamples(made: Command, examples: readonly string[]): void {
  made.addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
}

/** Commander names options in camel case; the commands know them by their long names. */
function readOptions(made: Command, spec: NamedSpec): Call['options'] {
  const given = made.opts<{ [name: string]: string | boolean | string[] | undefined }>();
  const camel = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const values = spec.options.flatMap((option) => {
    const { name } = parseFlags(option);
    // Commander reads --no-baseline as the opposite of a --baseline option.
    const isNo = name.startsWith('no-') && given[camel(name.slice(3))] === false;
    const value = isNo ? true : given[camel(name)];
    return value === undefined || value === false ? [] : [[name, value] as const];
  });
  return withInitial(spec, Object.fromEntries(values));
}

/** Finds the help for what was typed, as far as it names a known command. */
function findHelp(argv: readonly string[], specs: readonly Spec[]): string {
  const [first, second] = findWords(argv);
  const found = specs.find(({ name }) => name === first);
  if (found === undefined) return 'orch --help';
  const below = isGroup(found) ? found.commands.find(({ name }) => name === second) : undefined;
  return `orch ${found.name}${below ? ` ${below.name}` : ''} --help`;
}

/** In a group with an initial command, commander takes a misspelled subcommand for that command's argument. */
function findMisspelled(
  { code }: CommanderError,
  argv: readonly string[],
  specs: readonly Spec[],
  hint: string,
): OrchError | null {
  const group = specs.find(({ name }) => name === findWords(argv)[0]);
  if (code !== 'commander.excessArguments' || !group || !isGroup(group)) return null;
  const word = argv[argv.indexOf(group.name) + 1] ?? '-';
  const names = group.commands.map(({ name }) => name);
  if (group.initial === undefined || word.startsWith('-') || names.includes(word)) return null;
  const near = findNearest(word, names);
  return new OrchError('USAGE', `unknown command '${word}'${near ? `: did you mean ${near}?` : ''}`, {
    hint,
  });
}

/** Commands that take the epic as an option, though people type it as an argument. */
const namesEpic = new Set(['pause', 'complete', 'list', 'brief']);

/** Words from other tools, and the commands they mean here. */
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
  const [word = ''] = findWords(argv);
  const known = error.code === 'commander.unknownCommand' ? lookUp(otherWords, word) : undefined;
  if (known !== undefined)
    return new OrchError('USAGE', `unknown command '${word}': did you mean orch ${known}?`, { hint });
  const [, extra] = findWords(argv);
  if (error.code === 'commander.excessArguments' && extra && isEpicId(extra) && namesEpic.has(word))
    return new OrchError('USAGE', `orch ${word} takes no argument, but got ${extra}`, {
      hint: `To name an epic: orch ${word} --epic ${extra}`,
    });
  if (error.code === 'commander.help') return new OrchError('USAGE', 'a command is missing', { hint });
  const message = error.message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.+)\?\)$/, ': did you mean $1?');
  return new OrchError('USAGE', message, { hint });
}
