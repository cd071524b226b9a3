import { groupBy } from '../keyed.ts';
import type { Output } from './output.ts';
import { isGroup, type Spec } from './spec.ts';

/** `orch --help`: every command, in groups, on one screen. */
export function showCommands({ paint }: Pick<Output, 'paint'>, specs: readonly Spec[]): string {
  const headings = [...new Set(specs.map(({ heading }) => heading))];
  const width = Math.max(...specs.map(({ name }) => name.length));
  const lines = headings.flatMap((heading) => {
    const here = specs.filter((spec) => spec.heading === heading);
    const [full, short] = [here.filter((spec) => !isShort(spec)), here.filter(isShort)];
    const rows = joinAlike(full).map(({ names, words }) => `  ${names.join(', ').padEnd(width)}  ${words}`);
    const alsoHere =
      short.length > 0 ? [`  ${short.map(({ name }) => name).join(', ')}: the same as orch session …`] : [];
    return [paint('bold', heading), ...rows, ...alsoHere];
  });
  return `${[
    'orch: flight recorder and flight controller for AI agents, in plain git',
    '',
    ...lines,
    '',
    'Options: -C DIR  --json  -q, --quiet  --no-color  -V, --version  -h, --help',
    '',
    'Begin with: orch init. Then: orch start --epic feat-login --budget 5 -- claude',
  ].join('\n')}\n`;
}

/** Commands that say the same of themselves share a line. */
function joinAlike(specs: readonly Spec[]): { readonly names: readonly string[]; readonly words: string }[] {
  const alike = groupBy(specs, ({ summary, description }) => summary ?? description);
  return [...alike].map(([words, own]) => ({ words, names: own.map(({ name }) => name) }));
}

function isShort(spec: Spec): boolean {
  return !isGroup(spec) && spec.isShort === true;
}
