import { dirname, join } from 'node:path';
import { OrchError } from '../errors.ts';
import { readOwnEntries } from '../integration/claude-settings.ts';
import type { Gate } from '../integration/gate.ts';
import { describeChange } from '../integration/text-diff.ts';
import { approve, isApproved } from '../integration/trust.ts';
import type { Claim, Orch } from '../orch.ts';
import { listGates } from '../session/baseline.ts';
import type { FileChange } from '../session/init-change.ts';
import { type InitFacts, readInitFacts } from '../session/init-facts.ts';
import { planInit, planUndo } from '../session/init-plan.ts';
import { writeChanges } from '../session/init-write.ts';
import { isFromInside } from '../session/origin.ts';
import { thisCommand, userFolders } from '../system/caller.ts';
import { readIfThere } from '../system/files.ts';
import { catchSignals, statusOfSignal } from '../system/signals.ts';
import { askYesNo, canAsk } from './ask.ts';
import { showClaim } from './config-trust.ts';
import { showApproval, showDiffs, showFound, showSummary } from './init-view.ts';
import type { Output } from './output.ts';
import { type Context, runCommands } from './run.ts';
import type { Call, CommandSpec } from './spec.ts';

export const initSpec: CommandSpec = {
  name: 'init',
  summary: 'hook into Claude Code and Codex; asks first',
  description:
    'Have Claude Code and Codex call orch by themselves: every session in the repository is then recorded, kept on budget and resumable. Shows what it would change, and asks. Tracked files stay as they are, unless you say --shared.',
  options: [
    { flags: '-y, --yes', description: 'write without asking' },
    { flags: '--undo', description: 'take exactly that out again' },
    {
      flags: '--shared',
      description: 'into .claude/settings.json, for all who work here; silent where orch is missing',
    },
    {
      flags: '--config',
      description: 'also write .orchestration/config.yaml, with every key and its default',
    },
    {
      flags: '--rules',
      description: 'also write .claude/rules/orchestration-patterns.md, for your team to commit',
    },
    { flags: '--no-tools', description: 'leave out the MCP server and the skill' },
    { flags: '--no-claude', description: 'leave Claude Code out' },
    { flags: '--no-codex', description: 'leave Codex out' },
  ],
  examples: ['orch init', 'orch init -y', 'orch init --shared --config', 'orch init --undo'],
  run: (context, call) => context.withOrch((orch) => init(context, orch, call)),
};

async function init(context: Context, orch: Orch, call: Call): Promise<number> {
  const { repository } = orch;
  const { worktree } = repository;
  if (worktree === null)
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'no agent works in a bare repository', {
      hint: 'Run it in a working tree',
    });
  const { out, json } = context;
  const isUndo = call.options.undo === true;
  const gates = isUndo ? [] : listGates(await orch.readConfig(), worktree);
  const facts = await readInitFacts({ ...repository, worktree }, userFolders(), gates);
  const wishes = readWishes(call);
  const changes = isUndo ? planUndo(facts, wishes) : planInit(facts, wishes);
  // What an agent sets up approves nothing: what is approved counts, or runs by itself, in the user's name.
  const isByAgent = context.settings.byAgent || isFromInside(orch.home);
  const claims = isUndo || isByAgent ? [] : await orch.listUnapproved();
  const unapproved = isByAgent || isApproved(orch.home, gates) ? [] : gates;
  const isNeeded = changes.length > 0 || unapproved.length > 0 || claims.length > 0;
  const mayWrite = call.options.yes === true;
  if (!json) {
    if (!mayWrite && changes.length > 0) out.print(`${showDiffs(out, changes)}\n`);
    showPlan(context, facts, { changes, unapproved, claims, isUndo });
  }
  const answer = isNeeded && (mayWrite || (!json && (await askToWrite())));
  const isWanted = answer === true;
  if (isWanted) {
    await writeChanges(orch, changes);
    if (unapproved.length > 0) await approve(orch.disk, orch.home, unapproved, orch.random);
    if (claims.length > 0) await orch.approveClaims(claims);
  }
  if (json) out.print(JSON.stringify(describe(facts, changes, isWanted)));
  if (isNeeded && !mayWrite && (json || !canAsk())) throw needsYes(isUndo);
  if (!json) tellEnd(context, facts, { changes, isNeeded, isWanted, isUndo, isShared: wishes.shared });
  if (typeof answer === 'string') return statusOfSignal(answer);
  return isWanted || !isNeeded ? 0 : 1;
}

