import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { addToCache, type FileState, findCached, findLast } from './config/cache.ts';
import { type Config, defaultConfig } from './config/defaults.ts';
import { OrchError, systemCode } from './errors.ts';
import {
  type Disk,
  readIfThere,
  readTextIfThere,
  removeIfThere,
  statIfThere,
  writeAll,
} from './system/files.ts';
import type { Millis } from './types.ts';

export { type Claim, findClaims, withoutClaims } from './config/authority.ts';
export {
  type CommandLine,
  type Config,
  type ContextAction,
  defaultConfig,
  type GateConfig,
  type ModelPrice,
  type OptionalTrigger,
  optionalTriggers,
} from './config/defaults.ts';

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
  /** Where it was read from; null where there is no such file. */
  readonly path: string | null;
};

/** The file's name, as messages give it. */
export const configFile = '.orchestration/config.yaml';

const maxBytes = 256 * 1024;
/** A file may change again within one tick of its clock, and look the same: the coarsest clocks tick every two seconds. */
const settled: Millis = 2_000;

/** Reads the repository's settings. YAML is only loaded when the file has changed since it was last parsed. */
export async function loadConfig(ports: ConfigPorts): Promise<LoadedConfig> {
  const { worktree, home, clock } = ports;
  if (worktree === null) return { config: defaultConfig, path: null };
  const path = configPath(worktree);
  const state = readState(path);
  if (state === null) return { config: defaultConfig, path: null };
  const isSettled = clock.now() - Math.max(state.mtimeMs, state.ctimeMs) >= settled;
  const cached = isSettled ? findCached(readCache(cachePath(home)), state) : null;
  if (cached !== null) return { config: cached, path };
  const loaded = await parseConfigFile(worktree);
  if (isSettled && loaded.path !== null) writeCache(ports.disk, cachePath(home), state, loaded.config);
  return loaded;
}

/**
 * The settings as they were when they could last be read, or the defaults: for what a running session needs while its
 * config is being edited.
 */
export function readLastConfig({ worktree, home }: Pick<ConfigPorts, 'worktree' | 'home'>): Config {
  if (worktree === null) return defaultConfig;
  return findLast(readCache(cachePath(home)), configPath(worktree)) ?? defaultConfig;
}

function configPath(worktree: string): string {
  return join(worktree, '.orchestration', 'config.yaml');
}

function cachePath(home: string): string {
  return join(home, 'config-cache.json');
}

/** The settings from the file itself, past the cache, which stays as it is. */
export async function parseConfigFile(worktree: string): Promise<LoadedConfig> {
  const path = configPath(worktree);
  const text = readState(path) === null ? null : readConfigText(path);
  if (text === null) return { config: defaultConfig, path: null };
  const { parseConfig } = await import('./config/parse.ts');
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
  if (bytes === null) return null; // removed since
  if (!isUtf8(bytes) || bytes.includes(0)) throw unusable('it is not text in UTF-8');
  return bytes.toString('utf8');
}

/** Runs a read; a refusal by the system becomes one in the user's words. */
function orUnreadable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    const denied = code === 'EACCES' || code === 'EPERM';
    throw unusable(denied ? 'permission denied' : `the system says ${code}`, error);
  }
}

function unusable(why: string, cause?: unknown): OrchError {
  return new OrchError('CONFIG_INVALID', `${configFile}: it cannot be read: ${why}`, {
    hint: `Make ${configFile} a readable text file, then run the same command again`,
    data: { file: configFile, line: null, column: null, key: null },
    cause,
  });
}

function readCache(path: string): string | null {
  try {
    return readTextIfThere(path);
  } catch {
    return null; // somebody else's, or a folder: the file itself is read instead
  }
}

/** Keeps the parsed copy. Its checksum tells a torn one, so nobody waits for the disk. */
function writeCache(disk: Disk, path: string, state: FileState, config: Config): void {
  try {
    const bytes = Buffer.from(addToCache(readCache(path), state, config));
    // Removed first: in a shared repository it may be another user's, in a folder both may write.
    removeIfThere(disk, path);
    const fd = disk.open(path, 'wx', 0o644);
    try {
      writeAll(disk, fd, bytes);
    } finally {
      disk.close(fd);
    }
  } catch {
    // Without a cache the next command reads the file again: slower, and just as right.
  }
}
