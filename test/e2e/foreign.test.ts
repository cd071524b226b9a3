import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../src/index.ts';
import { canonicalJson } from '../../src/state/canonical.ts';
import {
  commitFiles,
  create,
  documentPath,
  engines,
  epicRef,
  expectSound,
  fail,
  list,
  reasonsOf,
  save,
  show,
  verify,
} from '../support/checkpoints.ts';
import { damage } from '../support/damage.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/** Puts another document, with a checksum that holds, in the place of the newest one's. */
function replaceDocument(
  repository: TestRepository,
  { commit, ...checkpoint }: Checkpoint,
  change: (document: Record<string, unknown>) => Record<string, unknown>,
): string {
  const path = documentPath({ commit, ...checkpoint });
  const { integrity: _, ...content } = change(JSON.parse(repository.git('show', `${commit}:${path}`)));
  const sum = createHash('sha256').update(canonicalJson(content)).digest('hex');
  const text = JSON.stringify({ ...content, integrity: `sha256-${sum}` });
  const message = repository.git('log', '-1', '--format=%B', commit);
  const made = commitFiles(repository, `${commit}~1`, { [path]: text }, message);
  repository.git('update-ref', epicRef, made, commit);
  return made;
}

describe.each(engines)('a document of a newer format (%s)', (engine) => {
  const env = { ORCH_ENGINE: engine };

  it('is a row of its own in status, and hides no other epic', async () => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two']);
    replaceDocument(repository, two, (document) => ({ ...document, format: 3 }));
    orchJson(repository, ['record', 'note', 'mine', '-e', 'good'], { env });
    const shown = runOrch(repository, ['status'], { env });
    expect(shown).toMatchObject({ status: 0, stderr: expect.stringContaining('x cannot be read: ') });
    expect(shown.stdout).toMatch(/^good +‖ paused/m);
    expect(shown.stdout).toMatch(/^x +✗ needs a newer orch/m);
    expect(orchJson(repository, ['status'], { env })).toMatchObject({
      epics: [{ epicId: 'good' }],
      unreadable: [{ epicId: 'x', code: 'FORMAT_UNSUPPORTED' }],
    });
    expect(orchJson(repository, ['session', 'list'], { env })).toMatchObject({
      sessions: [{ epicId: 'good' }],
    });
  });

  it('is refused, not half-read, and nothing is written over it', async () => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two']);
    const made = replaceDocument(repository, two, (document) => ({ ...document, format: 3 }));

    for (const args of [['show'], ['create', '--reason', 'three']]) {
      const error = fail(repository, ['checkpoint', ...args, '-e', 'x'], { env });
      expect(error).toMatchObject({
        status: 6,
        code: 'FORMAT_UNSUPPORTED',
        data: { format: 3, supported: 2 },
      });
      expect(error.hint).toContain('Update orch');
    }
    expect(repository.git('rev-parse', epicRef)).toBe(made);
    expect(reasonsOf(list(repository, { env }))).toEqual(['two', 'one']);
    expect(show(repository, 'latest~1', { env }).document.reason).toBe('one');
    const { status, found } = verify(repository, { env });
    expect({ status, checked: found.checked }).toEqual({ status: 6, checked: 2 });
    expect(found).toMatchObject({
      damaged: [],
      newer: [{ commit: made, id: two.id, code: 'FORMAT_UNSUPPORTED' }],
    });
    const told = runOrch(repository, ['checkpoint', 'verify'], { env });
    expect(told.stdout).toContain(`! newer: x ${two.id}\n`);
    expect(told.stderr).toContain('1 of 2 checkpoints was written by a newer orch');
    expect(`${told.stdout}${told.stderr}`.replace('Nothing is damaged.', '')).not.toContain('damaged');
  });

  it('is not written over either where a damaged one stands on it', async () => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two']);
    const newer = replaceDocument(repository, two, (document) => ({ ...document, format: 3 }));
    const message = repository
      .git('log', '-1', '--format=%B', two.commit)
      .replaceAll(two.id, 'ckpt-00000003-damaged');
    const top = commitFiles(repository, newer, {}, message);
    repository.git('update-ref', epicRef, top);
    expect(fail(repository, ['checkpoint', 'show', '-e', 'x'], { env }).code).toBe('INTEGRITY');
    const error = fail(repository, ['checkpoint', 'create', '-e', 'x'], { env });
    expect(error).toMatchObject({ status: 6, code: 'FORMAT_UNSUPPORTED' });
    expect(repository.git('rev-parse', epicRef)).toBe(top);
  });
});

