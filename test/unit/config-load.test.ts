import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addToCache } from '../../src/config/config-cache.ts';
import { type Config, type ConfigPorts, defaultConfig, loadConfig } from '../../src/config/load.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { makeFolder } from '../support/repository.ts';

/** A worktree with a config, and a clock well past the moment it was written. */
function makeWorktree(text: string | Uint8Array | null) {
  const worktree = makeFolder();
  const home = join(worktree, 'home');
  const path = join(worktree, '.orchestration', 'config.yaml');
  const cache = join(home, 'config-cache.json');
  mkdirSync(home);
  mkdirSync(join(worktree, '.orchestration'));
  const write = (content: string | Uint8Array) => writeFileSync(path, content);
  if (text !== null) write(text);
  let now = Date.now() + 60_000;
  const ports: ConfigPorts = { disk: realDisk, clock: { now: () => now }, worktree, home };
  return {
    ports,
    path,
    cache,
    write,
    setClock: (at: number) => {
      now = at;
    },
    load: (changes: Partial<ConfigPorts> = {}) => loadConfig({ ...ports, ...changes }),
  };
}

/** Puts another config under a cached state of the file: what is loaded then tells whether the cache was believed. */
function plant(cache: string, change: (text: string) => string): void {
  const text = readFileSync(cache, 'utf8');
  const changed = change(text);
  expect(changed).not.toBe(text);
  writeFileSync(cache, changed);
}

const withBudget = (micros: number): Config => ({ ...defaultConfig, budget: micros });

const longAgo = new Date('2020-01-01T00:00:00Z');

