import { type CommandSpec, globalOptions, isGroup, parseFlags, type Spec } from './spec.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** A command, and the words that may follow it. */
type Words = {
  readonly path: readonly string[];
  readonly commands: readonly string[];
  readonly options: readonly string[];
};

const everywhere = [...globalOptions.flatMap((option) => parseFlags(option).names), '-h', '--help'];

/** Every command with what can be typed after it. */
function collectWords(specs: readonly Spec[], path: readonly string[] = []): Words[] {
  const names = specs.map(({ name }) => name);
  const below = specs.flatMap((spec): Words[] => {
    const here = [...path, spec.name];
    if (isGroup(spec)) return collectWords(spec.commands, here);
    const options = [...spec.options.flatMap((option) => parseFlags(option).names), ...everywhere];
    return [{ path: here, commands: spec.argument?.choices ?? [], options }];
  });
  return [{ path, commands: names, options: everywhere }, ...below];
}

function formatBash(words: readonly Words[]): string {
  const cases = words.map(
    ({ path, commands, options }) =>
      `    "${path.join(' ')}") words="${[...commands, ...options].join(' ')}" ;;`,
  );
  const paths = words.flatMap(({ path }) => (path.length > 0 ? [`"${path.join(' ')}"`] : []));
  return `_orch() {
  local current path="" word words=""
  current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    # Only words that lead to a command count; the others are options, their values, and arguments.
    case "\${path:+$path }$word" in ${paths.join('|')}) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _orch orch`;
}

function formatFish(words: readonly Words[]): string {
  return words
    .flatMap(({ path, commands, options }) => {
      const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
      const condition = seen || '__fish_use_subcommand';
      const long = options
        .filter((option) => option.startsWith('--'))
        .map((option) => `-l ${option.slice(2)}`);
      const names = commands.length > 0 ? [`-f -a '${commands.join(' ')}'`] : [];
      return [...names, ...long].map((what) => `complete -c orch -n '${condition}' ${what}`);
    })
    .join('\n');
}

/** The command, for the commands that there are when it runs. */
export function makeCompletion(specs: () => readonly Spec[]): CommandSpec {
  return {
    name: 'completion',
    summary: 'print a script that completes orch in your shell',
    description: 'Print a script that completes orch commands in your shell.',
    argument: { name: 'shell', required: true, description: 'your shell', choices: shells },
    options: [],
    examples: ['source <(orch completion bash)', 'orch completion fish | source'],
    run: async ({ out, json }, { argument: shell }) => {
      const words = collectWords(specs());
      const before = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
      const script = shell === 'fish' ? formatFish(words) : `${before}${formatBash(words)}`;
      out.print(json ? JSON.stringify({ shell, script }) : script);
      return 0;
    },
  };
}