describe('a document that is not what its commit says', () => {
  it.each<[string, (document: Record<string, unknown>) => Record<string, unknown>]>([
    ['of another epic', (document) => ({ ...document, epicId: 'other' })],
    ['of another checkpoint', (document) => ({ ...document, id: 'ckpt-00000009-aaaaaa' })],
    ['of another shape', ({ state: _, ...document }) => document],
  ])('(%s) is damage', async (_, change) => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two']);
    const made = replaceDocument(repository, two, change);
    expect(fail(repository, ['checkpoint', 'show', '-e', 'x'])).toMatchObject({
      status: 6,
      code: 'INTEGRITY',
    });
    expect(verify(repository).found.damaged).toMatchObject([{ commit: made, code: 'INTEGRITY' }]);
    expect(create(repository, 'three').seq).toBe(2);
    expect(reasonsOf(list(repository))).toEqual(['three', 'one']);
  });

  it('(another cost) is found by verify', async () => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two']);
    replaceDocument(repository, two, (document) => ({ ...document, costUsd: 999 }));
    const { status, found } = verify(repository);
    expect(status).toBe(6);
    expect(found.damaged[0]?.problem).toContain('cost');
  });

  it('but has fields we do not know is read whole', async () => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two']);
    replaceDocument(repository, two, (document) => ({ ...document, later: { wiser: true } }));
    expect(show(repository, 'latest').document).toMatchObject({ later: { wiser: true } });
    expect(verify(repository).status).toBe(0);
  });
});

describe.each(engines)('what somebody else put on the ref (%s)', (engine) => {
  const env = { ORCH_ENGINE: engine };

  it('files in the tree, wherever they are, survive every checkpoint', async () => {
    const repository = makeRepositoryWithCommit();
    const [tip] = await save(repository, ['one']);
    const files = {
      NOTES: 'at the top\n',
      '.orchestration/config.yaml': 'above\n',
      '.orchestration/checkpoints/other/file': 'beside\n',
      '.orchestration/checkpoints/x/artifacts/run/report': 'below\n',
      '.orchestration/checkpoints/x/00000000-notes.json': 'nearly one of ours\n',
    };
    const foreign = commitFiles(repository, tip.commit, files, 'Somebody was here\n\nOrch-Cost: 1.000000');
    repository.git('update-ref', epicRef, foreign);

    await save(repository, ['two', 'three', 'four', 'five', 'six']);
    create(repository, 'seven', { env });
    for (const [path, content] of Object.entries(files))
      expect(repository.git('show', `${epicRef}:${path}`)).toBe(content.trimEnd());
    const names = repository.git('ls-tree', '--name-only', `${epicRef}:.orchestration/checkpoints/x`);
    expect(names.split('\n').filter((name) => name.includes('-ckpt-'))).toHaveLength(5);
    expectSound(repository);
  });

  it('commits stay in the history, and are no checkpoints', async () => {
    const repository = makeRepositoryWithCommit();
    const [tip] = await save(repository, ['one'], { apart: true });
    const foreign = commitFiles(repository, tip.commit, {}, 'Somebody was here');
    repository.git('update-ref', epicRef, foreign);
    expect(reasonsOf(list(repository, { env }))).toEqual(['one']);
    expect(show(repository, 'latest', { env }).checkpoint.id).toBe(tip.id);
    expect(create(repository, 'two', { env }).seq).toBe(2);
    expect(repository.git('log', '--format=%H', epicRef).split('\n')).toContain(foreign);
    expect(reasonsOf(list(repository, { env }))).toEqual(['two', 'one']);
    expect(verify(repository, { env })).toMatchObject({ status: 0, found: { checked: 2, damaged: [] } });
    expect(Object.keys(show(repository, 'latest', { env }).document.state.sessions)).toHaveLength(2);
  });

  it('a damaged checkpoint below a foreign commit is not lost sight of', async () => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two'], { apart: true });
    const foreign = commitFiles(repository, two.commit, {}, 'Somebody was here');
    repository.git('update-ref', epicRef, foreign);
    damage(repository, two, 'document', 'truncated');
    expect(fail(repository, ['checkpoint', 'show', '-e', 'x'], { env }).code).toBe('INTEGRITY');
    create(repository, 'three', { env });
    expect(repository.git('log', '--format=%H', epicRef).split('\n')).toContain(foreign);
    expect(Object.keys(show(repository, 'latest', { env }).document.state.sessions)).toHaveLength(3);
  });
});
