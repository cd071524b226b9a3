import { isUtf8 } from 'node:buffer';
import { lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { OrchError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import { isIgnored, listRemotes, listTracked, listWorktrees } from '../git/surroundings.ts';
import { readForeignStatusLine, readOwnEntries } from '../integration/claude-settings.ts';
import { findEcosystems } from '../integration/ecosystem.ts';
import { type FoundAgents, findAgents } from '../integration/find-agents.ts';
import type { Gate } from '../integration/gate.ts';
import { hasOrchestrationYaml } from '../integration/orchestration-yaml.ts';
import { readIfThere, realPath, statIfThere } from '../system/files.ts';
import { isInstalled } from '../system/spawn.ts';

export const localSettings = '.claude/settings.local.json';
export const sharedSettings = '.claude/settings.json';
export const configFile = '.orchestration/config.yaml';

/** Where agents keep what is the user's. */
export type UserFolders = {
  readonly userHome: string;
  readonly claudeHome: string;
  readonly codexHome: string;
};

/** A file that may be changed, as it is now. */
export type Target = {
  readonly path: string;
  /** The path as the user would say it. */
  readonly name: string;
  /** Null where there is no such file. */
  readonly text: string | null;
  /** Why it must not be written; null where it may. */
  readonly obstacle: string | null;
  /** Is its folder there for nothing else? Then it goes when it is empty. */
  readonly ownsFolder: boolean;
};

/** What is there of agents, gates and remotes. */
export type Found = FoundAgents & {
  readonly ecosystems: readonly string[];
  readonly gates: readonly Gate[];
  readonly remotes: readonly string[];
  readonly orchestrationYaml: boolean;
};

/** All that is looked at before anything is decided. */
export type InitFacts = {
  readonly found: Found;
  readonly local: Target;
  readonly shared: Target;
  readonly codexHooks: Target;
  readonly exclude: Target;
  readonly config: Target;
  readonly isLocalIgnored: boolean;
  /** Which of the files are in commits. */
  readonly tracked: readonly string[];
  /** Does another working tree of this clone need the excluded file to stay excluded? */
  readonly isExcludeShared: boolean;
  /** The status line that the user has in other settings. */
  readonly inheritedStatusLine: string | null;
  /** Do shared settings find orch here? */
  readonly isOrchOnPath: boolean;
};

/** Looks at everything `orch init` decides by; changes nothing. */
export async function readInitFacts(
  repository: Repository & { readonly worktree: string },
  folders: UserFolders,
  gates: readonly Gate[],
): Promise<InitFacts> {
  const { worktree, commonDir } = repository;
  const inside = (path: string) => readTarget(join(worktree, path), path, worktree);
  const [local, shared, config] = [inside(localSettings), inside(sharedSettings), inside(configFile)];
  const [agents, remotes, tracked, worktrees, ignored] = await Promise.all([
    findAgents({ worktree, ...folders }),
    listRemotes(repository),
    listTracked(repository, [localSettings, sharedSettings, configFile]),
    listWorktrees(repository),
    // Behind a link git would not look, and orch does not write.
    local.obstacle === null ? isIgnored(repository, localSettings) : true,
  ]);
  const hooksFile = join(folders.codexHome, 'hooks.json');
  const userSettings = readTarget(join(folders.claudeHome, 'settings.json'), 'settings.json');
  const others = worktrees.filter((path) => path !== worktree);
  return {
    found: {
      ...agents,
      ecosystems: findEcosystems(worktree),
      gates,
      remotes,
      orchestrationYaml: hasOrchestrationYaml(worktree),
    },
    local,
    shared,
    codexHooks: readTarget(hooksFile, nameAtHome(hooksFile, folders.userHome)),
    exclude: readTarget(join(commonDir, 'info', 'exclude'), '.git/info/exclude'),
    config,
    isLocalIgnored: ignored,
    tracked,
    isExcludeShared: others.some((path) => hasOrch(readTarget(join(path, localSettings), localSettings))),
    inheritedStatusLine: readForeignStatusLine(shared.text) ?? readForeignStatusLine(userSettings.text),
    isOrchOnPath: isInstalled('orch'),
  };
}

function hasOrch({ text }: Target): boolean {
  const { hooks, hasStatusLine } = readOwnEntries(text);
  return hooks > 0 || hasStatusLine;
}

/** A file below `inside` must really be there: a link in a repository could lead anywhere. */
function readTarget(path: string, name: string, inside?: string): Target {
  const ownsFolder = inside !== undefined;
  if (inside !== undefined && hasLink(path, inside))
    return { path, name, text: null, obstacle: 'it is reached through a link', ownsFolder };
  const stat = statIfThere(path);
  if (stat === null) return { path, name, text: null, obstacle: null, ownsFolder };
  const place = { path: realPath(path), name, ownsFolder };
  if (!stat.isFile()) return { ...place, text: null, obstacle: 'it is no file' };
  const bytes = readBytes(path, name);
  const obstacle = !isUtf8(bytes) ? 'it is no text' : (stat.mode & 0o222) === 0 ? 'it is read-only' : null;
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
      hint: 'Make it readable for you, then run the same command again',
      cause,
    });
  }
}

function nameAtHome(path: string, home: string): string {
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}
