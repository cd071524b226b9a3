import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { expectSound, fail } from '../support/checkpoints.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { startSupervisor, waitUntil } from '../support/supervised.ts';

vi.setConfig({ testTimeout: 180_000 });

const run = (repository: TestRepository, ...args: string[]) => {
  const ran = runOrch(repository, args);
  expect({ args, status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
  return ran;
};

const epicsOf = (repository: TestRepository, ...args: string[]) =>
  orchJson<{ epics: { epicId: string; budget: { spentUsd: number; limitUsd: number } }[] }>(repository, [
    'status',
    ...args,
  ]).epics;

const refsOf = (repository: TestRepository) =>
  repository.git('for-each-ref', '--format=%(refname)', 'refs/orchestration').split('\n');

function work(repository: TestRepository, epic: string): void {
  run(repository, 'cost', 'budget', '5', '-e', epic);
  repository.write('work.txt', 'work\n');
  run(repository, 'checkpoint', 'create', '-e', epic);
  run(repository, 'record', 'cost', '1.25', '-e', epic);
}

describe('orch epic', () => {
  it('says what it will do and refuses to guess the answer where it cannot ask', () => {
    const repository = makeRepositoryWithCommit();
    work(repository, 'old');
    const before = repository.git('for-each-ref');
    const asked = runOrch(repository, ['epic', 'delete', 'old']);
    expect(asked).toMatchObject({ status: 2, stdout: '' });
    expect(asked.stderr).toBe(
      [
        'Delete old: moves it to the trash, with 3 checkpoints, $1.25/$5.00 spent, the files of 1 session.',
        '  The trash keeps it with its snapshots for 30d. Its budget and what it spent go with it.',
        '  Undo: orch epic restore old',
        'error: nothing was changed: not a terminal, so orch cannot ask',
        '       If that is what you want: orch epic delete old -y',
        '',
      ].join('\n'),
    );
    for (const args of [
      ['rename', 'old', 'new'],
      ['archive', 'old'],
      ['delete', 'old'],
    ]) {
      expect(fail(repository, ['epic', ...args])).toMatchObject({ code: 'USAGE' });
      expect(run(repository, 'epic', ...args, '--dry-run').stdout).toContain('old');
    }
    expect(repository.git('for-each-ref')).toBe(before);
    expect(fail(repository, ['epic', 'rename', 'old'])).toMatchObject({ code: 'USAGE' });
    expect(fail(repository, ['epic', 'archive', 'none', '-y'])).toMatchObject({ code: 'EPIC_NOT_FOUND' });
    expect(fail(repository, ['epic', 'restore', 'old', '-y'])).toMatchObject({ code: 'USAGE' });
    expect(fail(repository, ['epic', 'restore', 'none', '-y'])).toMatchObject({ code: 'EPIC_NOT_FOUND' });
  });

  it('leaves an epic alone while a session runs on it', async () => {
    const repository = makeRepositoryWithCommit();
    const running = startSupervisor(repository, ['start', '-e', 'old', '--json', '--no-baseline']);
    await waitUntil(() => running.stdout().includes('\n'));
    for (const args of [
      ['rename', 'old', 'new'],
      ['archive', 'old'],
      ['delete', 'old'],
    ])
      expect(fail(repository, ['epic', ...args, '-y'])).toMatchObject({ code: 'SESSION_ACTIVE' });
    running.signal('SIGTERM');
    await running.ended;
  });

  it('archives: the status is without it, everything else reads it, and a session takes it out again', () => {
    const repository = makeRepositoryWithCommit();
    work(repository, 'old');
    work(repository, 'other');
    run(repository, 'epic', 'archive', 'old', '-y');
    expect(epicsOf(repository).map(({ epicId }) => epicId)).toEqual(['other']);
    expect(runOrch(repository, ['status']).stdout).toContain(
      '1 archived epic not shown: orch status --all\n',
    );
    expect(epicsOf(repository, '--all')).toMatchObject([
      { epicId: 'old', archived: true },
      { epicId: 'other' },
    ]);
    expect(run(repository, 'log', 'old').stdout).toContain('Archived');
    expect(run(repository, 'epic', 'archive', 'old', '-y').stdout).toBe('old is already archived\n');
    run(repository, 'record', 'note', 'an afterthought', '-e', 'old');
    expect(epicsOf(repository)).toHaveLength(1);
    run(repository, 'start', '-e', 'old', '--no-baseline', '--', 'true');
    expect(epicsOf(repository)).toHaveLength(2);
    run(repository, 'epic', 'archive', 'old', '-y');
    expect(epicsOf(repository)).toHaveLength(1);
    run(repository, 'epic', 'restore', 'old', '-y');
    expect(epicsOf(repository)).toHaveLength(2);
  });

  it('deletes to the trash and restores from there, with money and budget as they were', () => {
    const repository = makeRepositoryWithCommit();
    work(repository, 'old');
    run(repository, 'epic', 'delete', 'old', '-y');
    expect(epicsOf(repository)).toEqual([]);
    expect(orchJson(repository, ['epic', 'list', '--all'])).toMatchObject({
      epics: [{ epicId: 'old', state: 'deleted', budget: { spentUsd: 1.25, limitUsd: 5 } }],
    });
    run(repository, 'epic', 'restore', 'old', '-y');
    expect(epicsOf(repository)).toMatchObject([{ epicId: 'old', budget: { spentUsd: 1.25, limitUsd: 5 } }]);
    run(repository, 'record', 'cost', '1', '-e', 'old');
    expect(epicsOf(repository)).toMatchObject([{ budget: { spentUsd: 2.25 } }]);
    expectSound(repository);
  });

  it('renames with history, money, snapshots and the last used epic, and both engines read it', () => {
    const repository = makeRepositoryWithCommit();
    work(repository, 'old');
    run(repository, 'epic', 'rename', 'old', 'new', '-y');
    expect(refsOf(repository)).toEqual([
      'refs/orchestration/epics/new',
      expect.stringMatching(/^refs\/orchestration\/snapshots\/new\/sess-\w+$/),
    ]);
    expect(readdirSync(join(repository.folder, '.git/orchestration/journal'))).toEqual([]);
    expect(epicsOf(repository)).toMatchObject([{ epicId: 'new', budget: { spentUsd: 1.25, limitUsd: 5 } }]);
    const listed = orchJson<{ checkpoints: { epicId: string }[] }>(repository, ['checkpoint', 'list', 'new']);
    expect(listed.checkpoints.map(({ epicId }) => epicId)).toEqual(['new', 'new', 'new', 'new', 'new']);
    expect(run(repository, 'checkpoint', 'verify').stdout).toContain('✓ 5 checkpoints read');
    repository.write('work.txt', 'other\n');
    expect(run(repository, 'restore', '2', '-y').stderr).toContain(
      'epic new (the last one used on this branch)',
    );
    expect(repository.git('status', '--porcelain')).toContain('work.txt');
    run(repository, 'record', 'cost', '1', '-e', 'new');
    const iso = { env: { ORCH_ENGINE: 'isomorphic' } };
    expect(orchJson(repository, ['cost', '-e', 'new'], iso)).toMatchObject({ budget: { spentUsd: 2.25 } });
    expect(orchJson(repository, ['checkpoint', 'show', '2', '-e', 'new'], iso)).toMatchObject({
      checkpoint: { seq: 2 },
    });
    expect(run(repository, 'checkpoint', 'list', '-e', 'new', '--all').stdout).toContain('Renamed from old');
    expect(fail(repository, ['epic', 'rename', 'old', 'new', '-y'])).toMatchObject({
      code: 'EPIC_NOT_FOUND',
    });
    work(repository, 'third');
    expect(fail(repository, ['epic', 'rename', 'third', 'new', '-y'])).toMatchObject({ code: 'USAGE' });
    expect(fail(repository, ['epic', 'rename', 'third', 'THIRD', '-y'])).toMatchObject({
      code: 'EPIC_ID_INVALID',
    });
    expectSound(repository);
  });

  it('renames in clones that sync, also where they worked on under the old name, and back again', async () => {
    const hub = makeHub();
    const [laptop, desk, fresh] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk'), cloneOf(hub, 'fresh')];
    work(laptop, 'old');
    await syncIn(laptop);
    await syncIn(desk);
    run(desk, 'record', 'cost', '0.50', '-e', 'old');
    run(laptop, 'epic', 'rename', 'old', 'new', '-y');
    await syncIn(laptop);
    expect(epicsOf(laptop).map(({ epicId }) => epicId)).toEqual(['new']);
    expect(await syncIn(desk)).toMatchObject({ renamed: [{ from: 'old', to: 'new' }], errors: [] });
    for (let round = 0; round < 2; round++) for (const clone of [laptop, fresh, desk]) await syncIn(clone);
    const tips = () =>
      [laptop, desk, fresh].map((clone) => clone.git('rev-parse', 'refs/orchestration/epics/new'));
    expect(new Set(tips()).size).toBe(1);
    for (const clone of [laptop, desk, fresh])
      expect(epicsOf(clone)).toMatchObject([{ epicId: 'new', budget: { spentUsd: 1.75, limitUsd: 5 } }]);

    run(desk, 'epic', 'rename', 'new', 'old', '-y');
    for (let round = 0; round < 2; round++) for (const clone of [desk, laptop, fresh]) await syncIn(clone);
    for (const clone of [laptop, desk, fresh]) {
      expect(epicsOf(clone)).toMatchObject([{ epicId: 'old', budget: { spentUsd: 1.75 } }]);
      expectSound(clone);
    }
  });

  it('does not take a new epic for the one that had its name, nor more money from a rename elsewhere', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    work(laptop, 'old');
    await syncIn(laptop);
    await syncIn(desk);
    run(desk, 'record', 'note', 'beside it', '-e', 'old');
    run(laptop, 'cost', 'budget', '50', '-e', 'old');
    run(laptop, 'epic', 'rename', 'old', 'new', '-y');
    hub.git('update-ref', '-d', 'refs/orchestration/epics/old');
    work(laptop, 'old');
    expect(runOrch(laptop, ['sync', '-y', '-e', 'new']).status).toBe(0);
    expect(
      epicsOf(laptop)
        .map(({ epicId }) => epicId)
        .sort(),
    ).toEqual(['new', 'old']);
    expect(runOrch(desk, ['sync', '-y', '-e', 'new']).status).toBe(0);
    expect(epicsOf(desk)).toMatchObject([{ epicId: 'new', budget: { limitUsd: 5 } }]);
    expect(run(desk, 'cost', '-e', 'new').stderr).toContain('To apply it: orch cost budget 50 -e new');
  });

  it('is archived by a cleanup 30 days after it was completed, and stays readable', () => {
    const repository = makeRepositoryWithCommit();
    work(repository, 'done');
    run(repository, 'complete', '-e', 'done');
    work(repository, 'open');
    const clean = (days: number, ...args: string[]) => {
      const env = { ORCH_NOW: new Date(Date.now() + days * 86_400_000).toISOString() };
      return orchJson(repository, ['cleanup', ...args], { env });
    };
    expect(clean(29)).toMatchObject({ archived: [] });
    expect(clean(31, '--dry-run')).toMatchObject({ archived: ['done'] });
    expect(epicsOf(repository)).toHaveLength(2);
    expect(clean(31)).toMatchObject({ archived: ['done'] });
    expect(clean(32)).toMatchObject({ archived: [] });
    expect(epicsOf(repository).map(({ epicId }) => epicId)).toEqual(['open']);
    expect(epicsOf(repository, '--all')).toMatchObject([
      { epicId: 'done', session: { status: 'completed' } },
      { epicId: 'open' },
    ]);
    expect(run(repository, 'log', 'done').stdout).toContain('✓ completed');
  });
});
