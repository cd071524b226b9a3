import type { Gate, GateCommand } from '../integration/gate.ts';
import { quoteForShell } from '../integration/orch-command.ts';
import { describeChange } from '../integration/text-diff.ts';
import type { FileChange } from '../session/init-change.ts';
import type { Found } from '../session/init-facts.ts';
import { cleanLine, cleanText, columnsOf } from '../text.ts';
import type { Output } from './output.ts';

/** The changes as unified diffs, as git would show them. */
export function showDiffs({ paint }: Output, changes: readonly FileChange[]): string {
  const lines = changes.flatMap(({ name, before, after }) => [
    paint('bold', `--- ${before === null ? '/dev/null' : name}`),
    paint('bold', `+++ ${after === null ? '/dev/null' : name}`),
    ...showable(describeChange(before, after))
      .split('\n')
      .map((line) => paintLine(paint, line)),
  ]);
  return lines.join('\n').trimEnd();
}

/** What a terminal would take for a command is not shown as such. */
function showable(diff: string): string {
  return diff
    .split('\n')
    .map((line) => line.slice(0, 1) + cleanText(line.slice(1)).replaceAll('\n', ' '))
    .join('\n');
}

function paintLine(paint: Output['paint'], line: string): string {
  if (line.startsWith('+')) return paint('green', line);
  if (line.startsWith('-')) return paint('red', line);
  return line.startsWith('@@') ? paint('cyan', line) : line;
}

/** `found    Claude Code 2.1.325, npm (test, lint), origin`. */
export function showFound({ paint }: Output, found: Found): string {
  const { claude, codex, ecosystems, gates, remotes, orchestrationYaml } = found;
  const gateNames = gates.length > 0 ? ` (${gates.map(({ name }) => name).join(', ')})` : '';
  const parts = [
    claude && `Claude Code${claude.version ? ` ${claude.version}` : ''}`,
    codex && `Codex${codex.version ? ` ${codex.version}` : ''}`,
    ecosystems.length > 0 || gateNames ? `${ecosystems.join(', ') || 'gates'}${gateNames}` : null,
    ...remotes,
    orchestrationYaml ? 'ORCHESTRATION.yaml' : null,
  ].filter((part) => part !== null);
  const lines = [
    `${paint('dim', 'found')}    ${parts.map((part) => cleanLine(part)).join(', ') || 'nothing'}`,
  ];
  if (!claude && !codex)
    lines.push(`${paint('dim', 'missing')}  Claude Code and Codex: install one, then run orch init again`);
  return lines.join('\n');
}

/** One line a file: `change   .claude/settings.local.json   +10 hooks`. */
export function showSummary({ paint }: Output, changes: readonly FileChange[]): string {
  const width = Math.max(0, ...changes.map(({ name }) => columnsOf(name)));
  const lines = changes.map(({ name, before, after, meaning }) => {
    const what = before === null ? 'create ' : after === null ? 'remove ' : 'change ';
    return `${paint('dim', what)}  ${name}${' '.repeat(width - columnsOf(name))}   ${meaning}`;
  });
  return lines.join('\n');
}

/** The commands that are to run by themselves from now on, in full. */
export function showApproval({ paint }: Output, gates: readonly Gate[]): string {
  const lines = gates.map(({ name, run, fix }) => {
    const repair = fix === null ? '' : `, repaired by: ${showCommand(fix)}`;
    return `${paint('dim', 'approve')}  ${cleanLine(name)}: ${showCommand(run)}${repair}`;
  });
  return lines.join('\n');
}

function showCommand(command: GateCommand): string {
  return cleanLine(typeof command === 'string' ? command : quoteForShell(command));
}
