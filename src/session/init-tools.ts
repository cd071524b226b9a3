import { OrchError } from '../errors.ts';
import {
  addServer,
  hasServer,
  isOwnPlugin,
  isOwnText,
  markText,
  removeServer,
  type ServerStart,
  writeClaudePlugin,
} from '../integration/agent-tools.ts';
import { isOwnFile as isOwnHooks } from '../integration/codex-hooks.ts';
import type { OrchCommand } from '../integration/orch-command.ts';
import { change, type FileChange } from './init-change.ts';
import {
  claudeSkill,
  codexConfig,
  codexHooks,
  codexSkill,
  type InitFacts,
  type Target,
} from './init-facts.ts';

/* The MCP server and the skill, in files that are orch's own as far as the agents allow it. */

const claudeFolder = '/.claude/skills/orch/';
const codexFolder = '/.agents/skills/orch/';
const codexFile = `/${codexConfig}`;
const codexHooksFile = `/${codexHooks}`;

/** A plugin in the repository's skills: Claude Code loads it wherever the user trusts the folder. */
export function planClaudeTools(facts: InitFacts, command: OrchCommand, skill: string): FileChange[] {
  const { claudeSkill, claudePlugin } = facts.tools;
  const plugin = writeClaudePlugin(command);
  // A folder of this name that somebody else made is theirs.
  if (!isFree(facts, claudePlugin, isOwnPlugin)) return [];
  return [...planText(facts, claudeSkill, skill, 'skill'), change(claudePlugin, plugin, 'MCP server')];
}

export function planCodexTools(facts: InitFacts, start: ServerStart, skill: string): FileChange[] {
  const { codexSkill, codexConfig: config } = facts.tools;
  return [
    ...planText(facts, codexSkill, skill, 'skill'),
    // What the team has committed is changed by the team.
    ...(facts.tracked.includes(config.name) ? [] : [change(config, withServer(config, start), 'MCP server')]),
  ];
}

function withServer(target: Target, start: ServerStart): string {
  const added = addServer(target.text, start);
  if (!('problem' in added)) return added.text;
  throw new OrchError('CONFIG_INVALID', `${target.name}: ${added.problem}; nothing was changed`, {
    hint: 'Fix the file, or leave the tools out: --no-tools',
    data: { path: target.path, problem: added.problem },
  });
}

export function planRules(facts: InitFacts, rules: string): FileChange[] {
  return planText(facts, facts.tools.rules, rules, 'how agents work here');
}

function planText(facts: InitFacts, target: Target, text: string, meaning: string): FileChange[] {
  return isFree(facts, target, isOwnText) ? [change(target, markText(text), meaning)] : [];
}

/** May orch write this file? It is not there, or orch wrote it and nobody changed or committed it since. */
function isFree({ tracked }: InitFacts, { name, text }: Target, isOwn: (text: string) => boolean): boolean {
  return !tracked.includes(name) && (text === null || isOwn(text));
}

/** The patterns that keep files out of git which are orch's alone, once these changes are made. */
export function listExcluded(
  changes: readonly FileChange[],
): { readonly path: string; readonly pattern: string }[] {
  const isOwn = (path: string, check: (text: string) => boolean) =>
    changes.some(({ name, after }) => name === path && after !== null && check(after));
  return [
    { path: claudeSkill, pattern: claudeFolder, isOwn: isOwn(claudeSkill, isOwnText) },
    { path: codexSkill, pattern: codexFolder, isOwn: isOwn(codexSkill, isOwnText) },
    {
      path: codexConfig,
      pattern: codexFile,
      isOwn: isOwn(codexConfig, (text) => removeServer(text) === null),
    },
    { path: codexHooks, pattern: codexHooksFile, isOwn: isOwn(codexHooks, isOwnHooks) },
  ].filter((one) => one.isOwn);
}

/** All the patterns there can be. */
export function listPatterns({
  claude,
  codex,
}: {
  readonly claude: boolean;
  readonly codex: boolean;
}): string[] {
  return [...(claude ? [claudeFolder] : []), ...(codex ? [codexFolder, codexFile, codexHooksFile] : [])];
}

/** Takes exactly that out again. */
export function undoTools(
  facts: InitFacts,
  wishes: { readonly claude: boolean; readonly codex: boolean },
): FileChange[] {
  const { claudeSkill, claudePlugin, codexSkill, codexConfig, rules } = facts.tools;
  const remove = (target: Target, isOwn: (text: string) => boolean, meaning: string) =>
    target.text !== null && isFree(facts, target, isOwn) ? [change(target, null, meaning)] : [];
  const { text } = codexConfig;
  return [
    ...(wishes.claude ? remove(claudeSkill, isOwnText, 'skill') : []),
    ...(wishes.claude ? remove(claudePlugin, isOwnPlugin, 'MCP server') : []),
    ...(wishes.claude ? remove(rules, isOwnText, 'removed; nothing was changed in it') : []),
    ...(wishes.codex ? remove(codexSkill, isOwnText, 'skill') : []),
    ...(wishes.codex && text !== null && hasServer(text)
      ? [change(codexConfig, removeServer(text), 'MCP server')]
      : []),
  ];
}
