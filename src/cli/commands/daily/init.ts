import { applyInit, type InitPreview, type Orch, previewInit } from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { cleanLine, cleanText, columnsOf } from '../../../text.ts';
import { showClaim } from '../../config-trust.ts';
import { askOrSignal, canAsk, cannotAsk } from '../../confirm.ts';
import { type Output, printJson } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import type { Call } from '../../spec.ts';

export const command = defineCommand({
  summary: 'connect Claude Code and Codex; asks first; --undo',
  description:
    'Connect Claude Code and Codex to orch, so that every session in this repository is recorded, kept on budget and resumable. Shows what it would change, and asks. Tracked files do not change, unless you pass --shared.',
  options: [
    { flags: '-y, --yes', description: 'write without asking' },
    { flags: '--undo', description: 'remove exactly what init added' },
    {
      flags: '--shared',
      description:
        'write .claude/settings.json, for everyone who works here; does nothing where orch is missing',
    },
    {
      flags: '--config',
      description: 'also write .orchestration/config.yaml, with every key and its default',
    },
    {
      flags: '--rules',
      description: 'also write .claude/rules/orchestration-patterns.md, for your team to commit',
    },
    { flags: '--no-tools', description: 'without the MCP server and the skill' },
    { flags: '--no-claude', description: 'without Claude Code' },
    { flags: '--no-codex', description: 'without Codex' },
  ],
  examples: ['orch init', 'orch init -y', 'orch init --shared --config', 'orch init --undo'],
  run: inRepository(init),
});

async function init(context: Context, orch: Orch, call: Call): Promise<number> {
  const { out, json } = context;
  const { options } = call;
  const [undo, shared, yes] = [options.undo === true, options.shared === true, options.yes === true];
  const preview = await previewInit(
    {
      undo,
      shared,
      claude: !options['no-claude'],
      codex: !options['no-codex'],
      tools: !options['no-tools'],
      config: options.config === true,
      rules: options.rules === true,
      variables: ['ORCH_SESSION', 'ORCH_EPIC'],
      byAgent: context.settings.byAgent,
    },
    orch,
  );
  const { changes, isNeeded } = preview;
  if (!json) {
    if (!yes && changes.length > 0) out.print(`${showDiffs(out, changes)}\n`);
    showPlan(out, preview, undo);
  }
  const answer =
    isNeeded && (yes || (!json && canAsk() && (await askOrSignal('Apply?', { enterIs: 'yes' }))));
  const isWanted = answer === true;
  if (isWanted) await applyInit(preview, orch);
  if (json) printJson(out, describe(preview, isWanted));
  if (isNeeded && !yes && (json || !canAsk())) throw cannotAsk(`orch init ${undo ? '--undo ' : ''}-y`);
  if (!json) printEnd(out, preview, { isWanted, isUndo: undo, isShared: shared });
  if (typeof answer === 'string') return statusOfSignal(answer);
  return isWanted || !isNeeded ? 0 : 1;
}

function showPlan(out: Output, preview: InitPreview, isUndo: boolean): void {
  const { found, changes, unapproved, claims, isTrackedChanged } = preview;
  if (!isUndo) out.print(showFound(out, found));
  if (changes.length > 0) out.print(showSummary(out, changes));
  if (unapproved.length > 0) out.print(showApproval(out, unapproved));
  for (const claim of claims) out.print(`${out.paint('dim', 'approve')}  ${showClaim(claim)}`);
  if (changes.length > 0 && !isTrackedChanged)
    out.print(`${out.paint('dim', 'keep')}     tracked files, .git/config and your branches`);
}

type End = { readonly isWanted: boolean; readonly isUndo: boolean; readonly isShared: boolean };

function printEnd(out: Output, preview: InitPreview, { isWanted, isUndo, isShared }: End): void {
  const { found, isNeeded, isOrchOnPath, sharedHooksIn } = preview;
  if (!isNeeded) out.inform(isUndo ? 'Nothing to do: orch is not set up here.' : 'Nothing to do.');
  else if (!isWanted) out.inform('Nothing was changed.');
  else if (isUndo) out.inform('Done. Everything recorded stays: orch status.');
  else {
    const agent = found.claude ? 'claude' : found.codex ? 'codex' : null;
    const work = agent ? `Work as usual: ${agent}.  ` : '';
    out.inform(`Done. ${work}Check in: orch status.  Remove: orch init --undo.`);
  }
  if (isWanted && !isUndo) printCodexSteps(out, preview);
  if (isShared && !isUndo && !isOrchOnPath)
    out.inform('orch is not on your PATH. Shared hooks do nothing until it is.');
  if (sharedHooksIn !== null)
    out.inform(
      `${sharedHooksIn} still has hooks for everyone who works here. To remove those: orch init --undo --shared`,
    );
}

/** Prints what Codex users still have to do: Codex runs nothing in a folder they do not trust. */
function printCodexSteps(out: Output, { codex }: InitPreview): void {
  if (codex.hooks)
    out.inform('Codex runs the hooks only after you trust them: start codex here, type /hooks.');
  if (codex.hooksEverywhere)
    out.inform(
      'The Codex hooks now apply only here, no longer everywhere. Run orch init in your other repositories.',
    );
  if (codex.server) out.inform('Codex starts the MCP server in folders you trust.');
  if (codex.trackedHooks)
    out.inform(
      `${codex.trackedHooks} is tracked by git, so orch did not change it: Codex is not recorded by hooks here.`,
    );
  if (codex.trackedConfig)
    out.inform(
      `${codex.trackedConfig} is tracked by git, so orch did not change it. For yourself: codex mcp add orch -- orch mcp`,
    );
}

function describe({ found, changes }: InitPreview, written: boolean) {
  const gates = found.gates.map(({ name, run }) => ({ name, run }));
  return { found: { ...found, gates }, changes: changes.map(({ path, diff }) => ({ path, diff })), written };
}

/** The changes as unified diffs, as git would show them. */
function showDiffs({ paint }: Output, changes: InitPreview['changes']): string {
  const lines = changes.flatMap(({ name, before, after, diff }) => [
    paint('bold', `--- ${before === null ? '/dev/null' : name}`),
    paint('bold', `+++ ${after === null ? '/dev/null' : name}`),
    ...showable(diff)
      .split('\n')
      .map((line) => paintLine(paint, line)),
  ]);
  return lines.join('\n').trimEnd();
}

/** Removes control characters, but keeps the lines and their first character. */
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
function showFound({ paint }: Output, found: InitPreview['found']): string {
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

/** One line per file: `change   .claude/settings.local.json   +10 hooks`. */
function showSummary({ paint }: Output, changes: InitPreview['changes']): string {
  const width = Math.max(0, ...changes.map(({ name }) => columnsOf(name)));
  const lines = changes.map(({ name, before, after, meaning }) => {
    const what = before === null ? 'create ' : after === null ? 'remove ' : 'change ';
    return `${paint('dim', what)}  ${name}${' '.repeat(width - columnsOf(name))}   ${meaning}`;
  });
  return lines.join('\n');
}

/** The commands that orch will run automatically from now on, in full. */
function showApproval({ paint }: Output, gates: InitPreview['unapproved']): string {
  const lines = gates.map(({ name, run, fix }) => {
    const repair = fix === null ? '' : `, fixed by: ${cleanLine(fix)}`;
    return `${paint('dim', 'approve')}  ${cleanLine(name)}: ${cleanLine(run)}${repair}`;
  });
  return lines.join('\n');
}
