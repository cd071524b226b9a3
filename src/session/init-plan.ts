import { OrchError } from '../errors.ts';
import type { Problem } from '../integration/agent-hooks.ts';
import { allowsTools, allowTools, disallowTools } from '../integration/agent-tools.ts';
import {
  addOrch as addToClaude,
  readOwnEntries,
  removeOrch as removeFromClaude,
} from '../integration/claude-settings.ts';
import {
  addOrch as addToCodex,
  countOwnHooks,
  removeOrch as removeFromCodex,
} from '../integration/codex-hooks.ts';
import { addExclude, removeExclude } from '../integration/exclude-line.ts';
import type { OrchCommand } from '../integration/orch-command.ts';
import { change, type FileChange } from './init-change.ts';
import { configFile, type InitFacts, localSettings, type Target } from './init-facts.ts';
import {
  listExcluded,
  listPatterns,
  planClaudeTools,
  planCodexTools,
  planRules,
  undoTools,
} from './init-tools.ts';

/** What the user wants of `orch init`. */
export type InitWishes = {
  /** How orch is started. */
  readonly command: OrchCommand;
  /** The variables by which a session's commands know it. */
  readonly variables: readonly string[];
  readonly shared: boolean;
  readonly claude: boolean;
  readonly codex: boolean;
  /** The text of a new config; null where none is wanted. */
  readonly config: string | null;
  /** What teaches agents to use orch's tools; null where they are not wanted. */
  readonly skill: string | null;
  /** The rules for agents; null where they are not wanted. */
  readonly rules: string | null;
};

const excluded = `/${localSettings}`;

/** Decides which files change for orch to be called by the agents that were found; throws where one must not. */
export function planInit(facts: InitFacts, wishes: InitWishes): FileChange[] {
  const { found } = facts;
  const changes = [
    ...(found.claude && wishes.claude ? planClaude(facts, wishes, found.claude.version) : []),
    ...(found.codex && wishes.codex ? planCodex(facts, wishes) : []),
  ];
  return [
    ...changes,
    ...planExclude(facts, changes),
    ...(wishes.rules === null ? [] : planRules(facts, wishes.rules)),
    ...(wishes.config !== null && facts.config.text === null
      ? [change(facts.config, wishes.config, 'every setting with its default')]
      : []),
  ].filter(({ before, after }) => before !== after);
}

/** Keeps out of git what is this user's alone, and would be seen by it otherwise. */
function planExclude({ exclude, ignored }: InitFacts, changes: readonly FileChange[]): FileChange[] {
  const isLocalOwn = changes.some(({ name, after }) => name === localSettings && after !== null);
  const own = [
    ...(isLocalOwn ? [{ path: localSettings, pattern: excluded }] : []),
    ...listExcluded(changes),
  ].filter(({ path }) => !ignored.includes(path));
  const text = own.reduceRight((before, { pattern }) => addExclude(before, pattern), exclude.text ?? '');
  return own.length === 0
    ? []
    : [change(exclude, text, `keeps ${own.length === 1 ? 'it' : 'them'} out of git`)];
}

/** Decides how exactly that is taken back; what a team shares only where that is said. */
export function planUndo(facts: InitFacts, wishes: InitWishes & { readonly template: string }): FileChange[] {
  const { local, shared, exclude, config } = facts;
  const undone: (FileChange | null)[] = [
    wishes.claude ? undoIn(local, removeAllFromClaude, describeClaude) : null,
    wishes.claude && wishes.shared ? undoIn(shared, removeFromClaude, describeClaude) : null,
    ...(wishes.codex ? undoCodex(facts) : []),
    ...undoTools(facts, wishes),
    exclude.text !== null && !facts.isExcludeShared ? undoExclude(exclude, exclude.text, wishes) : null,
    // One that nobody touched says nothing that is not so without it.
    config.text === wishes.template && !facts.tracked.includes(configFile)
      ? change(config, null, 'removed; nothing was set in it')
      : null,
  ];
  return undone.filter((one) => one !== null).filter(({ before, after }) => before !== after);
}

