import { isRecord } from '../checks.ts';
import { hash } from '../digest.ts';
import { lookUp } from '../keyed.ts';
import { type Config, defaultConfig } from './defaults.ts';

declare const __ORCH_VERSION__: string;

/** Grows when what a key means changes without the defaults or orch's version changing. */
const cacheFormat = 2;
/** Worktrees share the cache. */
const maxEntries = 16;

/** What tells one state of a file from another. */
export type FileState = {
  readonly path: string;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly size: number;
  readonly ino: number;
};

/** The sum covers the rest. */
type Entry = { readonly sum: string; readonly state: FileState; readonly config: Config };

/** The parsed copy of a file in exactly this state, or null. A damaged cache, or one of another orch, has none. */
export function findCached(cache: string | null, state: FileState): Config | null {
  const entry = findEntry(cache, state.path);
  return entry !== null && entry.sum === sumOf(state, entry.config) ? entry.config : null;
}

/** The copy of a file as it was when it could last be read, or null. */
export function findLast(cache: string | null, path: string): Config | null {
  return findEntry(cache, path)?.config ?? null;
}

/** The cache with one more parsed copy in it, and the oldest out. */
export function addToCache(cache: string | null, state: FileState, config: Config): string {
  const others = Object.entries(parseEntries(cache)).filter(([path]) => path !== state.path);
  const entry: Entry = { sum: sumOf(state, config), state, config };
  return JSON.stringify(Object.fromEntries([...others, [state.path, entry]].slice(-maxEntries)));
}

function parseEntries(cache: string | null): { readonly [path: string]: unknown } {
  try {
    const parsed: unknown = JSON.parse(cache ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {}; // torn or damaged: it is only a cache
  }
}

/** An entry whose sum is right: then all of it is as it was written. */
function findEntry(cache: string | null, path: string): Entry | null {
  const entry = lookUp(parseEntries(cache), path);
  return isEntry(entry) && entry.sum === sumOf(entry.state, entry.config) ? entry : null;
}

function isEntry(value: unknown): value is Entry {
  return isRecord(value) && isRecord(value.state) && isRecord(value.config);
}

/**
 * Covers the copy, the state of its file, and what made the copy: so nothing else needs to be compared,
 * and another version, or one with other defaults, does not trust it.
 */
function sumOf({ path, mtimeMs, ctimeMs, size, ino }: FileState, config: Config): string {
  const version = typeof __ORCH_VERSION__ === 'string' ? __ORCH_VERSION__ : '';
  const covered = [cacheFormat, version, defaultConfig, path, mtimeMs, ctimeMs, size, ino, config];
  return hash('sha256', JSON.stringify(covered));
}
