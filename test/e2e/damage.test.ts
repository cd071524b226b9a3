import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/index.ts';
import {
  engines,
  expectSound,
  fail,
  list,
  readRefs,
  readText,
  reasonsOf,
  save,
  show,
  verify,
} from '../support/checkpoints.ts';
import { damage } from '../support/damage.ts';
import { errorOf, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

type Three = { repository: TestRepository; one: Checkpoint; two: Checkpoint; three: Checkpoint };

async function makeThree(): Promise<Three> {
  const repository = makeRepositoryWithCommit();
  const [one, two, three] = await save(repository, ['one', 'two', 'three'], { apart: true });
  return { repository, one, two, three };
}

/** Creates with `--json`, which must succeed; what it said besides. */
function createOver(repository: TestRepository, reason: string, env: Record<string, string>): string {
  const ran = runOrch(repository, ['checkpoint', 'create', '-e', 'x', '-r', reason, '--json'], { env });
  expect(ran.status).toBe(0);
  expect(JSON.parse(ran.stdout).checkpoint.reason).toBe(reason);
  return ran.stderr;
}

const newestCases = [
  ['native', 'document', 'deleted'],
  ['native', 'document', 'flipped'],
  ['native', 'folder', 'truncated'],
  ['native', 'commit', 'deleted'],
  ['isomorphic', 'document', 'altered'],
  ['isomorphic', 'commit', 'truncated'],
] as const;

describe('the newest checkpoint is damaged', () => {
  it.each(newestCases)(
    '(%s, %s %s): it is said, the others are shown, the next does without it',
    async (...that) => {
      const [engine, part, how] = that;
      const { repository, three } = await makeThree();
      const env = { ORCH_ENGINE: engine };
      damage(repository, three, part, how);

      expect(fail(repository, ['checkpoint', 'show', '-e', 'x'], { env })).toMatchObject({
        status: 6,
        code: 'INTEGRITY',
        hint: expect.any(String),
      });
      expect(reasonsOf(list(repository, { env })).slice(-2)).toEqual(['two', 'one']);
      expect(show(repository, 'latest~1', { env }).document.reason).toBe('two');

      const verified = verify(repository, { env });
      expect(verified.status).toBe(6);
      expect(errorOf(verified).code).toBe('INTEGRITY');
      expect(verified.found.damaged).toHaveLength(1);
      expect(verified.found.damaged[0]).toMatchObject({
        epicId: 'x',
        commit: three.commit,
        code: 'INTEGRITY',
      });

      const said = createOver(repository, 'four', env);
      expect(said).toContain(three.commit.slice(0, 12));
      expect(readText(repository.folder, '.git/orchestration/logs/orch.log')).toContain(
        three.commit.slice(0, 12),
      );
      const { document } = show(repository, 'latest', { env });
      expect(document.rebuiltOver?.map(({ commit }) => commit)).toEqual([three.commit]);
      expect(Object.values(document.state.sessions).map(({ value }) => value.number)).toEqual([1, 2, 3, 4]);
      expect(verify(repository, { env })).toMatchObject({ status: 0, found: { checked: 3, damaged: [] } });
      repository.git('gc', '--quiet', '--prune=now');
      expectSound(repository);
    },
  );

  it('and its file is still there: git gc, as it is, succeeds after the next checkpoint', async () => {
    const { repository, three } = await makeThree();
    damage(repository, three, 'commit', 'truncated');
    createOver(repository, 'four', {});
    const { status, stderr } = repository.tryGit('gc', '--quiet');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.each(engines)('and says something else (%s): it is not believed', async (engine) => {
    const { repository, three } = await makeThree();
    const env = { ORCH_ENGINE: engine };
    damage(repository, three, 'commit', 'altered');
    expect(verify(repository, { env }).found.damaged).toHaveLength(1);
    expect(fail(repository, ['checkpoint', 'show', '-e', 'x'], { env }).code).toBe('INTEGRITY');
    expect(reasonsOf(list(repository, { env }))).toEqual(['two', 'one']);
  });

  it.each(engines)('and an older one too (%s): both are named', async (engine) => {
    const { repository, one, three } = await makeThree();
    damage(repository, three, 'commit', 'deleted');
    damage(repository, one, 'document', 'flipped');
    const { found, ...ran } = verify(repository, { env: { ORCH_ENGINE: engine } });
    expect(ran.status).toBe(6);
    expect(found.damaged.map(({ commit }) => commit)).toEqual([three.commit, one.commit]);
    expect(errorOf(ran).message).not.toContain('of 0');
  });

  it('and nothing tells where it came from: nothing is cut off, and nothing is changed', async () => {
    const { repository, three } = await makeThree();
    damage(repository, three, 'commit', 'deleted');
    rmSync(join(repository.folder, '.git/orchestration/tips'), { recursive: true });
    const before = readText(repository.folder, '.git/refs/orchestration/epics/x');
    for (const args of [
      ['create', '--epic', 'x'],
      ['list', 'x'],
      ['show', '--epic', 'x'],
    ]) {
      const error = fail(repository, ['checkpoint', ...args]);
      expect(error).toMatchObject({ status: 6, code: 'INTEGRITY', hint: expect.any(String) });
    }
    expect(readText(repository.folder, '.git/refs/orchestration/epics/x')).toBe(before);
  });
});

describe.each(engines)('a checkpoint in the middle is damaged (%s)', (engine) => {
  const env = { ORCH_ENGINE: engine };

  it('its document: the newest is as good as before, and only that one cannot be shown', async () => {
    const { repository, two } = await makeThree();
    damage(repository, two, 'document', 'flipped');
    expect(show(repository, 'latest', { env }).document.reason).toBe('three');
    expect(fail(repository, ['checkpoint', 'show', '2', '-e', 'x'], { env })).toMatchObject({
      status: 6,
      code: 'INTEGRITY',
    });
    expect(show(repository, '1', { env }).document.reason).toBe('one');
    expect(reasonsOf(list(repository, { env }))).toEqual(['three', 'two', 'one']);
    const { status, found } = verify(repository, { env });
    expect({ status, checked: found.checked }).toEqual({ status: 6, checked: 3 });
    expect(found.damaged.map(({ id }) => id)).toEqual([two.id]);
    createOver(repository, 'four', env);
    expect(verify(repository, { env }).found.damaged.map(({ id }) => id)).toEqual([two.id]);
  });

  it('its commit: the newer ones are shown and listed, and what is missing is said', async () => {
    const { repository, two } = await makeThree();
    damage(repository, two, 'commit', 'deleted');
    expect(show(repository, 'latest', { env }).document.reason).toBe('three');
    const listed = list(repository, { env });
    expect(reasonsOf(listed)[0]).toBe('three');
    expect(listed.damaged?.object).toBe(two.commit);
    expect(fail(repository, ['checkpoint', 'show', '2', '-e', 'x'], { env }).code).toBe('INTEGRITY');
    const { status, found } = verify(repository, { env });
    expect({ status, checked: found.checked }).toEqual({ status: 6, checked: 2 });
    expect(found.damaged.map(({ commit }) => commit)).toEqual([two.commit]);
    createOver(repository, 'four', env);
    expect(reasonsOf(list(repository, { env })).slice(0, 2)).toEqual(['four', 'three']);
  });
});

it('damage of one epic leaves the others alone, and people are told in words', async () => {
  const { repository, three } = await makeThree();
  runOrch(repository, ['checkpoint', 'create', '-e', 'other', '-r', 'sound']);
  damage(repository, three, 'document', 'deleted');
  const ran = runOrch(repository, ['checkpoint', 'verify']);
  expect(ran.status).toBe(6);
  expect(ran.stdout).toMatch(new RegExp(`^✗ damaged: x ${three.id}\n  .*missing`));
  expect(ran.stderr).toMatch(/^error: 1 of 4 checkpoints is damaged\n/);
  const before = readRefs(repository);
  expect(runOrch(repository, ['checkpoint', 'verify', '-e', 'other']).status).toBe(0);
  expect(readRefs(repository)).toBe(before);
});
