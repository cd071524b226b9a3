import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  create,
  engines,
  epicRef,
  expectSound,
  fail,
  list,
  reasonsOf,
  repositoryAt,
  save,
  show,
  verify,
} from '../support/checkpoints.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const at = (hour: string) => ({ env: { ORCH_NOW: `2026-03-01T${hour}:00Z` } });
const clockAt = (hour: string) => ({ clock: { now: () => Date.parse(`2026-03-01T${hour}:00Z`) } });

/** Four, an hour apart, from ten o'clock. */
async function makeFour(): Promise<TestRepository> {
  const repository = makeRepositoryWithCommit();
  for (const hour of ['10:00', '11:00', '12:00', '13:00'])
    await save(repository, [hour], { ...clockAt(hour), apart: true });
  return repository;
}

describe('a checkpoint is named', () => {
  it('by number, place, session and age', async () => {
    const repository = await makeFour();
    const names = {
      '1': '10:00',
      '4': '13:00',
      latest: '13:00',
      'latest~2': '11:00',
      s2: '11:00',
      '2h ago': '11:00',
      '150 minutes ago': '11:00',
    };
    for (const [name, reason] of Object.entries(names))
      expect({ name, reason: show(repository, name, at('13:30')).document.reason }).toEqual({ name, reason });
    expect(show(repository, ' latest ').document.reason).toBe('13:00');
  });

  it('by its commit, or the beginning of it', async () => {
    const repository = await makeFour();
    const { commit, id } = show(repository, '2').checkpoint;
    for (const name of [commit, commit.slice(0, 7), commit.slice(0, 12)])
      expect(show(repository, name).checkpoint.id).toBe(id);
    expect(fail(repository, ['checkpoint', 'show', commit.slice(0, 6), '-e', 'x']).code).toBe(
      'CHECKPOINT_NOT_FOUND',
    );
  });

  it('by its id, or the beginning of it, or of its random part', async () => {
    const repository = await makeFour();
    const { id } = show(repository, '3').checkpoint;
    for (const name of [id, id.slice(0, -3), 'ckpt-00000003'])
      expect(show(repository, name).checkpoint.id).toBe(id);
    const random = id.slice('ckpt-00000003-'.length);
    if (!/^\d+$/.test(random)) expect(show(repository, random).checkpoint.id).toBe(id);
  });

  it('and where there is none of that name, it is said', async () => {
    const repository = await makeFour();
    for (const name of ['5', 'latest~4', 's9', 'green', '9h ago', 'zzzzzz']) {
      const error = fail(repository, ['checkpoint', 'show', name, '-e', 'x'], at('13:30'));
      expect(error).toMatchObject({ status: 1, code: 'CHECKPOINT_NOT_FOUND', data: { epicId: 'x', name } });
    }
  });

  it('and a beginning that several have is an error that lists them', async () => {
    const repository = await makeFour();
    const error = fail(repository, ['checkpoint', 'show', 'ckpt-0000000', '-e', 'x']);
    expect(error).toMatchObject({ status: 2, code: 'CHECKPOINT_AMBIGUOUS' });
    expect(error.data.ids).toEqual(list(repository).checkpoints.map(({ id }) => id));
  });

  it('and each knows its session, and each session its newest checkpoint', async () => {
    const repository = await makeFour();
    const { checkpoint, document } = show(repository, '2');
    const session = document.state.sessions[checkpoint.sessionId]?.value;
    expect(session).toMatchObject({
      number: 2,
      status: 'paused',
      checkpoints: 1,
      latestCheckpointId: checkpoint.id,
    });
  });
});