function undoExclude(target: Target, text: string, { claude, codex }: InitWishes): FileChange {
  const patterns = [...(claude ? [excluded] : []), ...listPatterns({ claude, codex })];
  const after = patterns.reduce<string | null>(
    (left, pattern) => (left === null ? null : removeExclude(left, pattern)),
    text,
  );
  return change(target, after, 'its lines');
}

function planClaude(facts: InitFacts, wishes: InitWishes, version: string | null): FileChange[] {
  const { local, shared, inheritedStatusLine } = facts;
  const { command } = wishes;
  const sharedHooks = readOwnEntries(shared.text).hooks > 0;
  const isHookedElsewhere = wishes.shared || facts.hasClaudePlugin || (sharedHooks && facts.isOrchOnPath);
  const wantsTools = wishes.skill !== null && !wishes.shared && !facts.hasClaudePlugin;
  const changes: FileChange[] = [];
  if (wishes.shared) {
    const text = accept(shared, addToClaude(shared.text, { command, shared: true, version }));
    changes.push(change(shared, text, describeClaude(shared.text, text)));
  }
  // With --shared the user's own file is only relieved of hooks that would be there twice.
  if (!wishes.shared || readOwnEntries(local.text).hooks > 0) {
    const options = { command, shared: false, version, isHookedElsewhere, inheritedStatusLine };
    const hooked = accept(local, addToClaude(local.text, options));
    const text = wantsTools ? accept(local, allowTools(hooked)) : hooked;
    if (text !== local.text && facts.tracked.includes(localSettings)) throw isTracked();
    changes.push(change(local, text, describeClaude(local.text, text)));
  }
  if (wantsTools) changes.push(...planClaudeTools(facts, command, wishes.skill));
  return changes;
}

function planCodex(facts: InitFacts, { command, variables, skill }: InitWishes): FileChange[] {
  const { codexHooks, codexUserHooks } = facts;
  if (facts.hasCodexPlugin) return [];
  const tools = skill === null ? [] : planCodexTools(facts, { command, variables }, skill);
  // What the team has committed is changed by the team.
  if (facts.tracked.includes(codexHooks.name)) return tools;
  const text = accept(codexHooks, addToCodex(codexHooks.text, { command, shared: false }));
  const everywhere = undoEverywhere(codexUserHooks);
  return [
    change(codexHooks, text, describeCodex(codexHooks.text, text)),
    ...(everywhere ? [everywhere] : []),
    ...tools,
  ];
}

/** What an earlier orch wrote for every repository goes only where nothing else hooks Codex in here. */
function undoCodex({ codexHooks, codexUserHooks, tracked }: InitFacts): (FileChange | null)[] {
  if (countOwnHooks(codexHooks.text) === 0) return [undoEverywhere(codexUserHooks)];
  return tracked.includes(codexHooks.name) ? [] : [undoIn(codexHooks, removeFromCodex, describeCodex)];
}

/** The user's own file is none of orch's business where orch is not in it, even if it is broken. */
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
  return after === target.text ? null : change(target, after, describe(target.text, after));
}

/** Nothing is changed at all where one file cannot be read as what it should be. */
function accept<T extends string | null>(target: Target, result: { readonly text: T } | Problem): T {
  if (!('problem' in result)) return result.text;
  throw new OrchError('CONFIG_INVALID', `${target.name}: ${result.problem}; nothing was changed`, {
    hint: 'orch changes only plain JSON without comments. Fix the file, or leave the agent out: --no-claude, --no-codex',
    data: { path: target.path, problem: result.problem },
  });
}

function isTracked(): OrchError {
  return new OrchError(
    'CONFIG_INVALID',
    `${localSettings} is in this repository's commits; nothing was changed`,
    {
      hint: `It is meant to be yours alone: git rm --cached ${localSettings}. What the team shares: orch init --shared`,
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
    [hooks, statusLine && statusLine + chained, tools].filter((part) => part !== null).join(', ') ||
    'brought up to date'
  );
}

function describeCodex(before: string | null, after: string | null): string {
  return describeCount(countOwnHooks(before), countOwnHooks(after)) ?? 'brought up to date';
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
