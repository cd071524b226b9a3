import { describe, expect, it } from 'vitest';
import { findCollisions, nothingCompared, type Work } from '../../src/convoy/collisions/find-collisions.ts';
import { watchCollisions } from '../../src/convoy/collisions/watch-collisions.ts';
import { taskEpic } from '../../src/convoy/names.ts';
import { mergePairs, type Pair } from '../../src/git/worktree/merge-tree.ts';
import { parseEpicId, parseOid } from '../../src/ids.ts';
import { openOrch } from '../../src/orch.ts';
import { afterTest } from '../support/cleanup.ts';
import { type Changes, commitOn } from '../support/convoys.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { waitUntil } from '../support/supervised.ts';

const lines = 'one\ntwo\nthree\nfour\nfive\nsix\n';
const convoy = parseEpicId('auth');

async function open(repository: TestRepository) {
  const orch = await openOrch({ cwd: repository.folder, engine: 'native' });
  afterTest(() => orch.close());
  return orch;
}

async function makeWorks() {
  const repository = makeRepositoryWithCommit();
  const first = {
    ...{ 'text.txt': lines, 'old.txt': lines, 'a.bin': 'a\0', 'folder/one.txt': lines, 'all.log': '' },
    '.gitattributes': '*.log merge=union\n',
  };
  repository.git('merge', '--quiet', commitOn(repository, 'first', first));
  const base = parseOid(repository.git('rev-parse', 'main'));
  const work = (task: string, changes: Changes, from = 'main'): Work => ({
    ...{ task, base: parseOid(repository.git('rev-parse', from)) },
    commit: commitOn(repository, `orch/auth/${task}`, changes, from),
  });
  return { repository, base, work, orch: await open(repository) };
}

describe('works that are not finished collide', () => {
  const same = (word: string) => lines.replace('one', word);
  it.each<[what: string, one: Changes, other: Changes, files: string[] | null]>([
    ['in the same line', { 'text.txt': same('a') }, { 'text.txt': same('b') }, ['text.txt']],
    ['not in lines that lie apart', { 'text.txt': same('a') }, { 'text.txt': `${lines}seven\n` }, null],
    ['not if both do the same', { 'text.txt': same('a') }, { 'text.txt': same('a') }, null],
    ['not where they share no path', { 'text.txt': same('a') }, { 'other.txt': 'b\n' }, null],
    ['in a file one deletes', { 'text.txt': null }, { 'text.txt': same('b') }, ['text.txt']],
    [
      'in a file one renames',
      { 'old.txt': null, 'new.txt': same('a') },
      { 'old.txt': same('b') },
      ['new.txt'],
    ],
    ['not in a file one only renames', { 'old.txt': null, 'new.txt': lines }, { 'old.txt': same('b') }, null],
    ['in a binary file', { 'a.bin': 'a\0a' }, { 'a.bin': 'a\0b' }, ['a.bin']],
    ['in a name that is a file and a folder', { x: 'a\n' }, { 'x/y/b.txt': 'b\n' }, ['x']],
    [
      'in a folder one renames',
      { folder: null, 'moved/one.txt': lines },
      { 'folder/two.txt': 'b\n' },
      ['moved/two.txt'],
    ],
    ['in a file whose driver hides it', { 'all.log': 'a\n' }, { 'all.log': 'b\n' }, ['all.log']],
  ])('%s', async (_, one, other, files) => {
    const { work, orch, repository } = await makeWorks();
    const works = [work('a', one), work('b', other)];
    const before = repository.git('count-objects', '-v');
    const found = await findCollisions(orch, works);
    const commits = works.map(({ commit }) => commit);
    expect(found.map(({ commits, ...each }) => ({ ...each, commits: [...commits].sort() }))).toEqual(
      files === null ? [] : [{ one: 'a', other: 'b', files, commits: commits.sort() }],
    );
    const turned = await findCollisions(orch, works.toReversed());
    expect(turned.map((each) => each.files)).toEqual(files === null ? [] : [files]);
    expect(repository.git('count-objects', '-v')).toBe(before);
  });

  it('in submodules and modes', async () => {
    const { repository, orch } = await makeWorks();
    const stage = (task: string, entry: string): Work => {
      repository.git('checkout', '--quiet', '-B', task, 'main');
      repository.git('update-index', '--add', '--cacheinfo', entry);
      repository.git('commit', '--quiet', '--message', task);
      const commit = parseOid(repository.git('rev-parse', 'HEAD'));
      const base = parseOid(repository.git('rev-parse', 'main'));
      repository.git('checkout', '--quiet', '--force', 'main');
      return { task, commit, base };
    };
    const blob = repository.git('rev-parse', 'main:README');
    const text = repository.git('rev-parse', 'main:text.txt');
    const found = await findCollisions(orch, [
      stage('sub1', `160000,${'1'.repeat(40)},sub`),
      stage('sub2', `160000,${'2'.repeat(40)},sub`),
      stage('mode1', `100755,${text},text.txt`),
      stage('mode2', `120000,${blob},text.txt`),
    ]);
    expect(found.map(({ one, other, files }) => [one, other, files])).toEqual([
      ['sub1', 'sub2', ['sub']],
      ['mode1', 'mode2', ['text.txt']],
    ]);
  });

  it('with none, one, or many of them, and with what is merged; nothing is compared twice', async () => {
    const { work, orch } = await makeWorks();
    expect(await findCollisions(orch, [])).toEqual([]);
    const a = work('a', { 'text.txt': same('a') });
    expect(await findCollisions(orch, [a])).toEqual([]);
    const c = work('c', { 'text.txt': same('c') });
    const known = nothingCompared();
    const b = work('b', { 'text.txt': same('b'), 'own.txt': 'b\n' });
    const all = await findCollisions(orch, [a, b, c], { known });
    expect(all.map(({ one, other }) => [one, other])).toEqual([
      ['a', 'b'],
      ['a', 'c'],
      ['b', 'c'],
    ]);
    // Once b is merged, a and c each conflict with that; what they do to one another comes after.
    const merged = { known, merged: b.commit };
    const rest = await findCollisions(orch, [a, c], merged);
    expect(rest.map(({ one, other }) => [one, other])).toEqual([
      ['a', 'merged'],
      ['c', 'merged'],
    ]);
    expect([...known.conflicts.keys()]).toHaveLength(3);
    const broken = { ...orch, disk: { ...orch.disk, mkdir: () => expect.fail('it compares again') } };
    expect(await findCollisions(broken, [a, c], merged)).toEqual(rest);
  });

  it('is not said of one that began later, for what was merged before', async () => {
    const { work, orch, repository } = await makeWorks();
    const early = work('early', { 'text.txt': same('a') });
    const landed = work('landed', { 'text.txt': same('l') });
    repository.git('branch', 'tip', landed.commit);
    const late = work('late', { 'text.txt': `${same('l')}seven\n` }, 'tip');
    const found = await findCollisions(orch, [early, late], { merged: landed.commit });
    expect(found.map(({ one, other }) => [one, other])).toEqual([['early', 'merged']]);
  });

  it('even if a commit is gone: the others are compared', async () => {
    const { work, orch, base } = await makeWorks();
    const works = [work('a', { 'text.txt': same('a') }), work('b', { 'text.txt': same('b') })];
    const gone = { task: 'gone', commit: parseOid('1'.repeat(40)), base };
    const [a, b] = works;
    const found = await findCollisions(
      orch,
      [a, gone, b].flatMap((each) => each ?? []),
    );
    expect(found.map(({ one, other }) => [one, other])).toEqual([['a', 'b']]);
    const pairs = [[a, gone] as const, [a, b] as const].map(
      ([one, other]): Pair => [one?.commit ?? base, other?.commit ?? base],
    );
    expect(await mergePairs(orch.repository, pairs, {})).toMatchObject([null, { kind: 'conflict' }]);
  });
});

