import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunFile } from '../../src/checkpoint/document/run-files.ts';
import { mergeHistory } from '../../src/checkpoint/merge.ts';
import { parseOid, parseWriterId } from '../../src/ids.ts';
import type { Orch } from '../../src/orch.ts';
import type { RunningSession } from '../../src/record/ports.ts';
import { record } from '../../src/record/record.ts';
import type { Fact } from '../../src/state/facts.ts';
import { engines, repositoryAt } from '../support/checkpoints.ts';
import { loseObject } from '../support/damage.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { bury, start } from '../support/sessions.ts';
import { epic, withOrch } from '../support/store.ts';

const ref = 'refs/orchestration/epics/e';
const folder = '.orchestration/checkpoints/e/artifacts';

function runFact(
  { session }: RunningSession,
  run: string,
  more: Partial<Extract<Fact, { kind: 'run' }>> = {},
): Fact {
  const head = {
    plan: 'release',
    digest: 'plan-digest',
    status: 'running',
    from: null,
    endedAt: null,
  } as const;
  return { kind: 'run', run, ...head, session, startedAt: 1, ...more };
}

function effectFact(run: string, id: string, status: 'planned' | 'acknowledged'): Fact {
  const what = `POST http://127.0.0.1/${id}`;
  return {
    kind: 'effect',
    run,
    id,
    task: 'publish',
    key: `key-${id}`,
    status,
    reason: null,
    digest: id,
    what,
  };
}

/** Records facts, with a checkpoint. */
function save(orch: Orch, target: RunningSession, facts: readonly Fact[], runFiles: readonly RunFile[] = []) {
  return record(orch, target, facts, { trigger: 'task', reason: null, runFiles });
}

/** The paths below `artifacts/` in the newest checkpoint. */
function listKept({ git }: TestRepository): string[] {
  return git('ls-tree', '-r', '-z', '--name-only', `${ref}:.orchestration/checkpoints/e`)
    .split('\0')
    .filter((path) => path.startsWith('artifacts/'))
    .map((path) => path.slice('artifacts/'.length));
}

function show({ git }: TestRepository, path: string): { effects: { id: string }[]; planDigest: string } {
  return JSON.parse(git('show', `${ref}:${folder}/${path}`));
}

const file = (run: string, path: string, text: string): RunFile => ({ run, path, bytes: Buffer.from(text) });