describe.each(engines)('where two machines gave the same number (%s)', (engine) => {
  const env = { ORCH_ENGINE: engine };

  /** Joins what another clone has, by a commit of this message. */
  function merge(repository: TestRepository, other: TestRepository, message: string): void {
    repository.git('fetch', '--quiet', other.folder, epicRef);
    const parents = ['-p', epicRef, '-p', 'FETCH_HEAD'];
    const commit = repository.git('commit-tree', `${epicRef}^{tree}`, ...parents, '-m', message);
    repository.git('update-ref', epicRef, commit);
  }

  /** A message as orch writes it for a merge. */
  function mergeMessage(repository: TestRepository): string {
    return repository
      .git('log', '-1', '--format=%B', epicRef)
      .replace(/ckpt-\d{8}-\w+/, 'ckpt-00000009-merged')
      .replace('Orch-Trigger: manual', 'Orch-Trigger: merge');
  }

  function expectAmbiguous(
    repository: TestRepository,
    names: readonly string[],
    ids: readonly string[],
  ): void {
    for (const name of names) {
      const error = fail(repository, ['checkpoint', 'show', name, '-e', 'x'], { env });
      expect(error).toMatchObject({ status: 2, code: 'CHECKPOINT_AMBIGUOUS' });
      expect(error.data.ids).toEqual(expect.arrayContaining([...ids]));
    }
    for (const id of ids) expect(show(repository, id, { env }).checkpoint.id).toBe(id);
  }

  it.each(['orch', 'somebody'])('it is an error that lists both, when %s merged them', async (who) => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one'], clockAt('10:00'));
    const copy = repositoryAt(repository.home, join(repository.home, 'copy'));
    cpSync(repository.folder, copy.folder, { recursive: true });
    const [here] = await save(repository, ['here'], { ...clockAt('11:00'), apart: true });
    const [there] = await save(copy, ['there'], { ...clockAt('12:00'), apart: true });
    merge(repository, copy, who === 'orch' ? mergeMessage(repository) : 'merged by hand');
    // The merge itself is of this clone's session 2, if it is a checkpoint.
    expectAmbiguous(repository, who === 'orch' ? ['2'] : ['2', 's2'], [here.id, there.id]);
    expect(show(repository, '1', { env }).document.reason).toBe('one');
  });

  it('it is one also where each of them began the epic by itself', async () => {
    const repository = makeRepositoryWithCommit();
    const other = makeRepositoryWithCommit();
    const [here] = await save(repository, ['here'], clockAt('10:00'));
    const [there] = await save(other, ['there'], clockAt('11:00'));
    merge(repository, other, mergeMessage(repository));
    expectAmbiguous(repository, ['1'], [here.id, there.id]);
  });
});

describe('a clock that is not to be trusted', () => {
  it.each(engines)(
    'may jump back: numbers grow, commit times never fall, lists keep the order (%s)',
    (engine) => {
      const repository = makeRepositoryWithCommit();
      const times = [
        '2026-03-02T12:00:00Z',
        '2026-03-01T00:00:00Z',
        '2026-03-01T00:00:01Z',
        '2026-03-02T12:00:01Z',
      ];
      const made = times.map((time, index) =>
        create(repository, `number ${index + 1}`, { env: { ORCH_NOW: time, ORCH_ENGINE: engine } }),
      );
      expect(made.map(({ seq, timestamp }) => [seq, timestamp])).toEqual(
        times.map((time, index) => [index + 1, time]),
      );
      const committed = repository.git('log', '--reverse', '--format=%ct', epicRef).split('\n').map(Number);
      expect(committed).toEqual(committed.toSorted((a, b) => a - b));
      for (const reader of engines) {
        const reasons = reasonsOf(list(repository, { env: { ORCH_ENGINE: reader } }));
        expect(reasons).toEqual(['number 4', 'number 3', 'number 2', 'number 1']);
      }
      const { state } = show(repository, 'latest').document;
      // By the clock that never falls it is one day.
      expect(Object.values(state.sessions)).toMatchObject([{ value: { number: 1, checkpoints: 4 } }]);
      expect(verify(repository).status).toBe(0);
      expectSound(repository);
    },
  );

  it('may be years ahead for a while', () => {
    const repository = makeRepositoryWithCommit();
    create(repository, 'from 2096', { env: { ORCH_NOW: '2096-01-01T00:00:00Z' } });
    create(repository, 'now');
    expect(reasonsOf(list(repository))).toEqual(['now', 'from 2096']);
    expect(show(repository, 'latest').document.reason).toBe('now');
    expectSound(repository);
  });

  it('is the one that ORCH_NOW sets, in the document and in git', () => {
    const repository = makeRepositoryWithCommit();
    const made = create(repository, 'one', { env: { ORCH_NOW: '2026-03-01T10:00:00.999Z' } });
    expect(made.timestamp).toBe('2026-03-01T10:00:00Z');
    expect(show(repository, 'latest').document.timestamp).toBe('2026-03-01T10:00:00Z');
    expect(repository.git('log', '-1', '--format=%aI', epicRef)).toBe('2026-03-01T10:00:00+00:00');
  });
});
