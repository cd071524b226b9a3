import { isOwnFile as isOwnHooks } from '../agents/codex/codex-hooks.ts';
import type { OrchCommand } from '../agents/orch-command.ts';
import {
  addServer,
  hasServer,
  isOwnPlugin,
  isOwnText,
  markText,
  removeServer,
  type ServerStart,
  writeClaudePlugin,
} from '../agents/settings/plugin-and-tools.ts';
import { OrchError } from '../errors.ts';
import {
  claudeSkill,
  codexConfig,
  codexHooks,
  codexSkill,
  type InitFacts,
  type MoreSkill,
  moreSkills,
  type Target,
} from './init-facts.ts';
import { type FileChange, planChange } from './write-changes.ts';

/* The MCP server and the skill, in orch's own files where the agents allow that. */

const claudeFolder = '/.claude/skills/orch/';
const codexFolder = '/.agents/skills/orch/';
const codexFile = `/${codexConfig}`;
const codexHooksFile = `/${codexHooks}`;

/** What the agents are taught: how to work with orch, and more for some kinds of work. */
export type Skills = { readonly [S in 'orch' | MoreSkill]: string };

/** Plans a plugin in the repository's skills, which Claude Code loads if the user trusts the folder. */
export function planClaudeTools(facts: InitFacts, command: OrchCommand, skills: Skills): FileChange[] {
  const { claudeSkill, claudeSkills, claudePlugin } = facts.tools;
  const plugin = writeClaudePlugin(command);
  // A plugin of this name that orch did not write is left alone.
  if (!isFree(facts, claudePlugin, isOwnPlugin)) return [];
  return [
    ...planText(facts, claudeSkill, skills.orch, 'skill'),
    ...moreSkills.flatMap((name) => planText(facts, claudeSkills[name], skills[name], 'skill')),
    planChange(claudePlugin, plugin, 'MCP server'),
  ];
}

export function planCodexTools(facts: InitFacts, start: ServerStart, skills: Skills): FileChange[] {
  const { codexSkill, codexSkills, codexConfig: config } = facts.tools;
  return [
    ...planText(facts, codexSkill, skills.orch, 'skill'),
    ...moreSkills.flatMap((name) => planText(facts, codexSkills[name], skills[name], 'skill')),
    // Committed files belong to the team.
    ...(facts.tracked.includes(config.name)
      ? []
      : [planChange(config, withServer(config, start), 'MCP server')]),
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
  return planText(facts, facts.tools.rules, rules, 'rules for agents');
}

function planText(facts: InitFacts, target: Target, text: string, meaning: string): FileChange[] {
  return isFree(facts, target, isOwnText) ? [planChange(target, markText(text), meaning)] : [];
}

/** May orch write this file? Only if it does not exist, or is orch's own, unedited and not committed. */
function isFree({ tracked }: InitFacts, { name, text }: Target, isOwn: (text: string) => boolean): boolean {
  return !tracked.includes(name) && (text === null || isOwn(text));
}

/** Lists the patterns to exclude from git: the files that contain only orch's entries after these changes. */
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

/** Lists every pattern that orch may have added. */
export function listPatterns({
  claude,
  codex,
}: {
  readonly claude: boolean;
  readonly codex: boolean;
}): string[] {
  return [...(claude ? [claudeFolder] : []), ...(codex ? [codexFolder, codexFile, codexHooksFile] : [])];
}

/** Plans the removal of exactly these. */
export function undoTools(
  facts: InitFacts,
  choices: { readonly claude: boolean; readonly codex: boolean },
): FileChange[] {
  const { claudeSkill, claudeSkills, claudePlugin, codexSkill, codexSkills, codexConfig, rules } =
    facts.tools;
  const remove = (target: Target, isOwn: (text: string) => boolean, meaning: string) =>
    target.text !== null && isFree(facts, target, isOwn) ? [planChange(target, null, meaning)] : [];
  const { text } = codexConfig;
  return [
    ...(choices.claude ? remove(claudeSkill, isOwnText, 'skill') : []),
    ...(choices.claude ? moreSkills.flatMap((name) => remove(claudeSkills[name], isOwnText, 'skill')) : []),
    ...(choices.claude ? remove(claudePlugin, isOwnPlugin, 'MCP server') : []),
    ...(choices.claude ? remove(rules, isOwnText, 'removed, because it was unedited') : []),
    ...(choices.codex ? remove(codexSkill, isOwnText, 'skill') : []),
    ...(choices.codex ? moreSkills.flatMap((name) => remove(codexSkills[name], isOwnText, 'skill')) : []),
    ...(choices.codex && text !== null && hasServer(text)
      ? [planChange(codexConfig, removeServer(text), 'MCP server')]
      : []),
  ];
}

/** Changing it would orphan the lines that earlier versions wrote. */
const reason = '# by orch init (orch init --undo takes it out)';

/** Adds a pattern to `.git/info/exclude`, at the top and below a comment, so the rest stays as it is. */
export function addExclude(text: string | null, pattern: string): string {
  const before = text ?? '';
  return findOwn(before, pattern) === null ? `${reason}\n${pattern}\n${before}` : before;
}

/** Removes exactly these lines; null if nothing is left. A pattern the user wrote stays. */
export function removeExclude(text: string, pattern: string): string | null {
  const own = findOwn(text, pattern);
  if (own === null) return text;
  return text.slice(0, own.start) + text.slice(own.end) || null;
}

function findOwn(text: string, pattern: string): { readonly start: number; readonly end: number } | null {
  const lines = `${reason}\n${pattern}\n`;
  const start = `\n${text}`.indexOf(`\n${lines}`);
  return start === -1 ? null : { start, end: start + lines.length };
}
