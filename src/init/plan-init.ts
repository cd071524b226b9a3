import {
  addOrch as addToClaude,
  readOwnEntries,
  removeOrch as removeFromClaude,
} from '../agents/claude/claude-settings.ts';
import {
  addOrch as addToCodex,
  countOwnHooks,
  removeOrch as removeFromCodex,
} from '../agents/codex/codex-hooks.ts';
import type { OrchCommand } from '../agents/orch-command.ts';
import type { Problem } from '../agents/settings/json-text.ts';
import { allowsTools, allowTools, disallowTools } from '../agents/settings/plugin-and-tools.ts';
import { configFile } from '../config/load.ts';
import { OrchError } from '../errors.ts';
import { type InitFacts, localSettings, type Target } from './init-facts.ts';
import {
  addExclude,
  listExcluded,
  listPatterns,
  planClaudeTools,
  planCodexTools,
  planRules,
  removeExclude,
  type Skills,
  undoTools,
} from './plan-tools.ts';
import { type FileChange, planChange } from './write-changes.ts';

/** What the user chose, with the texts to write. */
type InitChoices = {
  readonly command: OrchCommand;
  readonly variables: readonly string[];
  readonly shared: boolean;
  readonly claude: boolean;
  readonly codex: boolean;
  /** The text of a new config; null for none. */
  readonly config: string | null;
  /** The skills for agents; null for none. */
  readonly skills: Skills | null;
  /** The rules for agents; null for none. */
  readonly rules: string | null;
};

const excluded = `/${localSettings}`;

/** Decides which files to change so that the agents found here call orch; throws if one must not be changed. */
export function planInit(facts: InitFacts, choices: InitChoices): FileChange[] {
  const { found } = facts;
  const changes = [
    ...(found.claude && choices.claude ? planClaude(facts, choices, found.claude.version) : []),
    ...(found.codex && choices.codex ? planCodex(facts, choices) : []),
  ];
  return [
    ...changes,
    ...planExclude(facts, changes),
    ...(choices.rules === null ? [] : planRules(facts, choices.rules)),
    ...(choices.config !== null && facts.config.text === null
      ? [planChange(facts.config, choices.config, 'every setting with its default')]
      : []),
  ].filter(({ before, after }) => before !== after);
}

/** Excludes from git the files that are this user's own and not ignored yet. */
function planExclude({ exclude, ignored }: InitFacts, changes: readonly FileChange[]): FileChange[] {
  const isLocalOwn = changes.some(({ name, after }) => name === localSettings && after !== null);
  const own = [
    ...(isLocalOwn ? [{ path: localSettings, pattern: excluded }] : []),
    ...listExcluded(changes),
  ].filter(({ path }) => !ignored.includes(path));
  const text = own.reduceRight((before, { pattern }) => addExclude(before, pattern), exclude.text ?? '');
  return own.length === 0
    ? []
    : [planChange(exclude, text, `keeps ${own.length === 1 ? 'it' : 'them'} out of git`)];
}

/** Decides how to remove exactly that; shared settings only if the user chose `shared`. */
export function planUndo(
  facts: InitFacts,
  choices: InitChoices & { readonly template: string },
): FileChange[] {
  const { local, shared, exclude, config } = facts;
  const undone: (FileChange | null)[] = [
    choices.claude ? undoIn(local, removeAllFromClaude, describeClaude) : null,
    choices.claude && choices.shared ? undoIn(shared, removeFromClaude, describeClaude) : null,
    ...(choices.codex ? undoCodex(facts) : []),
    ...undoTools(facts, choices),
    exclude.text !== null && !facts.isExcludeShared ? undoExclude(exclude, exclude.text, choices) : null,
    // An unedited config only contains the defaults.
    config.text === choices.template && !facts.tracked.includes(configFile)
      ? planChange(config, null, 'removed, because it only had defaults')
      : null,
  ];
  return undone.filter((one) => one !== null).filter(({ before, after }) => before !== after);
}

function undoExclude(target: Target, text: string, { claude, codex }: InitChoices): FileChange {
  const patterns = [...(claude ? [excluded] : []), ...listPatterns({ claude, codex })];
  const after = patterns.reduce<string | null>(
    (left, pattern) => (left === null ? null : removeExclude(left, pattern)),
    text,
  );
  return planChange(target, after, 'its lines');
}