it('the watch tells both workers once, when a snapshot brings a collision, and says when it is over', async () => {
  const { repository, work, orch } = await makeWorks();
  repository.git('branch', 'orch/auth/merged', 'main');
  const keep = (task: string, commit: string, session = 'sess-aaaa') =>
    repository.git('update-ref', `refs/orchestration/snapshots/auth--${task}/${session}`, commit);
  const a = work('a', { 'text.txt': lines.replace('one', 'a') });
  const b = work('b', { 'text.txt': lines.replace('one', 'b') });
  const calm = work('b2', { 'other.txt': 'b\n' });
  const stop = new AbortController();
  const told: string[] = [];
  const changes: string[] = [];
  const done = watchCollisions(orch, {
    ...{ convoy, worktree: orch.repository, signal: stop.signal, pause: 10 },
    listWorking: () => [a, b].map(({ task, base }) => ({ task, base, epic: taskEpic(convoy, task) })),
    onChange: ({ began, ended }) => {
      changes.push(`+${began.length} -${ended.length}`);
    },
    tell: (task, text) => {
      told.push(`${task}: ${text}`);
    },
  });
  keep('a', a.commit);
  keep('b', calm.commit);
  keep('b', b.commit, 'sess-bbbb');
  await waitUntil(() => told.length === 2);
  expect(told[0]).toContain('a: What you have changed conflicts with what task b is changing');
  expect(told[0]).toContain(`git diff orch/auth/merged...${b.commit.slice(0, 12)} -- text.txt`);
  expect(told[1]).toContain(`git diff orch/auth/merged...${a.commit.slice(0, 12)} -- text.txt`);
  keep('b', calm.commit, 'sess-bbbb');
  await waitUntil(() => changes.length === 2);
  keep('b', b.commit, 'sess-bbbb');
  await waitUntil(() => changes.length === 3);
  stop.abort();
  await done;
  expect(changes).toEqual(['+1 -0', '+0 -1', '+1 -0']);
  expect(told).toHaveLength(2);
});
