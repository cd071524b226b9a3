import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { isRecord } from '../checks.ts';
import { OrchError, systemCode } from '../errors.ts';
import { type Disk, readIfThere, removeIfThere, statIfThere, writeUnsynced } from '../system/disk.ts';
import { tryReadJson } from '../system/json-file.ts';
import type { Millis } from '../types.ts';
import { addToCache, type ConfigCache, type FileState, findCached, findLast } from './config-cache.ts';
import { type Config, defaultConfig } from './defaults.ts';

export { type Claim, findClaims, withoutClaims } from './authority.ts';
export {
  type CommandLine,
  type Config,
  type ContextAction,
  defaultConfig,
  defaultGateTimeout,
  type Gate,
  type ModelPrice,
  type NoticeKind,
  noticeKinds,
  type OptionalTrigger,
  type OrchestrationFileUse,
  optionalTriggers,
  type Receiver,
} from './defaults.ts';

export type ConfigPorts = {
  readonly disk: Disk;
  readonly clock: { now(): Millis };
  /** The top of the user's working tree; null in a bare repository, which has no settings. */
  readonly worktree: string | null;
  /** `<common git dir>/orchestration`, where the parsed copy is kept. */
  readonly home: string;
};

export type LoadedConfig = {
  readonly config: Config;
  /** The file it was read from, if there is one. */
  readonly path: string | null;
};

/** The file's name, as messages give it. */
export const configFile = '.orchestration/config.yaml';

const maxBytes = 256 * 1024;
/** A file may change twice within one tick of its clock and look the same: the coarsest clocks tick every two seconds. */
const clockTick: Millis = 2_000;

/** Reads the repository's settings. The YAML parser is only loaded if the file changed since it was last parsed. */
export async function loadConfig(ports: ConfigPorts): Promise<LoadedConfig> {
  const { worktree, home, clock } = ports;
  if (worktree === null) return { config: defaultConfig, path: null };
  const path = configPath(worktree);
  const state = readState(path);
  if (state === null) return { config: defaultConfig, path: null };
  const isSettled = clock.now() - Math.max(state.mtimeMs, state.ctimeMs) >= clockTick;
  const cached = isSettled ? findCached(readCache(home), state) : null;
  if (cached !== null) return { config: cached, path };
  const loaded = await parseConfigFile(worktree);
  if (isSettled && loaded.path !== null) writeCache(ports, state, loaded.config);
  return loaded;
}

/**
 * Returns the settings as they were when the file could last be parsed, or the defaults: what a running session uses
 * while its config is being edited.
 */
export function readLastConfig({ worktree, home }: Pick<ConfigPorts, 'worktree' | 'home'>): Config {
  if (worktree === null) return defaultConfig;
  return findLast(readCache(home), configPath(worktree)) ?? defaultConfig;
}

function configPath(worktree: string): string {
  return join(worktree, '.orchestration', 'config.yaml');
}

function cachePath(home: string): string {
  return join(home, 'config-cache.json');
}

/** Parses the file itself, without reading or writing the cache. */
export async function parseConfigFile(worktree: string): Promise<LoadedConfig> {
  const path = configPath(worktree);
  const text = readState(path) === null ? null : readConfigText(path);
  if (text === null) return { config: defaultConfig, path: null };
  const { parseConfig } = await import('./parse.ts');
  return { config: parseConfig(text, configFile), path };
}

function readState(path: string): FileState | null {
  const stats = orUnreadable(() => statIfThere(path));
  if (stats === null) return null;
  if (!stats.isFile()) throw unusable(stats.isDirectory() ? 'it is a folder' : 'it is not a file');
  if (stats.size > maxBytes) throw unusable(`it is longer than ${maxBytes / 1024} KB`);
  const { mtimeMs, ctimeMs, size, ino } = stats;
  return { path, mtimeMs, ctimeMs, size, ino };
}

function readConfigText(path: string): string | null {
  const bytes = orUnreadable(() => readIfThere(path));
  if (bytes === null) return null; // removed meanwhile
  if (!isUtf8(bytes) || bytes.includes(0)) throw unusable('it is not text in UTF-8');
  return bytes.toString('utf8');
}

/** Turns a system error into one that names the config. */
function orUnreadable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    const denied = code === 'EACCES' || code === 'EPERM';
    throw unusable(denied ? 'permission denied' : code, error);
  }
}

function unusable(why: string, cause?: unknown): OrchError {
  return new OrchError('CONFIG_INVALID', `${configFile} cannot be read: ${why}`, {
    hint: `Make ${configFile} a readable text file, then run the same command again`,
    data: { file: configFile, line: null, column: null, key: null },
    cause,
  });
}

function readCache(home: string): ConfigCache {
  return tryReadJson(cachePath(home), isRecord) ?? {};
}

/** A torn file is recognized by its checksum, so the write need not wait for the disk. */
function writeCache({ disk, home }: ConfigPorts, state: FileState, config: Config): void {
  try {
    const cache = addToCache(readCache(home), state, config);
    // In a shared repository the file may belong to another user, and can only be removed, not overwritten.
    removeIfThere(disk, cachePath(home));
    writeUnsynced(disk, cachePath(home), JSON.stringify(cache));
  } catch {
    // Without a cache, the next command parses the file again.
  }
}
