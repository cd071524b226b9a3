import { Argument, type Command } from 'commander';
import type { Register } from './program.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** A command, and the words that may follow it. */
type Words = {
  readonly path: readonly string[];
  readonly commands: readonly string[];
  readonly options: readonly string[];
};

/** Every command with what can be typed after it, from the program itself. */
function collectWords(command: Command, path: readonly string[], inherited: readonly string[]): Words[] {
  const own = command.options.flatMap(({ short, long }) => [short, long].filter((flag) => flag != null));
  const options = [...new Set([...own, ...inherited, '-h', '--help'])];
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const commands = [...command.commands.map((sub) => sub.name()), ...choices];
  const below = command.commands.flatMap((sub) => collectWords(sub, [...path, sub.name()], options));
  return [{ path, commands, options }, ...below];
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

export const registerCompletion: Register = (program, run) => {
  program
    .command('completion')
    .summary('print a script that completes orch in your shell')
    .description('Print a script that completes orch commands in your shell.')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .addHelpText('after', '\nExamples:\n  source <(orch completion bash)\n  orch completion fish | source')
    .action(
      run(async ({ out }, shell: string) => {
        const words = collectWords(program, [], []);
        if (shell === 'fish') out.print(formatFish(words));
        else if (shell === 'zsh')
          out.print(`autoload -U +X bashcompinit && bashcompinit\n${formatBash(words)}`);
        else out.print(formatBash(words));
        return 0;
      }),
    );
};
