import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Orch, openOrch } from '../../src/orch.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { cleanUpStorage } from '../../src/upkeep/cleanup/clean-up.ts';
import { listFiles, readRefs, repositoryAt } from '../support/checkpoints.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { runOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { buryLockHolders } from '../support/store.ts';

const day = 86_400_000;

/** A repository with something of every kind to remove. */
function makeUsed(): TestRepository {
  const repository = makeRepositoryWithCommit();
  for (const content of ['one', 'two']) {
    repository.write('work', content);
    const env = { ORCH_NOW: new Date(Date.now() + content.length * 1_000).toISOString() };
    expect(runOrch(repository, ['checkpoint', 'create', '-e', 'x', '-r', content], { env }).status).toBe(0);
  }
  runOrch(repository, ['start', '-e', 'bad', '--no-baseline', '--', 'sh', '-c', 'exit 3']);
  return repository;
}

async function clean(cwd: string, more: Partial<Parameters<typeof openOrch>[0]> = {}): Promise<void> {
  const clock = { now: () => Date.now() + 45 * day };
  const orch: Orch = await openOrch({ cwd, clock, ...more });
  try {
    await cleanUpStorage(
      orch,
      { failed: 7 * day, snapshots: 30 * day, trash: 30 * day, archive: 30 * day },
      false,
    );
  } finally {
    orch.close();
  }
}

/** All refs, with the trash by its epic only, and the journals: what it is about. */
function endOf(repository: TestRepository): unknown {
  const trashed = /(orchestration-local\/trash\/\w+)\/\S+/g;
  const snapshots = repository.git('for-each-ref', '--format=%(refname)', 'refs/orchestration/snapshots');
  const home = join(repository.folder, '.git/orchestration');
  const journals = listFiles(home).filter((path) => path.endsWith('.jsonl'));
  return [
    readRefs(repository).replace(trashed, '$1'),
    snapshots,
    journals.map((path) => [path.slice(home.length), readFileSync(path, 'utf8')]),
  ];
}

it('a cleanup that dies anywhere is finished by the next one, to the same end (I3)', async () => {
  const used = makeUsed();
  const copy = () => {
    const home = makeFolder();
    cpSync(used.folder, join(home, 'repository'), { recursive: true });
    return repositoryAt(home, join(home, 'repository'));
  };
  const whole = copy();
  await clean(whole.folder);
  const expected = endOf(whole);
  let deaths = 0;
  for (const at of crashPoints(8)) {
    const repository = copy();
    const crashing = makeCrashingDisk({ at, torn: false });
    const { disk, wrapEngine } = crashing;
    await clean(repository.folder, { disk, wrapEngine }).catch((error) => {
      if (!crashing.hasDied()) throw error;
    });
    if (!crashing.hasDied()) break;
    deaths++;
    buryLockHolders(repository.folder);
    await clean(repository.folder);
    expect([at, endOf(repository)]).toEqual([at, expected]);
  }
  expect(deaths).toBeGreaterThan(3);
});

/** Does something to the n-th removal, which then goes on; counts the removals. */
function disturbRemovals(at: number, disturb: (path: string) => void) {
  let count = 0;
  const step = (path: string) => {
    count += 1;
    if (count === at) disturb(path);
  };
  const disk: Disk = {
    ...realDisk,
    unlink: (path) => {
      step(path);
      realDisk.unlink(path);
    },
    rmdir: (path) => {
      step(path);
      realDisk.rmdir(path);
    },
    rename: (from, to) => {
      if (to.endsWith('.released')) step(from);
      realDisk.rename(from, to);
    },
  };
  return { disk, count: () => count };
}

/** Things of every kind that is a file or a folder, folders inside of folders included. */
function addFiles({ folder }: TestRepository): void {
  const home = join(folder, '.git/orchestration');
  for (const path of [
    'logs/run-aaaa/task.log',
    'logs/run-aaaa/more/task.log',
    'logs/sess-aaaa.log',
    'briefs/sess-aaaa.md',
    'damaged/object',
    'snapshot-index/gone/index',
    'snapshot-objects/abcdefgh/ab/cdef',
    '.tmp-half',
  ]) {
    mkdirSync(join(home, path, '..'), { recursive: true });
    writeFileSync(join(home, path), 'left');
  }
}

describe('a cleanup from under which something disappears', () => {
  const prepare = () => {
    const used = makeUsed();
    addFiles(used);
    return () => {
      const home = makeFolder();
      cpSync(used.folder, join(home, 'repository'), { recursive: true });
      return repositoryAt(home, join(home, 'repository'));
    };
  };
  const left = ({ folder }: TestRepository) =>
    listFiles(join(folder, '.git/orchestration')).filter((path) =>
      /-aaaa|\/damaged\/|\/gone\/|-half|\/abcdefgh\//.test(path),
    );

  it.each(['ENOENT', 'ENOTDIR', 'ESTALE'])('is told %s at any removal, and goes on', async (code) => {
    const copy = prepare();
    for (const at of crashPoints(4)) {
      const repository = copy();
      const { disk, count } = disturbRemovals(at, (path) => {
        rmSync(path, { recursive: true });
        throw Object.assign(new Error(code), { code });
      });
      await clean(repository.folder, { disk });
      expect([at, left(repository)]).toEqual([at, []]);
      if (count() < at) break;
    }
  });

  it('finds the whole folder around it gone, and goes on', async () => {
    const copy = prepare();
    for (const at of crashPoints(4)) {
      const repository = copy();
      const { disk, count } = disturbRemovals(at, (path) =>
        rmSync(dirname(path), { recursive: true, force: true }),
      );
      await clean(repository.folder, { disk }).catch((error) => {
        throw new Error(`at ${at}: ${error}`, { cause: error });
      });
      expect([at, left(repository)]).toEqual([at, []]);
      if (count() < at) break;
    }
  });

  it('says what the system does not let go of, and removes the rest', async () => {
    const repository = prepare()();
    const { disk } = disturbRemovals(1, () => {
      throw Object.assign(new Error('EBUSY: resource busy'), { code: 'EBUSY' });
    });
    const orch = await openOrch({
      cwd: repository.folder,
      disk,
      clock: { now: () => Date.now() + 45 * day },
    });
    const kept = 30 * day;
    const cleanup = await cleanUpStorage(
      orch,
      { failed: kept, snapshots: kept, trash: kept, archive: kept },
      false,
    );
    orch.close();
    expect(
      cleanup.kept.filter(({ why }) => why === 'could not be removed: EBUSY: resource busy'),
    ).toHaveLength(1);
    expect(cleanup.removed.length).toBeGreaterThan(5);
  });
});
