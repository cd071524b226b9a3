import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { takeSnapshot } from '../../src/git/snapshot/snapshot.ts';
import { openOrch } from '../../src/orch.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { expectSound } from '../support/checkpoints.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints, runs } from '../support/depth.ts';
import {
  cleanEnvironment,
  makeFolder,
  makeRepositoryWithCommit,
  type TestRepository,
} from '../support/repository.ts';
import { filesOf, ref, request, snapshot, treeByGit } from '../support/snapshots.ts';

async function bundle(): Promise<string> {
  const outfile = join(makeFolder(), 'snapshot-many.cjs');
  const entry = fileURLToPath(new URL('../support/snapshot-many.ts', import.meta.url));
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
    logLevel: 'warning',
  });
  return outfile;
}

/** A real process that takes snapshots; each line it printed is an acknowledged one. */
function startTaker(program: string, repository: TestRepository, count: number, name: string) {
  const child = spawn(process.execPath, [program, repository.folder, String(count), name], {
    env: cleanEnvironment(repository.home),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return {
    commits: () =>
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split(' ')[1] ?? ''),
    ended: new Promise<string>((resolve) => child.on('close', (status) => resolve(`${status} ${stderr}`))),
    kill: () => child.kill('SIGKILL'),
  };
}

describe('snapshots by many processes', () => {
  it('I4: eight at once all end in one history, each holding what its writer wrote', async () => {
    const program = await bundle();
    const repository = makeRepositoryWithCommit();
    const takers = Array.from({ length: 8 }, (_, index) => startTaker(program, repository, 5, `p${index}`));
    expect(await Promise.all(takers.map(({ ended }) => ended))).toEqual(takers.map(() => '0 '));
    const history = new Set(repository.git('rev-list', ref).split('\n'));
    for (const [index, taker] of takers.entries()) {
      expect(taker.commits()).toHaveLength(5);
      expect(taker.commits().filter((commit) => !history.has(commit))).toEqual([]);
      expect(filesOf(repository, taker.commits()[4] ?? '')[`p${index}`]).toBe('100644 4');
    }
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    expectSound(repository);
  });

  it('I2 I3: killed at any moment, what was acknowledged is whole, and the next one goes on', async () => {
    const program = await bundle();
    const repository = makeRepositoryWithCommit();
    for (let round = 0; round < runs(5); round++) {
      const taker = startTaker(program, repository, 1_000, 'file');
      await expect.poll(() => taker.commits().length, { timeout: 20_000, interval: 1 }).toBeGreaterThan(1);
      // A moment later each time, so that death comes anywhere in the work.
      const until = performance.now() + round * 4;
      while (performance.now() < until);
      taker.kill();
      await taker.ended;
      const last = taker.commits().at(-1) ?? '';
      expect(repository.tryGit('merge-base', '--is-ancestor', last, ref).status).toBe(0);
      expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    }
    expectSound(repository);
  });
});

it('I3: dead at any operation on the disk, it leaves the last snapshot or the next, and the next one is right', async () => {
  const repository = makeRepositoryWithCommit();
  const first = await snapshot(repository);
  for (const at of crashPoints(12)) {
    repository.write('file', `${at}\n`);
    const before = repository.git('rev-parse', ref);
    const crashing = makeCrashingDisk({ at, torn: false });
    const orch = await openOrch({ cwd: repository.folder, disk: crashing.disk });
    await takeSnapshot(orch, request).catch((error: unknown) => {
      if (!crashing.hasDied()) throw error;
    });
    orch.close();
    rmSync(join(repository.folder, `.git/${ref}.lock`), { force: true }); // ten seconds later, it is removed
    const after = repository.git('rev-parse', ref);
    if (after !== before) expect(filesOf(repository, after).file).toBe(`100644 ${at}`);
    expect((await snapshot(repository)).tree).toBe(treeByGit(repository));
    if (!crashing.hasDied()) break;
  }
  expect(repository.tryGit('merge-base', '--is-ancestor', first.commit, ref).status).toBe(0);
  expectSound(repository);
});

/** A disk that tells what was waited for, and what had been when a ref was moved. */
function makeWatchedDisk() {
  const open = new Map<number, string>();
  const synced = new Set<string>();
  const atMove: Set<string>[] = [];
  const disk: Disk = {
    ...realDisk,
    open: (path, flags, mode) => {
      const fd = realDisk.open(path, flags, mode);
      open.set(fd, path);
      return fd;
    },
    sync: async (fd) => {
      await realDisk.sync(fd);
      synced.add(open.get(fd) ?? '');
    },
    rename: (from, to) => {
      realDisk.rename(from, to);
      if (synced.has(from)) synced.add(to);
      synced.delete(dirname(to));
      if (to.endsWith(ref)) atMove.push(new Set(synced));
    },
  };
  return { disk, atMove };
}

it('I2: all a snapshot refers to was waited for before its ref moved, with the folders it is in', async () => {
  const repository = makeRepositoryWithCommit();
  mkdirSync(join(repository.folder, 'in/here'), { recursive: true });
  for (const turn of ['first', 'second', 'third']) {
    const { disk, atMove } = makeWatchedDisk();
    const before = repository.tryGit('rev-parse', '--verify', '--quiet', ref).stdout.trim();
    repository.write('in/here/file', `${turn}\n`);
    repository.write(`in/${turn}`, `new in the ${turn}\n`);
    const orch = await openOrch({ cwd: repository.folder, disk });
    await takeSnapshot(orch, request);
    orch.close();
    const known = ['HEAD', before].filter(Boolean).map((commit) => `^${commit}`);
    const names = repository.git('rev-list', '--objects', '--no-object-names', ref, ...known).split('\n');
    expect(names).toHaveLength(6); // two files, three folders, a commit
    const objects = join(repository.folder, '.git/objects');
    const paths = names.map((oid) => join(objects, oid.slice(0, 2), oid.slice(2)));
    const wanted = [...paths, ...paths.map((path) => dirname(path)), objects];
    expect(wanted.filter((path) => !atMove[0]?.has(path))).toEqual([]);
  }
});

it.each(['', '* text=auto\n'])(
  'I2: so was all of one with many new files (.gitattributes: %j)',
  async (attributes) => {
    const repository = makeRepositoryWithCommit();
    repository.write('.gitattributes', attributes);
    for (let index = 0; index < 1_200; index++) repository.write(`file-${index}`, `${index}\n`);
    const objects = join(repository.folder, '.git/objects');
    const list = () =>
      readdirSync(objects, { recursive: true, encoding: 'utf8' }).map((name) => join(objects, name));
    const before = new Set(list());
    const { disk, atMove } = makeWatchedDisk();
    const orch = await openOrch({ cwd: repository.folder, disk });
    const { tree } = await takeSnapshot(orch, request);
    orch.close();
    // The mark by which a prune is noticed is no object.
    const isMark = (path: string) => path.endsWith('tmp_orch-no-prune-ended');
    const added = list().filter((path) => !before.has(path) && !isMark(path));
    expect(added.filter((path) => path.endsWith('.idx'))).toHaveLength(1);
    expect(added.length).toBeLessThan(20);
    const wanted = [...added, ...added.map((path) => dirname(path))];
    expect(wanted.filter((path) => !atMove[0]?.has(path))).toEqual([]);
    expect(tree).toBe(treeByGit(repository));
    expectSound(repository);
  },
);
