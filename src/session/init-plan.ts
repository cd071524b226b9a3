import { OrchError } from '../errors.ts';
import type { Problem } from '../integration/agent-hooks.ts';
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
import { configFile, type InitFacts, localSettings, type Target } from './init-facts.ts';

/** What the user wants of `orch init`. */
export type InitWishes = {
  /** How orch is started. */
  readonly command: OrchCommand;
  readonly shared: boolean;
  readonly claude: boolean;
  readonly codex: boolean;
  /** The text of a new config; null where none is wanted. */
  readonly config: string | null;
};

/** A file that becomes another: null before it is made, null after it is removed. */
export type FileChange = Pick<Target, 'path' | 'name' | 'ownsFolder'> & {
  readonly before: string | null;
  readonly after: string | null;
  /** What that means, in a few words. */
  readonly meaning: string;
};

const excluded = `/${localSettings}`;

/** Decides which files change for orch to be called by the agents that were found; throws where one must not. */
export function planInit(facts: InitFacts, wishes: InitWishes): FileChange[] {
  const { found } = facts;
  return [
    ...(found.claude && wishes.claude ? planClaude(facts, wishes, found.claude.version) : []),
    ...(found.codex && wishes.codex ? planCodex(facts, wishes) : []),
    ...(wishes.config !== null && facts.config.text === null
      ? [change(facts.config, wishes.config, 'every setting with its default')]
      : []),
  ];
}

/** Decides how exactly that is taken back; what a team shares only where that is said. */
export function planUndo(facts: InitFacts, wishes: InitWishes & { readonly template: string }): FileChange[] {
  const { local, shared, codexHooks, exclude, config } = facts;
  const undone: (FileChange | null)[] = [
    wishes.claude ? undoIn(local, removeFromClaude, describeClaude) : null,
    wishes.claude && wishes.shared ? undoIn(shared, removeFromClaude, describeClaude) : null,
    wishes.codex ? undoIn(codexHooks, removeFromCodex, describeCodex) : null,
    wishes.claude && exclude.text !== null && !facts.isExcludeShared
      ? change(exclude, removeExclude(exclude.text, excluded), 'its line')
      : null,
    // One that nobody touched says nothing that is not so without it.
    config.text === wishes.template && !facts.tracked.includes(configFile)
      ? change(config, null, 'removed; nothing was set in it')
      : null,
  ];
  return undone.filter((one) => one !== null).filter(({ before, after }) => before !== after);
}

function planClaude(facts: InitFacts, wishes: InitWishes, version: string | null): FileChange[] {
  const { local, shared, inheritedStatusLine } = facts;
  const { command } = wishes;
  const sharedHooks = readOwnEntries(shared.text).hooks > 0;
  const isHookedElsewhere = wishes.shared || (sharedHooks && facts.isOrchOnPath);
  const changes: FileChange[] = [];
  if (wishes.shared) {
    const text = accept(shared, addToClaude(shared.text, { command, shared: true, version }));
    changes.push(change(shared, text, describeClaude(shared.text, text)));
  }
  // With --shared the user's own file is only relieved of hooks that would be there twice.
  if (!wishes.shared || readOwnEntries(local.text).hooks > 0) {
    const options = { command, shared: false, version, isHookedElsewhere, inheritedStatusLine };
    const text = accept(local, addToClaude(local.text, options));
    if (text !== local.text && facts.tracked.includes(localSettings)) throw isTracked();
    changes.push(change(local, text, describeClaude(local.text, text)));
    if (!facts.isLocalIgnored)
      changes.push(change(facts.exclude, addExclude(facts.exclude.text, excluded), 'keeps it out of git'));
  }
  return changes.filter(({ before, after }) => before !== after);
}

function planCodex({ codexHooks }: InitFacts, { command }: InitWishes): FileChange[] {
  const text = accept(codexHooks, addToCodex(codexHooks.text, { command, shared: false }));
  if (text === codexHooks.text) return [];
  return [change(codexHooks, text, describeCodex(codexHooks.text, text))];
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
    hint: 'orch changes only plain JSON without comments. Mend the file, or leave the agent out: --no-claude, --no-codex',
    data: { path: target.path, problem: result.problem },
  });
}

function change(target: Target, after: string | null, meaning: string): FileChange {
  const { path, name, ownsFolder, text, obstacle } = target;
  if (obstacle !== null && after !== text)
    throw new OrchError('CONFIG_INVALID', `${name} cannot be changed: ${obstacle}; nothing was changed`, {
      hint: 'Make it a file that you can write, or leave the agent out: --no-claude, --no-codex',
      data: { path, problem: obstacle },
    });
  return { path, name, ownsFolder, before: text, after, meaning };
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
  const chained = fresh.isChained && !old.isChained ? ' (yours keeps running)' : '';
  return (
    [hooks, statusLine && statusLine + chained].filter((part) => part !== null).join(', ') ||
    'brought up to date'
  );
}

function describeCodex(before: string | null, after: string | null): string {
  const hooks = describeCount(countOwnHooks(before), countOwnHooks(after)) ?? 'brought up to date';
  return `${hooks} (in every repository)`;
}

function describeCount(old: number, fresh: number): string | null {
  const more = fresh - old;
  if (more === 0) return null;
  const amount = Math.abs(more);
  return `${more > 0 ? '+' : '−'}${amount} ${amount === 1 ? 'hook' : 'hooks'}`;
}