function readWishes({ options }: Call) {
  const command = thisCommand();
  const read = (...path: string[]) => {
    const file = join(dirname(dirname(command.at(-1) ?? '')), 'templates', ...path);
    const text = readIfThere(file)?.toString('utf8');
    if (text === undefined) throw new Error(`${file} is missing`);
    return text;
  };
  const template = read('config.yaml');
  return {
    command,
    variables: ['ORCH_SESSION', 'ORCH_EPIC'],
    shared: options.shared === true,
    claude: options['no-claude'] !== true,
    codex: options['no-codex'] !== true,
    config: options.config === true ? template : null,
    skill: options['no-tools'] === true ? null : read('plugin', 'skills', 'orch', 'SKILL.md'),
    rules: options.rules === true ? read('rules', 'orchestration-patterns.md') : null,
    template,
  };
}

type Plan = {
  readonly changes: readonly FileChange[];
  readonly unapproved: readonly Gate[];
  readonly claims: readonly Claim[];
  readonly isUndo: boolean;
};

function showPlan({ out }: Context, facts: InitFacts, { changes, unapproved, claims, isUndo }: Plan): void {
  if (!isUndo) out.print(showFound(out, facts.found));
  if (changes.length > 0) out.print(showSummary(out, changes));
  if (unapproved.length > 0) out.print(showApproval(out, unapproved));
  for (const claim of claims) out.print(`${out.paint('dim', 'approve')}  ${showClaim(claim)}`);
  const isTrackedChanged = changes.some(({ name }) => facts.tracked.includes(name));
  if (changes.length > 0 && !isTrackedChanged)
    out.print(`${out.paint('dim', 'nothing')}  in tracked files, .git/config or your branches`);
}

/** The answer, or the signal that came instead of one. */
async function askToWrite(): Promise<boolean | NodeJS.Signals> {
  if (!canAsk()) return false;
  const signals = catchSignals();
  const isYes = await askYesNo('Write?', signals.aborted, { enterIs: 'yes' }).finally(signals.release);
  return signals.caught()?.signal ?? isYes;
}

function needsYes(isUndo: boolean): OrchError {
  return new OrchError('USAGE', 'nothing was changed: not a terminal, so orch cannot ask', {
    hint: `If that is what you want: orch init ${isUndo ? '--undo ' : ''}-y`,
  });
}

type End = {
  readonly changes: readonly FileChange[];
  readonly isNeeded: boolean;
  readonly isWanted: boolean;
  readonly isUndo: boolean;
  readonly isShared: boolean;
};

function tellEnd({ out }: Context, facts: InitFacts, end: End): void {
  const { found } = facts;
  if (!end.isNeeded) out.tell(end.isUndo ? 'Nothing to do: nothing of orch is there.' : 'Nothing to do.');
  else if (!end.isWanted) out.tell('Nothing was changed.');
  else if (end.isUndo) out.tell('Done. What was recorded stays: orch status.');
  else {
    const agent = found.claude ? 'claude' : found.codex ? 'codex' : null;
    const work = agent ? `Work as always: ${agent}.  ` : '';
    out.tell(`Done. ${work}See it: orch status.  Take it out: orch init --undo.`);
  }
  if (end.isWanted && !end.isUndo) tellCodex(out, facts, end.changes);
  if (end.isShared && !end.isUndo && !facts.isOrchOnPath)
    out.tell('orch is not on your PATH: shared hooks do nothing until it is.');
  if (end.isUndo && !end.isShared && readOwnEntries(facts.shared.text).hooks > 0)
    out.tell(`${facts.shared.name} still has hooks, for all who work here: orch init --undo --shared`);
}

/** What is left to do for the user of Codex: it runs nothing of a folder that they do not trust. */
function tellCodex(out: Output, facts: InitFacts, changes: readonly FileChange[]): void {
  const { codexHooks, codexUserHooks, tools, tracked } = facts;
  const isChanged = (target: { path: string }) => changes.some(({ path }) => path === target.path);
  if (isChanged(codexHooks))
    out.tell('Codex runs the hooks only after you trust them: start codex here, type /hooks.');
  if (isChanged(codexUserHooks))
    out.tell(
      'Codex was hooked in everywhere; now it is only here. Run orch init in your other repositories.',
    );
  if (isChanged(tools.codexConfig)) out.tell('Codex starts the MCP server in folders you trust.');
  if (!facts.found.codex) return;
  if (tracked.includes(codexHooks.name))
    out.tell(`${codexHooks.name} is in commits, and stays as it is: Codex is not recorded by hooks here.`);
  if (tracked.includes(tools.codexConfig.name))
    out.tell(
      `${tools.codexConfig.name} is in commits, and stays as it is. For yourself: codex mcp add orch -- orch mcp`,
    );
}

function describe({ found }: InitFacts, changes: readonly FileChange[], written: boolean) {
  const gates = found.gates.map(({ name, run }) => ({ name, run }));
  return {
    found: { ...found, gates },
    changes: changes.map(({ path, before, after }) => ({ path, diff: describeChange(before, after) })),
    written,
  };
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [initSpec]);
}
