import {
  type GroupSpec,
  globalOptions,
  isGroup,
  type NamedSpec,
  type OptionSpec,
  type Spec,
} from '../../src/cli/spec.ts';

/** Where the generated part of docs/commands.md begins. */
export const generatedMark = '<!-- generated from the commands themselves: npm run docs -->';

type Named = { readonly path: string; readonly command: NamedSpec; readonly group: GroupSpec | null };

function listNamed(spec: Spec): Named[] {
  if (!isGroup(spec)) return [{ path: spec.name, command: spec, group: null }];
  return spec.commands.map((command) => ({ path: `${spec.name} ${command.name}`, command, group: spec }));
}

/** Every command with its arguments, options and examples, as Markdown. */
export function describeCommands(specs: readonly Spec[]): string {
  const named = specs.flatMap(listNamed);
  const parts = ['## Everywhere', showOptions(globalOptions)];
  for (const heading of new Set(specs.map((spec) => spec.heading))) {
    parts.push(`## ${heading}`);
    for (const { path, command, group } of named.filter((each) => each.command.heading === heading)) {
      const same = named.find((each) => each.command.run === command.run);
      parts.push(`### orch ${path}`);
      if (same && same.path !== path)
        parts.push(`The same as [\`orch ${same.path}\`](#orch-${same.path.replace(' ', '-')}).`);
      else parts.push(...describeCommand(path, command, group?.initial === command.name ? group.name : null));
    }
  }
  return `${parts.join('\n\n')}\n`;
}

function describeCommand(path: string, spec: NamedSpec, short: string | null): string[] {
  const { description, argument, options, examples } = spec;
  const also = short ? ` \`orch ${short}\` alone means this too.` : '';
  const meaning = argument
    ? [`\`${argument.name.toUpperCase()}\`: ${escapeMarkdown(argument.description)}.`]
    : [];
  return [
    `\`${formatUsage(path, spec)}\``,
    `${escapeMarkdown(description.replace(/\.?$/, '.'))}${also}`,
    ...meaning,
    ...(options.length > 0 ? [showOptions(options)] : []),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
  ];
}

function formatUsage(path: string, { argument, options, takesCommand, takesPaths }: NamedSpec): string {
  const words = argument?.choices?.join('|') ?? argument?.name.toUpperCase();
  const several = argument?.several ? ' …' : '';
  return [
    `orch ${path}`,
    options.length > 0 ? '[options]' : '',
    argument ? (argument.required ? `${words}${several}` : `[${words}${several}]`) : '',
    takesCommand ? '[-- COMMAND …]' : takesPaths ? '[-- PATH …]' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function showOptions(options: readonly OptionSpec[]): string {
  const rows = options.map(({ flags, description, initial }) => {
    const byDefault = initial === undefined ? '' : ` (default: ${initial})`;
    return `| \`${flags}\` | ${escapeMarkdown(description)}${byDefault} |`;
  });
  return ['| option | |', '|---|---|', ...rows].join('\n');
}

function escapeMarkdown(text: string): string {
  return text.replace(/[|<*]/g, '\\$&');
}