describe('loading the config', () => {
  it('without a file, a folder or a worktree gives the defaults, and writes nothing', async () => {
    const { load, cache, ports } = makeWorktree(null);
    const nothing = { config: defaultConfig, path: null };
    expect(await load()).toEqual(nothing);
    expect(await load({ worktree: null })).toEqual(nothing);
    expect(await load({ worktree: join(ports.home, 'gone') })).toEqual(nothing);
    expect(existsSync(cache)).toBe(false);
  });

  it('reads the file, then its parsed copy, then the file again when it changed', async () => {
    const { load, cache, path, write } = makeWorktree('budget: 5\n');
    expect(await load()).toEqual({ config: withBudget(5_000_000), path });
    const first = readFileSync(cache, 'utf8');
    expect(await load()).toEqual({ config: withBudget(5_000_000), path });
    expect(readFileSync(cache, 'utf8')).toBe(first);
    write('budget: 6\n');
    expect((await load()).config.budget).toBe(6_000_000);
    expect(readFileSync(cache, 'utf8')).not.toBe(first);
    rmSync(path);
    expect((await load()).config).toEqual(defaultConfig);
  });

  it('asks only the parsed copy while the file is as it was', async () => {
    const { load, path, cache, write } = makeWorktree('budget: 5\n');
    const { mtimeMs, ctimeMs, size, ino } = statSync(path);
    const planted = JSON.stringify(addToCache({}, { path, mtimeMs, ctimeMs, size, ino }, withBudget(1)));
    writeFileSync(cache, planted);
    expect((await load()).config).toEqual(withBudget(1));
    write('budget: 7\n');
    expect((await load()).config).toEqual(withBudget(7_000_000));
  });

  it.each([
    ['of the same size, with its time set back', 'budget: 6\n', true],
    ['of another size, with its time set back', 'budget: 60\n', true],
    ['moved into its place', 'budget: 7\n', false],
  ])('a change %s is seen', async (_, text, inPlace) => {
    const { load, path, write } = makeWorktree('budget: 5\n');
    utimesSync(path, longAgo, longAgo);
    const { ctimeMs } = statSync(path);
    await load();
    if (inPlace) write(text);
    else {
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    }
    // Until the file system's clock has ticked; a change within one tick is the next test's.
    do utimesSync(path, longAgo, longAgo);
    while (statSync(path).ctimeMs === ctimeMs);
    const expected = Number(text.slice(8)) * 1_000_000;
    expect((await load()).config.budget).toBe(expected);
    expect((await load()).config.budget).toBe(expected);
  });

  it.each<[why: string, clock: (changed: number) => number, isCached: boolean]>([
    ['may be changing', (changed) => changed + 1_000, false],
    ['changed in the future, by a clock that was set back', (changed) => changed - 1_000_000, false],
    ['has settled', (changed) => changed + 2_001, true],
  ])('a copy of a file that %s', async (_, clock, isCached) => {
    const { load, cache, path, setClock } = makeWorktree('budget: 5\n');
    // Only the time of change counts: the other one can be set to anything.
    utimesSync(path, longAgo, longAgo);
    const { mtimeMs, ctimeMs, size, ino } = statSync(path);
    setClock(clock(ctimeMs));
    await load();
    expect(existsSync(cache)).toBe(isCached);
    writeFileSync(
      cache,
      JSON.stringify(addToCache({}, { path, mtimeMs, ctimeMs, size, ino }, withBudget(1))),
    );
    expect((await load()).config.budget).toBe(isCached ? 1 : 5_000_000);
  });

  it.each<[what: string, change: (text: string) => string]>([
    ['changed', (text) => text.replace('5000000', '9000000')],
    ['cut off', (text) => text.slice(0, text.length / 2)],
    ['emptied', () => ''],
    ['of another shape', () => '[1]'],
    ['nothing', () => 'null'],
    ['of another file', (text) => text.replace('.orchestration', '.other')],
    ['without its sum', (text) => text.replace(/"sum":"\w+"/, '"sum":""')],
    ['with half an entry', (text) => text.replace(/"config":.*/, '"config":null}}')],
  ])('a copy that was %s is ignored, and mended', async (_, change) => {
    const { load, cache } = makeWorktree('budget: 5\n');
    await load();
    const good = readFileSync(cache, 'utf8');
    plant(cache, change);
    expect((await load()).config).toEqual(withBudget(5_000_000));
    expect(JSON.parse(readFileSync(cache, 'utf8'))).toMatchObject(JSON.parse(good));
  });

  it('keeps a copy for each of several worktrees, of the newest sixteen', async () => {
    const { ports, cache } = makeWorktree(null);
    const others = Array.from({ length: 18 }, (_, index) => makeWorktree(`budget: ${index}\n`));
    for (const { load } of others) await load({ home: ports.home });
    expect(Object.keys(JSON.parse(readFileSync(cache, 'utf8')))).toEqual(
      others.slice(2).map(({ path }) => path),
    );
    for (const [index, { load }] of others.entries())
      expect((await load({ home: ports.home })).config.budget).toBe(index * 1_000_000);
  });

  it('does without the cache where it cannot be written', async () => {
    const { load, cache } = makeWorktree('budget: 5\n');
    const full: Disk = {
      ...realDisk,
      write: () => {
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      },
    };
    expect((await load({ disk: full })).config.budget).toBe(5_000_000);
    rmSync(cache, { force: true });
    mkdirSync(cache);
    expect((await load()).config.budget).toBe(5_000_000);
    expect((await load({ home: join(cache, 'missing') })).config.budget).toBe(5_000_000);
  });

  it('does not keep a mistake', async () => {
    const { load, cache, write } = makeWorktree('budgte: 5\n');
    await expect(load()).rejects.toMatchObject({ code: 'CONFIG_INVALID', data: { line: 1, key: 'budgte' } });
    expect(existsSync(cache)).toBe(false);
    write('budget: 5\n');
    expect((await load()).config.budget).toBe(5_000_000);
  });
});

describe('a config that cannot be read', () => {
  const message = (why: string) => `.orchestration/config.yaml cannot be read: ${why}`;

  it.each([
    ['bytes that are no text', Uint8Array.of(0xff, 0xfe, 0x41), 'it is not text in UTF-8'],
    ['a NUL', 'budget: 5\0\n', 'it is not text in UTF-8'],
    ['far too much', `# ${'x'.repeat(300_000)}`, 'it is longer than 256 KB'],
  ])('because of %s', async (_, content, why) => {
    await expect(makeWorktree(content).load()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: message(why),
    });
  });

  it('because it is something else', async () => {
    const { load, path } = makeWorktree(null);
    mkdirSync(path);
    await expect(load()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: message('it is a folder'),
    });
    rmSync(path, { recursive: true });
    symlinkSync(path, path);
    await expect(load()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: message('ELOOP'),
    });
    rmSync(path);
    expect(spawnSync('mkfifo', [path]).status).toBe(0);
    await expect(load()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: message('it is not a file'),
    });
  });
});