function planClaude(facts: InitFacts, choices: InitChoices, version: string | null): FileChange[] {
  const { local, shared, inheritedStatusLine } = facts;
  const { command } = choices;
  const sharedHooks = readOwnEntries(shared.text).hooks > 0;
  const isHookedElsewhere = choices.shared || facts.hasClaudePlugin || (sharedHooks && facts.isOrchOnPath);
  const skills = choices.shared || facts.hasClaudePlugin ? null : choices.skills;
  const changes: FileChange[] = [];
  if (choices.shared) {
    const text = accept(shared, addToClaude(shared.text, { command, shared: true, version }));
    changes.push(planChange(shared, text, describeClaude(shared.text, text)));
  }
  // With --shared the user's own file is only relieved of hooks that would be there twice.
  if (!choices.shared || readOwnEntries(local.text).hooks > 0) {
    const options = { command, shared: false, version, isHookedElsewhere, inheritedStatusLine };
    const hooked = accept(local, addToClaude(local.text, options));
    const text = skills !== null ? accept(local, allowTools(hooked)) : hooked;
    if (text !== local.text && facts.tracked.includes(localSettings)) throw isTracked();
    changes.push(planChange(local, text, describeClaude(local.text, text)));
  }
  if (skills !== null) changes.push(...planClaudeTools(facts, command, skills));
  return changes;
}

function planCodex(facts: InitFacts, { command, variables, skills }: InitChoices): FileChange[] {
  const { codexHooks, codexUserHooks } = facts;
  if (facts.hasCodexPlugin) return [];
  const tools = skills === null ? [] : planCodexTools(facts, { command, variables }, skills);
  // Committed files belong to the team.
  if (facts.tracked.includes(codexHooks.name)) return tools;
  const text = accept(codexHooks, addToCodex(codexHooks.text, { command, shared: false }));
  const everywhere = undoEverywhere(codexUserHooks);
  return [
    planChange(codexHooks, text, describeCodex(codexHooks.text, text)),
    ...(everywhere ? [everywhere] : []),
    ...tools,
  ];
}

/** Hooks that an earlier orch wrote for every repository are only removed if this repository has none of its own. */
function undoCodex({ codexHooks, codexUserHooks, tracked }: InitFacts): (FileChange | null)[] {
  if (countOwnHooks(codexHooks.text) === 0) return [undoEverywhere(codexUserHooks)];
  return tracked.includes(codexHooks.name) ? [] : [undoIn(codexHooks, removeFromCodex, describeCodex)];
}

/** A user-wide file without orch's hooks is left alone, even if it is broken. */
function undoEverywhere(target: Target): FileChange | null {
  return countOwnHooks(target.text) === 0 ? null : undoIn(target, removeFromCodex, describeEverywhere);
}

function removeAllFromClaude(text: string): Removed {
  const kept = disallowTools(text);
  return kept === null ? { text: null } : removeFromClaude(kept);
}

type Removed = { readonly text: string | null } | Problem;

function undoIn(
  target: Target,
  remove: (text: string) => Removed,
  describe: (before: string | null, after: string | null) => string,
): FileChange | null {
  if (target.text === null) return null;
  const after = accept(target, remove(target.text));
  return after === target.text ? null : planChange(target, after, describe(target.text, after));
}

/** If one file can't be parsed, nothing at all is changed. */
function accept<T extends string | null>(target: Target, result: { readonly text: T } | Problem): T {
  if (!('problem' in result)) return result.text;
  throw new OrchError('CONFIG_INVALID', `${target.name}: ${result.problem}; nothing was changed`, {
    hint: 'Fix the file, or leave the agent out: --no-claude, --no-codex',
    data: { path: target.path, problem: result.problem },
  });
}

function isTracked(): OrchError {
  return new OrchError(
    'CONFIG_INVALID',
    `${localSettings} is committed to this repository; nothing was changed`,
    {
      hint: `It should be yours alone: git rm --cached ${localSettings}. To set up the whole team: orch init --shared`,
    },
  );
}

function describeClaude(before: string | null, after: string | null): string {
  const [old, fresh] = [readOwnEntries(before), readOwnEntries(after)];
  const hooks = describeCount(old.hooks, fresh.hooks);
  const statusLine =
    old.hasStatusLine === fresh.hasStatusLine ? null : fresh.hasStatusLine ? '+status line' : '−status line';
  const tools =
    allowsTools(before) === allowsTools(after)
      ? null
      : allowsTools(after)
        ? '+tools allowed'
        : '−tools allowed';
  const chained = fresh.isChained && !old.isChained ? ' (yours keeps running)' : '';
  return (
    [hooks, statusLine && statusLine + chained, tools].filter((part) => part !== null).join(', ') || 'updated'
  );
}

function describeCodex(before: string | null, after: string | null): string {
  return describeCount(countOwnHooks(before), countOwnHooks(after)) ?? 'updated';
}

function describeEverywhere(before: string | null, after: string | null): string {
  return `${describeCodex(before, after)} (in every repository)`;
}

function describeCount(old: number, fresh: number): string | null {
  const more = fresh - old;
  if (more === 0) return null;
  const amount = Math.abs(more);
  return `${more > 0 ? '+' : '−'}${amount} ${amount === 1 ? 'hook' : 'hooks'}`;
}