describe.each(engines)('what runs keep in the tree, with the %s engine', (engine) => {
  it('shows what was planned, then what was done, until the next run of the plan', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder, engine }, async (orch) => {
      const { target } = await start(orch);
      const planned = [effectFact('run-aaaa', 'tag', 'planned'), effectFact('run-aaaa', 'mail', 'planned')];
      await save(orch, target, [runFact(target, 'run-aaaa'), ...planned]);
      expect(listKept(repository)).toEqual(['run-aaaa/planned-writeback.json']);
      expect(show(repository, 'run-aaaa/planned-writeback.json')).toEqual({
        format: 1,
        run: 'run-aaaa',
        plan: 'release',
        planDigest: 'plan-digest',
        effects: ['tag', 'mail'].map((id) => ({
          id,
          task: 'publish',
          key: `key-${id}`,
          digest: id,
          what: `POST http://127.0.0.1/${id}`,
          content: null,
          whole: false,
        })),
      });

      await save(orch, target, [effectFact('run-aaaa', 'tag', 'acknowledged')]);
      expect(listKept(repository)).toEqual(['run-aaaa/planned-writeback.json']);
      await save(orch, target, [effectFact('run-aaaa', 'mail', 'acknowledged')]);
      expect(listKept(repository)).toEqual(['run-aaaa/planned-writeback.json', 'run-aaaa/writeback.json']);
      const done = show(repository, 'run-aaaa/writeback.json');
      expect(done.planDigest).toBe('plan-digest');
      expect(done.effects).toMatchObject([
        { id: 'tag', key: 'key-tag', status: 'acknowledged' },
        { id: 'mail', key: 'key-mail', status: 'acknowledged' },
      ]);

      await save(orch, target, [
        runFact(target, 'run-bbbb', { startedAt: 2 }),
        effectFact('run-bbbb', 'tag', 'planned'),
      ]);
      expect(listKept(repository)).toEqual(['run-bbbb/planned-writeback.json']);
    });
    expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it('counts what belongs to a skipped task as not to be done', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder, engine }, async (orch) => {
      const { target } = await start(orch);
      const task = { kind: 'task' as const, run: 'run-aaaa', attempts: 0, digest: 'd', artifacts: [] };
      await save(orch, target, [
        runFact(target, 'run-aaaa'),
        effectFact('run-aaaa', 'undo', 'planned'),
        { ...task, id: 'publish', status: 'skipped' as const },
      ]);
      expect(show(repository, 'run-aaaa/writeback.json').effects).toMatchObject([
        { id: 'undo', status: 'skipped' as const },
      ]);
    });
  });

  it('keeps a run’s files, in folders and with any name, until it has succeeded', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder, engine }, async (orch) => {
      const { target } = await start(orch);
      const files = [file('run-aaaa', 'dist/app.js', 'one'), file('run-aaaa', 'dist/größe ö.txt', 'two')];
      await save(orch, target, [runFact(target, 'run-aaaa')], files);
      await save(orch, target, [], [file('run-aaaa', 'dist/app.js', 'new')]);
      const kept = repository.git('show', `${ref}:${folder}/run-aaaa/files/dist/app.js`);
      expect(kept).toBe('new');
      expect(repository.git('show', `${ref}:${folder}/run-aaaa/files/dist/größe ö.txt`)).toBe('two');
      await save(orch, target, [runFact(target, 'run-aaaa', { status: 'failed' })]);
      expect(listKept(repository)).toHaveLength(2);
      await save(orch, target, [runFact(target, 'run-aaaa', { status: 'succeeded' })]);
      expect(repository.tryGit('rev-parse', '--verify', '--quiet', `${ref}:${folder}`).status).not.toBe(0);
    });
    expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it('refuses a file that would be outside, before anything is written', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder, engine }, async (orch) => {
      const { target } = await start(orch);
      for (const path of ['../x', 'a/../../x', '/x', 'a//b', '.git/config', 'a/.GIT/x', '']) {
        const saved = save(orch, target, [runFact(target, 'run-aaaa')], [file('run-aaaa', path, 'x')]);
        await expect(saved, path).rejects.toMatchObject({ code: 'USAGE' });
      }
    });
  });

  it('takes no notice of what a person did to them: the next checkpoint makes them again', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder, engine }, async (orch) => {
      const { target } = await start(orch);
      const planned = effectFact('run-aaaa', 'tag', 'planned');
      await save(orch, target, [runFact(target, 'run-aaaa'), planned]);
      const before = repository.git('show', `${ref}:${folder}/run-aaaa/planned-writeback.json`);
      // Somebody commits on the ref by hand, without the folder.
      repository.git('read-tree', ref);
      repository.git('rm', '-r', '--quiet', '--cached', folder);
      const tree = repository.git('write-tree');
      repository.git('update-ref', ref, repository.git('commit-tree', tree, '-p', ref, '-m', 'tidied'));
      repository.git('read-tree', 'HEAD');
      await save(orch, target, []);
      expect(repository.git('show', `${ref}:${folder}/run-aaaa/planned-writeback.json`)).toBe(before);
    });
  });

  it('I3: a damaged folder of theirs stops nobody: the checkpoint is rebuilt without it', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder, engine }, async (orch) => {
      const { target } = await start(orch);
      await save(orch, target, [runFact(target, 'run-aaaa'), effectFact('run-aaaa', 'tag', 'planned')]);
    });
    bury(repository.folder);
    const damaged = repository.git('rev-parse', `${ref}:${folder}`);
    loseObject(repository, damaged);
    await withOrch({ cwd: repository.folder, engine }, async (orch) => {
      const { target } = await start(orch);
      await save(orch, target, []);
    });
    expect(listKept(repository)).toEqual(['run-aaaa/planned-writeback.json']);
    expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it('I6: two clones make the same merge, with the files of both runs', async () => {
    const repository = makeRepositoryWithCommit();
    await withOrch({ cwd: repository.folder, engine }, (orch) => start(orch));
    bury(repository.folder);
    const clones = ['run-aaaa', 'run-bbbb'].map((run) => {
      const folder = join(repository.home, run);
      cpSync(repository.folder, folder, { recursive: true });
      return { run, clone: repositoryAt(repository.home, folder), writer: parseWriterId(`w-${run}`) };
    });
    for (const { run, clone, writer } of clones) {
      await withOrch({ cwd: clone.folder, engine, writer }, async (orch) => {
        const { target } = await start(orch);
        const facts = [runFact(target, run, { plan: run }), effectFact(run, 'tag', 'planned')];
        await save(orch, target, facts, [file(run, 'dist/app.js', run)]);
      });
    }
    const merged: string[] = [];
    const [one, two] = clones.map(({ clone }) => clone);
    if (one === undefined || two === undefined) throw new Error('two clones were made');
    one.git('fetch', '--quiet', two.folder, `${ref}:refs/theirs`);
    two.git('fetch', '--quiet', one.folder, `${ref}:refs/theirs`);
    for (const clone of [one, two]) {
      await withOrch({ cwd: clone.folder, engine }, async (orch) => {
        const theirs = parseOid(clone.git('rev-parse', 'refs/theirs'));
        merged.push((await mergeHistory(orch, epic, theirs)).tip);
      });
      expect(listKept(clone)).toEqual([
        'run-aaaa/files/dist/app.js',
        'run-aaaa/planned-writeback.json',
        'run-bbbb/files/dist/app.js',
        'run-bbbb/planned-writeback.json',
      ]);
    }
    expect(merged[0]).toBe(merged[1]);
  });
});
