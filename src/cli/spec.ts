import type { Context } from './run.ts';

/** An option: `-e, --epic <id>`; without a `<value>` it is a switch. */
export type OptionSpec = {
  readonly flags: string;
  readonly description: string;
  readonly initial?: string;
  readonly names?: Named;
};

/** What a value names: a shell offers those there are. */
export type Named = 'epic' | 'checkpoint';

/** What was typed after a command: its argument, and its options by their long names. */
export type Call = {
  readonly argument: string | undefined;
  /** Every word of an argument that takes several, or the command behind `--`. */
  readonly rest: readonly string[];
  /** The paths behind `--`, where the command takes some. */
  readonly paths: readonly string[];
  readonly options: { readonly [name: string]: string | true | undefined };
};

/** A command, written down once: help, errors, completion and the fast path are all made of this. */
export type CommandSpec = {
  readonly name: string;
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
  /** Is everything behind `--` a command to run? */
  readonly takesCommand?: true;
  /** Is everything behind `--` a path? */
  readonly takesPaths?: true;
  readonly examples: readonly string[];
  /** Gives an exit status; none is 0. */
  run(context: Context, call: Call): Promise<number | undefined>;
};

/** A word with commands below it. */
export type GroupSpec = {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly commands: readonly CommandSpec[];
  /** What the word alone means. */
  readonly initial?: string;
};

export type Spec = CommandSpec | GroupSpec;

export const globalOptions: readonly OptionSpec[] = [
  { flags: '-C, --repo <dir>', description: 'work in this folder instead of the current one' },
  { flags: '--json', description: 'print one JSON document' },
  { flags: '-q, --quiet', description: 'print data and errors only' },
  { flags: '--no-color', description: 'print without colours (also: NO_COLOR)' },
];

/** The global options as they were given. */
export type Globals = {
  readonly repo?: string;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
};

export function isGroup(spec: Spec): spec is GroupSpec {
  return 'commands' in spec;
}

/** `-e, --epic <id>` → its two flags, its name, and whether a value follows. */
export function parseFlags({ flags }: OptionSpec) {
  const words = flags.split(/[ ,]+/);
  const names = words.filter((word) => word.startsWith('-'));
  const long = names.find((word) => word.startsWith('--')) ?? '';
  return { names, name: long.slice(2), takesValue: words.length > names.length };
}

type Simple = { readonly command: CommandSpec; readonly call: Call; readonly globals: Globals };

/**
 * Reads a call in which everything is as it should be, in the plain ways people and scripts write it. Null for any
 * other, right or wrong: commander then reads it, and has the right words for what is wrong.
 */
export function parseSimple(argv: readonly string[], specs: readonly Spec[]): Simple | null {
  let below: readonly Spec[] = specs;
  let command: CommandSpec | null = null;
  const words: string[] = [];
  let behind: readonly string[] = [];
  let initial: CommandSpec | null = null;
  const values: { [name: string]: string | true } = {};
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-')) {
      const next: Spec | undefined = command ? undefined : below.find(({ name }) => name === word);
      if (next && isGroup(next)) {
        below = next.commands;
        initial = next.commands.find(({ name }) => name === next.initial) ?? null;
      } else if (next) command = next;
      else if (command?.argument && word !== '' && (command.argument.several || words.length === 0))
        words.push(word);
      else return null;
      continue;
    }
    if (word === '--' && (command?.takesCommand || command?.takesPaths)) {
      behind = argv.slice(index + 1);
      break;
    }
    const known = [...globalOptions, ...((command ?? initial)?.options ?? [])].map(parseFlags);
    const [flag = '', ...given] = word.split('=');
    const option = known.find(({ names }) => names.includes(flag));
    if (option === undefined || (given.length > 0 && (!option.takesValue || !flag.startsWith('--'))))
      return null;
    const value = !option.takesValue ? true : given.length > 0 ? given.join('=') : argv[++index];
    if (value === undefined || (value !== true && given.length === 0 && value.startsWith('-'))) return null;
    values[option.name] = value;
  }
  command ??= initial;
  const [argument] = words;
  if (command === null || (command.argument?.required && argument === undefined)) return null;
  if (command.argument?.choices && !command.argument.choices.includes(argument ?? '')) return null;
  const call = {
    argument,
    rest: command.takesCommand ? behind : words,
    paths: command.takesPaths ? behind : [],
    options: withInitial(command, values),
  };
  return { command, call, globals: readGlobals(values) };
}

/** Adds what an option is where it was not given. */
export function withInitial(command: CommandSpec, values: Call['options']): Call['options'] {
  const initial = command.options.flatMap((option) =>
    option.initial === undefined ? [] : [[parseFlags(option).name, option.initial] as const],
  );
  return { ...Object.fromEntries(initial), ...values };
}

function readGlobals(values: { readonly [name: string]: string | true }): Globals {
  const { repo } = values;
  return {
    ...(typeof repo === 'string' && { repo }),
    json: values.json === true,
    quiet: values.quiet === true,
    color: values['no-color'] !== true,
  };
}

/** An option's value as text, where it was given one. */
export function textOf({ options }: Call, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}
