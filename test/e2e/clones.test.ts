import { spawnSync } from 'node:child_process';
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  create,
  engines,
  epicRef,
  expectSound,
  fail,
  list,
  listFiles,
  readRefs,
  readText,
  reasonsOf,
  repositoryAt,
  save,
  show,
} from '../support/checkpoints.ts';
import { errorOf, orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

function writerOf(repository: TestRepository): string {
  return JSON.parse(readText(repository.folder, '.git/orchestration/writer.json')).id;
}

/** As if the process had died after recording, before the checkpoint: the last session is in its journal only. */
function forgetNewestCheckpoint(repository: TestRepository): void {
  repository.git('update-ref', epicRef, `${epicRef}~1`);
}

describe('a repository that is not where it was', () => {
  it("gets a new writer when it was moved; what its journal holds is still the old one's", async () => {
    const original = makeRepositoryWithCommit();
    await save(original, ['one', 'two']);
    const old = writerOf(original);
    forgetNewestCheckpoint(original);
    const folder = join(original.home, 'moved');
    renameSync(original.folder, folder);
    const moved = repositoryAt(original.home, folder);

    create(moved, 'three');
    const { document } = show(moved, 'latest');
    expect(writerOf(moved)).not.toBe(old);
    expect(document.writer).toBe(writerOf(moved));
    const byOld = document.events.filter(({ by }) => by === old);
    expect(byOld.map(({ fact }) => fact.kind)).toEqual(['session_joined', 'session_paused']);
    expect(Object.keys(document.state.sessions)).toHaveLength(2);
    expect(document.sessionNumber).toBe(2);
  });

  it('gets a new writer in the copy; both go on, and neither touches the other', async () => {
    const original = makeRepositoryWithCommit();
    await save(original, ['before']);
    const copy = repositoryAt(original.home, join(original.home, 'copy'));
    cpSync(original.folder, copy.folder, { recursive: true });

    create(copy, 'in the copy');
    create(original, 'in the original');
    expect(writerOf(copy)).not.toBe(writerOf(original));
    expect(show(original, '1').document.writer).toBe(writerOf(original));
    expect(show(original, 'latest').document.writer).toBe(writerOf(original));
    expect(show(copy, 'latest').document.writer).toBe(writerOf(copy));
    expect(reasonsOf(list(copy))).toEqual(['in the copy', 'before']);
    expect(reasonsOf(list(original))).toEqual(['in the original', 'before']);
    expectSound(copy);
  });

  it('has one writer in all its worktrees, and one that is pinned keeps its name', async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('worktree', 'add', '--quiet', '../linked');
    const linked = repositoryAt(repository.home, join(repository.home, 'linked'));
    await save(repository, ['one']);
    create(linked, 'two');
    create(linked, 'three', { env: { ORCH_WRITER: 'ci' } });
    expect(show(repository, '1').document.writer).toBe(writerOf(repository));
    expect(show(repository, '2').document.writer).toBe(writerOf(repository));
    expect(show(repository, '3').document.writer).toBe('ci');
  });

  it('makes a new writer where the stored one cannot be read', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    writeFileSync(join(repository.folder, '.git/orchestration/writer.json'), '{"id": "to');
    expect(create(repository, 'two').seq).toBe(2);
    expect(show(repository, 'latest').document.writer).toBe(writerOf(repository));
  });

  it('forgets nothing when everything below .git/orchestration is lost', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one', 'two']);
    rmSync(join(repository.folder, '.git/orchestration'), { recursive: true });
    expect(create(repository, 'three').seq).toBe(3);
    expect(reasonsOf(list(repository))).toEqual(['three', 'two', 'one']);
    expect(Object.keys(show(repository, 'latest').document.state.sessions)).toHaveLength(2);
  });
});

describe('a repository that cannot be written', () => {
  const isRoot = process.getuid?.() === 0;

  /** Runs it as somebody whom permissions bind; root writes wherever it likes. */
  function runBound(repository: TestRepository, args: readonly string[], env: Record<string, string>) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [orchBin, ...args, '--json'], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home, env),
      encoding: 'utf8',
      ...(isRoot && { uid: 65534, gid: 65534 }),
    });
    return { status, stdout, stderr };
  }

  it.each(engines)('is read all the same, and says why it keeps nothing (%s)', async (engine) => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one', 'two']);
    if (isRoot) spawnSync('chown', ['-R', '65534:65534', repository.home]);
    spawnSync('chmod', ['-R', 'a-w', repository.folder]);
    const env = { ORCH_ENGINE: engine };
    const before = listFiles(repository.folder);

    const error = runBound(repository, ['checkpoint', 'create', '--epic', 'x'], env);
    expect({ status: error.status, stdout: error.stdout }).toEqual({ status: 1, stdout: '' });
    expect(errorOf(error)).toMatchObject({ code: 'WRITE_FAILED', hint: expect.any(String) });
    expect(errorOf(error).message).toContain('permission denied');
    for (const args of [['list'], ['show'], ['verify']])
      expect(runBound(repository, ['checkpoint', ...args], env)).toMatchObject({ status: 0, stderr: '' });
    expect(listFiles(repository.folder)).toEqual(before);
    spawnSync('chmod', ['-R', 'u+w', repository.folder]);
  });

  it.each(['.git/orchestration', '.git/orchestration/journal', '.git/orchestration/locks'])(
    'because a file stands at %s: it says so, and loses nothing',
    async (path) => {
      const repository = makeRepositoryWithCommit();
      await save(repository, ['one']);
      const before = readRefs(repository);
      rmSync(join(repository.folder, path), { recursive: true });
      writeFileSync(join(repository.folder, path), 'in the way');
      const error = fail(repository, ['checkpoint', 'create', '--epic', 'x']);
      expect(error).toMatchObject({ status: 1, code: 'WRITE_FAILED', hint: expect.any(String) });
      expect(readRefs(repository)).toBe(before);
      expect(readText(repository.folder, path)).toBe('in the way');
      expect(reasonsOf(list(repository))).toEqual(['one']);
    },
  );

  it('because a file stands where the refs go: it says so, without a word of success', () => {
    const repository = makeRepositoryWithCommit();
    writeFileSync(join(repository.folder, '.git/refs/orchestration'), '');
    for (const engine of engines) {
      const ran = runOrch(repository, ['checkpoint', 'create', '--epic', 'x', '--json'], {
        env: { ORCH_ENGINE: engine },
      });
      expect({ status: ran.status, stdout: ran.stdout }).toEqual({ status: 1, stdout: '' });
      expect(errorOf(ran).hint).toEqual(expect.any(String));
    }
  });
});
