import { answer, defineCommand } from '../../run-command.ts';
import { globalOptions, isGroup, type Named, parseFlags, type Spec } from '../../spec.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** A command and the words that can follow it. */
type Words = {
  readonly path: readonly string[];
  readonly commands: readonly string[];
  readonly options: readonly string[];
  /** What its argument names. */
  readonly names: Named | null;
};

const everywhere = [...globalOptions.flatMap((option) => parseFlags(option).names), '-h', '--help'];

/** Collects every command and what can be typed after it. */
function collectWords(specs: readonly Spec[], path: readonly string[] = []): Words[] {
  const names = specs.map(({ name }) => name);
  const below = specs.flatMap((spec): Words[] => {
    const here = [...path, spec.name];
    if (isGroup(spec)) return collectWords(spec.commands, here);
    const options = [...spec.options.flatMap((option) => parseFlags(option).names), ...everywhere];
    const { choices = [], names = null } = spec.argument ?? {};
    return [{ path: here, commands: choices, options, names }];
  });
  return [{ path, commands: names, options: everywhere, names: null }, ...below];
}

/** Collects the options whose value names this: an option means the same in every command. */
function collectNaming(specs: readonly Spec[], wanted: Named): string[] {
  const all = specs
    .flatMap((spec) => (isGroup(spec) ? spec.commands : [spec]))
    .flatMap(({ options }) => options);
  return [
    ...new Set(all.filter(({ names }) => names === wanted).flatMap((option) => parseFlags(option).names)),
  ];
}

const epicsFolder = 'refs/orchestration/epics';

/** Plain git lists the names: starting Node at every Tab would be noticeably slow. */
const listing: { readonly [N in Named]: string } = {
  epic: `git for-each-ref --format='%(refname:lstrip=3)' ${epicsFolder} 2>/dev/null`,
  checkpoint: `git log -50 --format=%s "$(git for-each-ref --count=1 --sort=-committerdate --format='%(refname)' "${epicsFolder}$in" 2>/dev/null)" 2>/dev/null | sed -n 's/^ckpt \\([0-9]*\\):.*/\\1/p'; echo latest green`,
};

function formatBash(words: readonly Words[], specs: readonly Spec[]): string {
  const cases = words.map(
    ({ path, commands, options, names }) =>
      `    "${path.join(' ')}") words="${[...commands, ...options].join(' ')}"${names ? `; named=${names}` : ''} ;;`,
  );
  const paths = words.flatMap(({ path }) => (path.length > 0 ? [`"${path.join(' ')}"`] : []));
  return `_orch() {
  local current before="" path="" word words="" named="" in=""
  current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    # Only words that lead to a command count; the others are options, their values, and arguments.
    case "\${path:+$path }$word" in ${paths.join('|')}) path="\${path:+$path }$word" ;; esac
    case "$before" in ${collectNaming(specs, 'epic').join('|')}) in="/$word" ;; esac
    before="$word"
  done
  case "$path" in
${cases.join('\n')}
  esac
  case "$before" in
    ${collectNaming(specs, 'epic').join('|')}) words=""; named=epic ;;
    ${collectNaming(specs, 'checkpoint').join('|')}) words=""; named=checkpoint ;;
  esac
  case "$named" in
    epic) words="$words $(${listing.epic})" ;;
    checkpoint) words="$words $(${listing.checkpoint})" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _orch orch`;
}

const fishListing: { readonly [N in Named]: string } = {
  epic: `git for-each-ref --format='%(refname:lstrip=3)' ${epicsFolder} 2>/dev/null`,
  checkpoint: `echo latest; echo green; git log -50 --format=%s (git for-each-ref --count=1 --sort=-committerdate --format='%(refname)' ${epicsFolder} 2>/dev/null) 2>/dev/null | string replace -rf '^ckpt (\\d+):.*' '$1'`,
};

function formatFish(words: readonly Words[]): string {
  return words
    .flatMap(({ path, commands, options, names }) => {
      const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
      const condition = seen || '__fish_use_subcommand';
      const long = options
        .filter((option) => option.startsWith('--'))
        .map((option) =>
          option === '--epic' ? `-l epic -x -a "(${fishListing.epic})"` : `-l ${option.slice(2)}`,
        );
      const known = commands.length > 0 ? [`-f -a '${commands.join(' ')}'`] : [];
      const offered = names ? [`-f -a "(${fishListing[names]})"`] : [];
      return [...known, ...offered, ...long].map((what) => `complete -c orch -n '${condition}' ${what}`);
    })
    .join('\n');
}

export const command = defineCommand({
  summary: 'print a script that completes orch in your shell',
  description: 'Print a script that completes orch commands in your shell.',
  argument: { name: 'shell', required: true, description: 'your shell', choices: shells },
  options: [],
  examples: ['source <(orch completion bash)', 'orch completion fish | source'],
  run: async (context, { argument: shell }) => {
    const specs = await (await import('../../all-commands.ts')).loadAll();
    const words = collectWords(specs);
    const before = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
    const script = shell === 'fish' ? formatFish(words) : `${before}${formatBash(words, specs)}`;
    answer(context, { shell, script }, () => script);
  },
});
