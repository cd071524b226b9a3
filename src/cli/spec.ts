import type { Context } from './run-command.ts';

/** An option: `-e, --epic <id>`; without a `<value>` it is a switch. */
export type OptionSpec = {
  readonly flags: string;
  readonly description: string;
  readonly initial?: string;
  readonly names?: Named;
  /** May it be given several times? Each value counts. */
  readonly several?: true;
};

/** What a value names, so that shell completion can list it. */
export type Named = 'epic' | 'checkpoint';

/** What was typed after a command: its argument, and its options by their long names. */
export type Call = {
  readonly argument: string | undefined;
  /** Every word of an argument that takes several, or the command after `--`. */
  readonly rest: readonly string[];
  /** The paths after `--`, if the command takes any. */
  readonly paths: readonly string[];
  readonly options: { readonly [name: string]: string | true | readonly string[] | undefined };
};

/** The exit status of a command; undefined means 0. */
export type ExitStatus = number | undefined;

/** Defines a command; help, errors and completion are all derived from it. Its name is in commands.ts. */
export type CommandSpec = {
  /** A few words for the list of commands; the description by default. */
  readonly summary?: string;
  readonly description: string;
  readonly argument?: {
    readonly name: string;
    readonly required?: true;
    /** Takes several words. */
    readonly several?: true;
    readonly description: string;
    readonly choices?: readonly string[];
    readonly names?: Named;
  };
  readonly options: readonly OptionSpec[];
  /** Is everything after `--` a command to run, and what for? */
  readonly takesCommand?: string;
  /** Is everything after `--` a path? */
  readonly takesPaths?: true;
  readonly examples: readonly string[];
  run(context: Context, call: Call): Promise<ExitStatus>;
};

/** A command with its name and its heading in the help. */
export type NamedSpec = CommandSpec & {
  readonly name: string;
  readonly heading: string;
  /** Is it a shortcut for a command of a group under the same heading? */
  readonly isShort?: boolean;
};

/** A command that has subcommands. */
export type GroupSpec = {
  readonly name: string;
  readonly heading: string;
  readonly summary: string;
  readonly description: string;
  readonly commands: readonly NamedSpec[];
  /** The subcommand that the word alone means. */
  readonly initial?: string;
};

export type Spec = NamedSpec | GroupSpec;

export function isGroup(spec: Spec): spec is GroupSpec {
  return 'commands' in spec;
}

/** A command that can be called; `defineCommand` makes it from a spec, and the command's file exports it. */
export type Command = CommandSpec & {
  /** Runs a plain call. Returns null for any other: reading those needs every command's spec. */
  start(argv: readonly string[], place: CommandPlace): Promise<number | null>;
};

/** The words that call a command, and whether the last of them may be left out. */
export type CommandPlace = { readonly path: readonly string[]; readonly isInitial: boolean };

export const globalOptions: readonly OptionSpec[] = [
  { flags: '-C, --repo <dir>', description: 'work in this folder instead of the current one' },
  { flags: '--json', description: 'print one JSON document' },
  { flags: '-q, --quiet', description: 'print data and errors only' },
  { flags: '--no-color', description: 'print without colors (also: NO_COLOR)' },
];

/** The global options as they were given. */
export type Globals = {
  readonly repo?: string;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
};

/** Splits `-e, --epic <id>` into its two flags, its name, and whether a value follows. */
export function parseFlags({ flags }: OptionSpec) {
  const words = flags.split(/[ ,]+/);
  const names = words.filter((word) => word.startsWith('-'));
  const long = names.find((word) => word.startsWith('--')) ?? '';
  return { names, name: long.slice(2), takesValue: words.length > names.length };
}

/**
 * Parses a correct call written in one of the usual ways, without loading commander. Returns null for anything else,
 * right or wrong: commander then parses it and explains what is wrong.
 */
export function parseSimple(
  argv: readonly string[],
  { path, isInitial }: CommandPlace,
  spec: CommandSpec,
): { readonly call: Call; readonly globals: Globals } | null {
  const { argument } = spec;
  const words: string[] = [];
  let behind: readonly string[] = [];
  let seen = 0;
  const isNamed = () => seen === path.length || (isInitial && seen === path.length - 1);
  const values: { [name: string]: string | true | readonly string[] } = {};
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-')) {
      if (seen < path.length && word === path[seen]) seen++;
      else if (seen === path.length && argument && word !== '' && (argument.several || words.length === 0))
        words.push(word);
      else return null;
      continue;
    }
    if (word === '--' && seen === path.length && (spec.takesCommand || spec.takesPaths)) {
      behind = argv.slice(index + 1);
      break;
    }
    const known = [...globalOptions, ...(isNamed() ? spec.options : [])].map((option) => ({
      ...option,
      ...parseFlags(option),
    }));
    const [flag = '', ...given] = word.split('=');
    const option = known.find(({ names }) => names.includes(flag));
    if (option === undefined || (given.length > 0 && (!option.takesValue || !flag.startsWith('--'))))
      return null;
    const value = !option.takesValue ? true : given.length > 0 ? given.join('=') : argv[++index];
    if (value === undefined || (value !== true && given.length === 0 && value.startsWith('-'))) return null;
    const before = values[option.name];
    values[option.name] =
      option.several && value !== true ? [...(Array.isArray(before) ? before : []), value] : value;
  }
  const [first] = words;
  if (!isNamed() || (argument?.required && first === undefined)) return null;
  if (argument?.choices && !argument.choices.includes(first ?? '')) return null;
  const call = {
    argument: first,
    rest: spec.takesCommand ? behind : words,
    paths: spec.takesPaths ? behind : [],
    options: withInitial(spec, values),
  };
  return { call, globals: readGlobals(values) };
}

/** Adds the defaults of options that were not given. */
export function withInitial(command: Pick<CommandSpec, 'options'>, values: Call['options']): Call['options'] {
  const initial = command.options.flatMap((option) =>
    option.initial === undefined ? [] : [[parseFlags(option).name, option.initial] as const],
  );
  return { ...Object.fromEntries(initial), ...values };
}

function readGlobals(values: Call['options']): Globals {
  const { repo } = values;
  return {
    ...(typeof repo === 'string' && { repo }),
    json: values.json === true,
    quiet: values.quiet === true,
    color: values['no-color'] !== true,
  };
}

/** Reads an option's value; undefined if it was not given. */
export function readText({ options }: Call, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** Reads the values of an option that may be given several times. */
export function readTexts({ options }: Call, name: string): readonly string[] {
  const values = options[name];
  return Array.isArray(values) ? values : [];
}

/** Finds the words of a call that are neither global options nor their values: command, subcommand, arguments. */
export function findWords(argv: readonly string[]): string[] {
  const takesValue = (word: string | undefined) => word === '-C' || word === '--repo';
  return argv.filter((word, index) => !word.startsWith('-') && !takesValue(argv[index - 1]));
}

/** Takes the words meant for orch itself: those after `--` are paths, or belong to another program. */
export function takeOwnWords(argv: readonly string[]): readonly string[] {
  return argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
}
