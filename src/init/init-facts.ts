import { isUtf8 } from 'node:buffer';
import { lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { readForeignStatusLine, readOwnEntries } from '../agents/claude/claude-settings.ts';
import { countOwnHooks } from '../agents/codex/codex-hooks.ts';
import { type FoundAgents, findAgents } from '../agents/find-agents.ts';
import { hasPlugin, isOwnText } from '../agents/settings/plugin-and-tools.ts';
import { configFile } from '../config/load.ts';
import { OrchError } from '../errors.ts';
import { findEcosystems } from '../gates/find-gates.ts';
import type { Gate } from '../gates/gate.ts';
import type { Repository } from '../git/repository.ts';
import { listIgnored, listRemotes, listTracked, listWorktrees } from '../git/repository-facts.ts';
import { orchestrationFile } from '../orchestration-file/orchestration-file.ts';
import { listFolder, readIfThere, realPath, statIfThere } from '../system/disk.ts';
import { isInstalled } from '../system/process/spawn.ts';

export const localSettings = '.claude/settings.local.json';
export const sharedSettings = '.claude/settings.json';
export const claudeSkill = '.claude/skills/orch/SKILL.md';
const claudePlugin = '.claude/skills/orch/.claude-plugin/plugin.json';
export const codexSkill = '.agents/skills/orch/SKILL.md';
/** The skills besides the one that explains orch. */
export const moreSkills = ['convoy', 'task-dispatch', 'task-continue'] as const;
export type MoreSkill = (typeof moreSkills)[number];
export const codexConfig = '.codex/config.toml';
export const codexHooks = '.codex/hooks.json';
const rulesFile = '.claude/rules/orchestration-patterns.md';

/** The folders of the user and their agents. */
export type UserFolders = {
  readonly userHome: string;
  readonly claudeHome: string;
  readonly codexHome: string;
};

/** A file that may be changed, in its current state. */
export type Target = {
  readonly path: string;
  /** The path as shown to the user. */
  readonly name: string;
  /** Null if the file does not exist. */
  readonly text: string | null;
  /** Why it must not be written, if so. */
  readonly obstacle: string | null;
  /** Is its folder removed once it is empty? */
  readonly ownsFolder: boolean;
};

/** What was found here. */
export type InitFindings = FoundAgents & {
  readonly ecosystems: readonly string[];
  readonly gates: readonly Gate[];
  readonly remotes: readonly string[];
  readonly orchestrationYaml: boolean;
};

/** Everything `orch init` decides by. */
export type InitFacts = {
  readonly found: InitFindings;
  readonly local: Target;
  readonly shared: Target;
  readonly codexHooks: Target;
  /** Where an earlier orch added hooks for every repository. */
  readonly codexUserHooks: Target;
  readonly exclude: Target;
  readonly config: Target;
  /** The files that explain orch's tools to agents, and start them. */
  readonly tools: {
    readonly claudeSkill: Target;
    readonly claudeSkills: { readonly [S in MoreSkill]: Target };
    readonly claudePlugin: Target;
    readonly codexSkill: Target;
    readonly codexSkills: { readonly [S in MoreSkill]: Target };
    readonly codexConfig: Target;
    readonly rules: Target;
  };
  /** The files that git ignores. */
  readonly ignored: readonly string[];
  /** Does Claude Code have orch's marketplace plugin? Does Codex? */
  readonly hasClaudePlugin: boolean;
  readonly hasCodexPlugin: boolean;
  /** The files that are committed. */
  readonly tracked: readonly string[];
  /** Does another working tree of this clone still need the lines in `.git/info/exclude`? */
  readonly isExcludeShared: boolean;
  /** The user's status line in other settings. */
  readonly inheritedStatusLine: string | null;
  readonly isOrchOnPath: boolean;
};

/** Reads everything `orch init` decides by; changes nothing. */
export async function readInitFacts(
  repository: Repository & { readonly worktree: string },
  folders: UserFolders,
  gates: readonly Gate[],
): Promise<InitFacts> {
  const { worktree, commonDir } = repository;
  const inside = (path: string) => readTarget(join(worktree, path), path, worktree);
  const [local, shared, config] = [inside(localSettings), inside(sharedSettings), inside(configFile)];
  const hooks = inside(codexHooks);
  const insideAll = (folder: string): { readonly [S in MoreSkill]: Target } => {
    const at = (name: MoreSkill) => inside(`${folder}/${name}/SKILL.md`);
    return {
      convoy: at('convoy'),
      'task-dispatch': at('task-dispatch'),
      'task-continue': at('task-continue'),
    };
  };
  const tools = {
    claudeSkill: inside(claudeSkill),
    claudeSkills: insideAll('.claude/skills/orch/skills'),
    claudePlugin: inside(claudePlugin),
    codexSkill: inside(codexSkill),
    codexSkills: insideAll('.agents/skills/orch'),
    codexConfig: inside(codexConfig),
    rules: inside(rulesFile),
  };
  const { claudeSkills, codexSkills, ...singleTools } = tools;
  const skills = [...Object.values(claudeSkills), ...Object.values(codexSkills)];
  const all = [local, shared, config, hooks, ...Object.values(singleTools), ...skills];
  // git does not look behind links, and orch does not write there.
  const reachable = all.filter(({ obstacle }) => obstacle === null).map(({ name }) => name);
  const [agents, remotes, tracked, worktrees, ignored] = await Promise.all([
    findAgents({ worktree, ...folders }),
    listRemotes(repository),
    listTracked(repository, reachable),
    listWorktrees(repository),
    listIgnored(repository, reachable),
  ]);
  const hooksFile = join(folders.codexHome, 'hooks.json');
  const userSettings = readTarget(join(folders.claudeHome, 'settings.json'), 'settings.json');
  const codexSettings = readTarget(join(folders.codexHome, 'config.toml'), 'config.toml');
  const others = worktrees.filter((path) => path !== worktree);
  return {
    found: {
      ...agents,
      ecosystems: findEcosystems(worktree),
      gates,
      remotes,
      orchestrationYaml: listFolder(worktree).includes(orchestrationFile),
    },
    local,
    shared,
    codexHooks: hooks,
    codexUserHooks: readTarget(hooksFile, nameAtHome(hooksFile, folders.userHome)),
    exclude: readTarget(join(commonDir, 'info', 'exclude'), '.git/info/exclude'),
    config,
    tools,
    ignored,
    hasClaudePlugin: [userSettings, shared, local].some(({ text }) => hasPlugin(text)),
    hasCodexPlugin: /^\[plugins\."orch@[^"]*"\]/m.test(codexSettings.text ?? ''),
    tracked,
    isExcludeShared: others.some(hasOrch),
    inheritedStatusLine: readForeignStatusLine(shared.text) ?? readForeignStatusLine(userSettings.text),
    isOrchOnPath: isInstalled('orch'),
  };
}

/** Was `orch init` run in this working tree? */
function hasOrch(worktree: string): boolean {
  const read = (path: string) => readTarget(join(worktree, path), path).text;
  const { hooks, hasStatusLine } = readOwnEntries(read(localSettings));
  const hasCodexHooks = countOwnHooks(read(codexHooks)) > 0;
  const hasSkill = [claudeSkill, codexSkill].some((path) => isOwnText(read(path) ?? ''));
  return hooks > 0 || hasStatusLine || hasSkill || hasCodexHooks;
}

/** A file below `inside` must not be reached through a link, which could lead anywhere. */
export function readTarget(path: string, name: string, inside?: string): Target {
  const ownsFolder = inside !== undefined;
  if (inside !== undefined && hasLink(path, inside))
    return { path, name, text: null, obstacle: 'its path contains a link', ownsFolder };
  const stat = statIfThere(path);
  if (stat === null) return { path, name, text: null, obstacle: null, ownsFolder };
  const place = { path: realPath(path), name, ownsFolder };
  if (!stat.isFile()) return { ...place, text: null, obstacle: 'it is not a file' };
  const bytes = readBytes(path, name);
  const obstacle = !isUtf8(bytes)
    ? 'it is not a text file'
    : (stat.mode & 0o222) === 0
      ? 'it is read-only'
      : null;
  return { ...place, text: bytes.toString('utf8'), obstacle };
}

function hasLink(path: string, top: string): boolean {
  const parts = relative(top, path).split(sep);
  return parts.some((_, index) => {
    const part = join(top, ...parts.slice(0, index + 1));
    return lstatSync(part, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  });
}

function readBytes(path: string, name: string): Buffer {
  try {
    return readIfThere(path) ?? Buffer.alloc(0);
  } catch (cause) {
    throw new OrchError('CONFIG_INVALID', `${name} cannot be read; nothing was changed`, {
      hint: 'Make it readable, then run the same command again',
      cause,
    });
  }
}

function nameAtHome(path: string, home: string): string {
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}
