import { isRecord } from '../checks.ts';
import { hash } from '../digest.ts';
import { lookUp } from '../keyed.ts';
import { type Config, defaultConfig } from './defaults.ts';

declare const __ORCH_VERSION__: string;

/** Increase it when the meaning of a key changes but neither the defaults nor orch's version do. */
const cacheFormat = 2;
/** All worktrees share the cache. */
const maxEntries = 16;

/** What distinguishes one state of a file from another. */
export type FileState = {
  readonly path: string;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly size: number;
  readonly ino: number;
};

/** As read from disk; each entry is checked when it is used. */
export type ConfigCache = { readonly [path: string]: unknown };

/** `sum` covers the rest. */
type Entry = { readonly sum: string; readonly state: FileState; readonly config: Config };

/** Finds the parsed copy of a file in exactly this state. Entries that are damaged or from another orch don't count. */
export function findCached(cache: ConfigCache, state: FileState): Config | null {
  const entry = findEntry(cache, state.path);
  return entry !== null && entry.sum === sumOf(state, entry.config) ? entry.config : null;
}

/** Finds the copy of a file from when it could last be parsed. */
export function findLast(cache: ConfigCache, path: string): Config | null {
  return findEntry(cache, path)?.config ?? null;
}

/** Adds a parsed copy to the cache, and drops the oldest. */
export function addToCache(cache: ConfigCache, state: FileState, config: Config): ConfigCache {
  const others = Object.entries(cache).filter(([path]) => path !== state.path);
  const entry: Entry = { sum: sumOf(state, config), state, config };
  return Object.fromEntries([...others, [state.path, entry]].slice(-maxEntries));
}

/** If the sum matches, the entry needs no further checks. */
function findEntry(cache: ConfigCache, path: string): Entry | null {
  const entry = lookUp(cache, path);
  return isEntry(entry) && entry.sum === sumOf(entry.state, entry.config) ? entry : null;
}

function isEntry(value: unknown): value is Entry {
  return isRecord(value) && isRecord(value.state) && isRecord(value.config);
}

/**
 * Covers the copy, the state of its file, and the orch that made it, so nothing else needs comparing: another version,
 * or one with other defaults, does not trust it.
 */
function sumOf({ path, mtimeMs, ctimeMs, size, ino }: FileState, config: Config): string {
  const version = typeof __ORCH_VERSION__ === 'string' ? __ORCH_VERSION__ : '';
  const covered = [cacheFormat, version, defaultConfig, path, mtimeMs, ctimeMs, size, ino, config];
  return hash('sha256', JSON.stringify(covered));
}
