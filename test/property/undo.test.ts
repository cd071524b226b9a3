import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { listUndos } from '../../src/git/worktree/undo-refs.ts';
import { openOrch, type RestoreResult, restoreCheckpoint, undoRestore } from '../../src/index.ts';
import { expectSound, save } from '../support/checkpoints.ts';
import { runs } from '../support/depth.ts';
import { interrupt } from '../support/interrupted.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { lookAtFiles } from '../support/restored.ts';

const names = ['a', 'b', 'c', 'ignored.log'];
const name = fc.constantFrom(...names);

type Step =
  | { readonly do: 'write' | 'remove'; readonly path: string }
  | { readonly do: 'restore'; readonly to: number }
  | { readonly do: 'kill'; readonly to: number | 'undo'; readonly at: number; readonly share: number }
  | { readonly do: 'undo' };

const checkpoint = fc.constantFrom(1, 2);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('write' as const, 'remove' as const), path: name }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restore' as const), to: checkpoint }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('kill' as const),
      to: fc.oneof(checkpoint, fc.constant('undo' as const)),
      at: fc.constantFrom(1, 1, 2, 3),
      share: fc.constantFrom(0, 0.4, 0.7, 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('undo' as const) }) },
);

/** The contents of every file in a commit. */
function contentsOf(repository: TestRepository, commit: string): string[] {
  const paths = repository.git('ls-tree', '-r', '-z', '--name-only', commit).split('\0').filter(Boolean);
  return paths.map((path) => repository.tryGit('show', `${commit}:${path}`).stdout);
}

/** All that a result names: on disk, in its checkpoints, in its undo. */
function namedBy(repository: TestRepository, { saved, undo, settled }: RestoreResult): Set<string> {
  const earlier = settled.map(({ before }) => (before === null ? null : snapshotOf(repository, before)));
  const left = settled.map((one) => one.saved?.snapshot);
  const commits = [saved?.snapshot, undo, ...left, ...earlier].filter((one) => one != null);
  return new Set(commits.flatMap((commit) => contentsOf(repository, commit)));
}

function snapshotOf(repository: TestRepository, seq: number): string {
  const ref = 'refs/orchestration/epics/x';
  const log = repository.git('log', '--format=%s%x1f%(trailers:key=Orch-Snapshot,valueonly)%x1e', ref);
  const found = log.split('\x1e').find((record) => record.trim().startsWith(`ckpt ${seq}:`));
  return found?.split('\x1f')[1]?.trim() ?? '';
}

const onDisk = ({ folder }: TestRepository) =>
  Object.values(lookAtFiles(folder)).map((content) => content.slice(content.indexOf(' ') + 1));

/** All that some undo of this repository holds. */
function inUndos(repository: TestRepository): Set<string> {
  const refs = repository
    .git('for-each-ref', '--format=%(refname)', 'refs/orchestration-local/undo')
    .split('\n');
  return new Set([...onDisk(repository), ...refs.flatMap((ref) => contentsOf(repository, ref))]);
}

async function isComplete({ folder }: TestRepository): Promise<boolean> {
  const orch = await openOrch({ cwd: folder });
  const last = (await listUndos(orch)).findLast(({ undo }) => !undo.rolledBack);
  orch.close();
  return last?.undo.isFinished === true;
}

/** A file that was being written when its writer died was never whole; every other has to be kept. */
function check(contents: Iterable<string>, kept: ReadonlySet<string>, after: Step): Set<string> {
  for (const content of contents)
    if (content.endsWith('\n')) expect([after, content, kept.has(content)]).toEqual([after, content, true]);
  return new Set();
}

it('I2: whatever is edited, restored, killed and undone, no bytes that were on disk are lost unnamed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 9 }), async (steps) => {
      const repository = makeRepositoryWithCommit();
      const where = { cwd: repository.folder };
      let written = 0;
      const write = (path: string) =>
        repository.write(path, `${path} as number ${++written}, of some length\n`);
      repository.write('.gitignore', '*.log\n');
      for (const reason of ['one', 'two']) {
        for (const path of names.slice(0, written === 0 ? 2 : 3)) write(path);
        await save(repository, [reason]);
      }
      let unnamed = new Set<string>(); // of killed restores, to be named by the next
      for (const one of steps) {
        const before = onDisk(repository);
        if ('path' in one) {
          if (one.do === 'write') write(one.path);
          else rmSync(join(repository.folder, one.path), { force: true });
          continue; // what the user does is theirs
        }
        const run = (
          which: number | 'undo',
          orch: typeof where | Parameters<Parameters<typeof interrupt>[2]>[0],
        ) =>
          which === 'undo'
            ? undoRestore({}, orch)
            : restoreCheckpoint({ epicId: 'x', name: String(which) }, orch);
        const nothing = (error: { code?: string }) => {
          if (error.code !== 'CHECKPOINT_NOT_FOUND') throw error;
          return null;
        };
        let result: RestoreResult | null = null;
        let died = false;
        if (one.do === 'kill') {
          died = await interrupt(repository, one, async (orch) => {
            result = await run(one.to, orch).catch(nothing);
          });
        } else result = await run(one.do === 'undo' ? 'undo' : one.to, where).catch(nothing);
        const known = [1, 2].flatMap((seq) => contentsOf(repository, snapshotOf(repository, seq))); // the user's own words
        const kept = new Set([...onDisk(repository), ...known]);
        if (died) {
          for (const content of before) if (!kept.has(content)) unnamed.add(content);
          // One that died behind its end, unheard, has nothing to be said of it later: its undo has a name.
          if (await isComplete(repository))
            unnamed = check(unnamed, new Set([...inUndos(repository), ...known]), one);
          continue;
        }
        if (result !== null) for (const content of namedBy(repository, result)) kept.add(content);
        unnamed = check([...before, ...unnamed], kept, one);
      }
      expectSound(repository);
    }),
    { numRuns: runs(5), endOnFailure: true },
  );
}, 600_000);
