import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { MergeResult } from '../../src/convoy/merge/merge-queue.ts';
import { parseOid } from '../../src/ids.ts';
import { commitOn, listTips, openTestQueue, readMerged, settleAll } from '../support/convoys.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { waitUntil, writeConfig } from '../support/supervised.ts';

/** A repository with a gate: a command in the shell, which notes in `runs` each commit it ran on. */
function makeGated(run: string, more = ''): TestRepository & { listRuns(): string[]; go(): void } {
  const repository = makeRepositoryWithCommit();
  repository.git('config', 'core.logAllRefUpdates', 'always');
  const file = (name: string) => join(repository.home, name);
  const script = `cd "$1"; git rev-parse HEAD >> ${file('runs')}; ${run.replaceAll('HOME', repository.home)}`;
  writeFileSync(file('gate.sh'), script);
  writeConfig(repository, `gates: [{ name: check, run: 'sh ${file('gate.sh')} .'${more} }]\n`);
  return {
    ...repository,
    listRuns: () => (existsSync(file('runs')) ? readFileSync(file('runs'), 'utf8').trim().split('\n') : []),
    go: () => writeFileSync(file('go'), ''),
  };
}

const untilGo = 'while [ ! -e HOME/go ]; do sleep 0.02; done';
const kinds = (results: Record<string, MergeResult>) =>
  Object.fromEntries(Object.entries(results).map(([task, { kind }]) => [task, kind]));
const feedbackOf = (result: MergeResult | undefined) =>
  result?.kind === 'sent_back' ? result.feedback : JSON.stringify(result);

describe('the merge queue', () => {
  it('tries what waits together: one run of the gates, one move of the branch, a merge for each', async () => {
    const repository = makeGated('true');
    const { merge } = await openTestQueue(repository);
    const names = ['a', 'b', 'c', 'd'];
    const commits = names.map((name) => commitOn(repository, `orch/auth/${name}`, { [`${name}.txt`]: name }));
    const before = repository.listRuns().length;
    const results = await settleAll(
      Object.fromEntries(names.map((name, index) => [name, merge(name, commits[index] ?? {})])),
    );
    expect(kinds(results)).toEqual({ a: 'merged', b: 'merged', c: 'merged', d: 'merged' });
    expect(repository.listRuns().slice(before)).toEqual([repository.git('rev-parse', 'orch/auth/merged')]);
    expect(listTips(repository)).toHaveLength(2);
    const format = '--format=%P %s %(trailers:key=Orch-Task,valueonly,separator=%x20)';
    const log = repository
      .git('log', '--first-parent', '--reverse', format, 'main..orch/auth/merged')
      .split('\n');
    expect(log.map((line) => line.split(' ').slice(1))).toEqual(
      names.map((name, index) => [commits[index], `${name}:`, name, name]),
    );
    expect(results.c).toMatchObject({ files: 1 });
  });

  it('C3: with a culprit in the middle of a batch, the branch only ever points to commits whose gates are green', async () => {
    const repository = makeGated('test ! -e bad.txt');
    const { merge } = await openTestQueue(repository);
    const names = ['a', 'b', 'bad', 'd', 'e'];
    const commits = names.map((name) => commitOn(repository, `orch/auth/${name}`, { [`${name}.txt`]: name }));
    const results = await settleAll(
      Object.fromEntries(names.map((name, index) => [name, merge(name, commits[index] ?? {})])),
    );
    expect(kinds(results)).toEqual({
      ...{ a: 'merged', b: 'merged', bad: 'sent_back', d: 'merged', e: 'merged' },
    });
    expect(feedbackOf(results.bad)).toContain('The gate "check" fails on the merged tree');
    const tips = listTips(repository);
    expect(tips).toHaveLength(3);
    for (const tip of tips) {
      expect(repository.git('ls-tree', '--name-only', tip).split('\n')).not.toContain('bad.txt');
      expect(repository.listRuns()).toContain(tip);
    }
    const subjects = repository.git(
      'log',
      '--first-parent',
      '--reverse',
      '--format=%s',
      'main..orch/auth/merged',
    );
    expect(subjects.split('\n')).toEqual(['a: a', 'b: b', 'd: d', 'e: e']);
  });

  it('sends back the second of two that are red only together, and forgives a gate that fails now and then', async () => {
    const flaky = 'test -e HOME/$(git rev-parse HEAD) || { touch HOME/$(git rev-parse HEAD); exit 1; }';
    const repository = makeGated(`${flaky}; test ! -e one.txt -o ! -e two.txt`);
    const { merge, queue } = await openTestQueue(repository);
    expect(queue.redAtBase).toEqual([]);
    const [a, one, b, two] = ['a', 'one', 'b', 'two'].map((name) =>
      commitOn(repository, `orch/auth/${name}`, { [`${name}.txt`]: name }),
    );
    const results = await settleAll({
      ...{ a: merge('a', a ?? {}), one: merge('one', one ?? {}) },
      ...{ b: merge('b', b ?? {}), two: merge('two', two ?? {}) },
    });
    expect(kinds(results)).toEqual({ a: 'merged', one: 'merged', b: 'merged', two: 'sent_back' });
  });

  it('blames none for a conflict with work that did not land', async () => {
    const repository = makeGated('! grep -q bad README');
    const { merge } = await openTestQueue(repository);
    const commits = ['bad', 'good', 'late'].map((word) =>
      commitOn(repository, `orch/auth/${word}`, { README: `${word}\n` }),
    );
    const results = await settleAll({
      ...{ bad: merge('bad', commits[0] ?? {}), good: merge('good', commits[1] ?? {}) },
      ...{ late: merge('late', commits[2] ?? {}) },
    });
    expect(kinds(results)).toEqual({ bad: 'sent_back', good: 'merged', late: 'sent_back' });
    expect(feedbackOf(results.late)).toContain('meanwhile, in README.');
    expect(readMerged(repository, 'auth').README).toBe('good');
  });

  it('a cancelled task leaves at once, with what was merged onto it; the others are tried without it', async () => {
    const repository = makeGated(`test ! -e b.txt || { ${untilGo}; }`);
    const { merge } = await openTestQueue(repository, { batch: 3 });
    const commits = ['a', 'b', 'c', 'd'].map((name) =>
      commitOn(repository, `orch/auth/${name}`, { [`${name}.txt`]: name }),
    );
    const cancel = new AbortController();
    const base = repository.listRuns().length;
    const requests = {
      a: merge('a', commits[0] ?? {}),
      b: merge('b', commits[1] ?? {}, cancel.signal),
      c: merge('c', commits[2] ?? {}),
    };
    const cancelLast = new AbortController();
    const last = merge('d', commits[3] ?? {}, cancelLast.signal);
    await waitUntil(() => repository.listRuns().length > base);
    cancelLast.abort();
    expect(await last).toEqual({ kind: 'stopped' });
    cancel.abort();
    expect(kinds(await settleAll(requests))).toEqual({ a: 'merged', b: 'stopped', c: 'merged' });
    expect(readMerged(repository, 'auth')).not.toHaveProperty('b.txt');
  });

  it('a signal for all of them stops all, however many wait', async () => {
    const repository = makeGated(`test ! -e a.txt || { ${untilGo}; }`);
    const { merge } = await openTestQueue(repository, { batch: 2 });
    const warnings: string[] = [];
    const note = ({ message }: Error) => warnings.push(message);
    process.on('warning', note);
    const stop = new AbortController();
    const base = repository.listRuns().length;
    const commit = commitOn(repository, 'orch/auth/a', { 'a.txt': 'a' });
    const requests = Array.from({ length: 20 }, (_, n) => merge(`a${n}`, commit, stop.signal));
    await waitUntil(() => repository.listRuns().length > base);
    stop.abort();
    expect(new Set((await Promise.all(requests)).map(({ kind }) => kind))).toEqual(new Set(['stopped']));
    process.off('warning', note);
    expect(warnings).toEqual([]);
    expect(listTips(repository)).toHaveLength(1);
  });

  it('a task that is cancelled when the branch has moved is merged', async () => {
    const repository = makeGated('true');
    const { merge } = await openTestQueue(repository);
    const cancel = new AbortController();
    const ref = join(repository.folder, '.git/refs/heads/orch/auth/merged');
    const before = readFileSync(ref, 'utf8');
    const result = merge('a', { 'a.txt': 'a' }, cancel.signal);
    for (;;) {
      await new Promise(setImmediate);
      if (existsSync(ref) && readFileSync(ref, 'utf8') !== before) break;
    }
    cancel.abort();
    expect(await result).toMatchObject({ kind: 'merged', commit: readFileSync(ref, 'utf8').trim() });
  });

  it('finds what was merged in a batch before a crash kept it from being recorded', async () => {
    const repository = makeGated('true');
    const { merge } = await openTestQueue(repository);
    const [a, b] = ['a', 'b'].map((name) =>
      commitOn(repository, `orch/auth/${name}`, { [`${name}.txt`]: name }),
    );
    const first = await settleAll({ a: merge('a', a ?? {}), b: merge('b', b ?? {}) });
    const again = await settleAll({ b: merge('b', b ?? {}), a: merge('a', a ?? {}) });
    for (const task of ['a', 'b']) expect(again[task]).toMatchObject({ ...first[task], files: 0 });
    expect(listTips(repository)).toHaveLength(2);
  });

  it('a gate counts by what is merged, not by what its fix made of it', async () => {
    const repository = makeGated('test ! -e bad.txt', ", fix: 'rm bad.txt'");
    const { merge } = await openTestQueue(repository);
    expect(await merge('bad', { 'bad.txt': 'bad' })).toMatchObject({ kind: 'sent_back' });
  });

  it('a gate that is red at the base counts against no task, unless it is red there only once', async () => {
    const once = makeGated('test -e HOME/tried || { touch HOME/tried; exit 1; }; test ! -e bad.txt');
    const flaky = await openTestQueue(once);
    expect(flaky.queue.redAtBase).toEqual([]);
    expect(await flaky.merge('bad', { 'bad.txt': 'bad' })).toMatchObject({ kind: 'sent_back' });
    const always = await openTestQueue(makeGated('exit 1'));
    expect(always.queue.redAtBase).toEqual(['check']);
    expect(await always.merge('a', { 'a.txt': 'a' })).toMatchObject({ kind: 'merged' });
  });

  it('says so if the gates it is to run do not exist', async () => {
    const { reports } = await openTestQueue(makeGated('true'), { gates: ['check', 'tset'] });
    expect(reports.join()).toContain('merge.gates names gates that do not exist here: tset');
  });

  it('commands see the files of what is merged, not what gates made of them', async () => {
    const repository = makeGated('echo changed > README');
    const { merge, queue, worktree } = await openTestQueue(repository);
    expect(await merge('a', { 'a.txt': 'a' })).toMatchObject({ kind: 'merged' });
    const read = async () => readFileSync(join(worktree.path, 'README'), 'utf8');
    expect(await queue.onMerged(read)).toBe('hello\n');
  });
});

describe('a merge goes back, and no side is picked, for', () => {
  const lines = 'one\ntwo\nthree\nfour\nfive\nsix\n';
  const renamed = { 'old.txt': null, 'new.txt': lines };

  it.each<
    [what: string, one: Record<string, string | null>, other: Record<string, string | null>, says: string]
  >([
    ['the same line', { README: 'a\n' }, { README: 'b\n' }, 'meanwhile, in README.'],
    ['a file that the other deleted', { README: null }, { README: 'b\n' }, 'deleted in what is merged'],
    [
      'a file where the other has a folder',
      { place: 'a\n' },
      { 'place/b.txt': 'b\n' },
      'meanwhile, in place.',
    ],
    ['a renamed file', renamed, { 'old.txt': null }, 'meanwhile, in new.txt.'],
    ['two names', renamed, { 'old.txt': null, 'other.txt': lines }, 'new.txt, old.txt, other.txt.'],
    ['binary files', { 'a.bin': 'a\0a' }, { 'a.bin': 'a\0b' }, 'meanwhile, in a.bin.'],
    ['a union driver', { 'union.log': 'a\n' }, { 'union.log': 'b\n' }, 'names a merge driver'],
  ])('%s', async (_, one, other, says) => {
    const repository = makeRepositoryWithCommit();
    commitOn(repository, 'base', {
      'old.txt': lines,
      '.gitattributes': '*.log merge=union\n',
      'union.log': '',
    });
    repository.git('merge', '--quiet', 'base');
    const { merge } = await openTestQueue(repository, { gates: 'none' });
    expect(await merge('one', one)).toMatchObject({ kind: 'merged' });
    const feedback = feedbackOf(await merge('other', other));
    expect(feedback).toContain(says);
    expect(feedback).not.toMatch(/[0-9a-f]{40}/);
    expect(feedback).not.toMatch(/\)CONFLICT/);
  });

  it('a driver that another task has just brought in', async () => {
    const { merge } = await openTestQueue(makeRepositoryWithCommit(), { gates: 'none' });
    await merge('attributes', { '.gitattributes': 'README merge=union\n' });
    await merge('one', { README: 'a\n' });
    expect(feedbackOf(await merge('other', { README: 'b\n' }))).toContain('names a merge driver');
  });

  it("conflicts that the user's merge.default would hide", async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('config', 'merge.default', 'union');
    const { merge } = await openTestQueue(repository, { gates: 'none' });
    await merge('one', { README: 'a\n' });
    expect(feedbackOf(await merge('other', { README: 'b\n' }))).toContain('in README.');
  });

  it('names that differ only in case, where files cannot', async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('config', 'core.ignorecase', 'true');
    const { merge } = await openTestQueue(repository, { gates: 'none' });
    expect(await merge('one', { 'Notes.md': 'a\n' })).toMatchObject({ kind: 'merged' });
    const feedback = feedbackOf(await merge('other', { 'notes.md': 'b\n' }));
    expect(feedback).toContain('in Notes.md, notes.md.');
    expect(feedback).toContain('only in upper and lower case');
  });

  it('submodules', async () => {
    const repository = makeRepositoryWithCommit();
    const link = (task: string, digit: string) => {
      repository.git('checkout', '--quiet', '-B', `orch/auth/${task}`, 'main');
      repository.git('update-index', '--add', '--cacheinfo', `160000,${digit.repeat(40)},sub`);
      repository.git('commit', '--quiet', '--message', task);
      const commit = parseOid(repository.git('rev-parse', 'HEAD'));
      repository.git('checkout', '--quiet', '--force', 'main');
      return commit;
    };
    repository.git('merge', '--quiet', link('base', '1'));
    const [one, other] = [link('one', '2'), link('other', '3')];
    const { merge } = await openTestQueue(repository, { gates: 'none' });
    expect(await merge('one', one)).toMatchObject({ kind: 'merged' });
    expect(feedbackOf(await merge('other', other))).toContain('in sub.');
  });

  it('very many files, in few words', async () => {
    const repository = makeRepositoryWithCommit();
    const all = (word: string) =>
      Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`files/${n}.txt`, `${word}\n`]));
    const { merge } = await openTestQueue(repository, { gates: 'none' });
    await merge('one', all('a'));
    const feedback = feedbackOf(await merge('other', all('b')));
    expect(feedback).toContain('and 470 more');
    expect(feedback.length).toBeLessThan(4_000);
  });
});

describe('a merged branch that the user touches', () => {
  it('is left alone while it is checked out, and the error says where', async () => {
    const repository = makeGated(untilGo);
    repository.go();
    const { merge } = await openTestQueue(repository);
    const commit = commitOn(repository, 'orch/auth/a', { 'a.txt': 'a' });
    repository.git('checkout', '--quiet', 'orch/auth/merged');
    await expect(merge('a', commit)).rejects.toThrow('is checked out in');
    repository.git('checkout', '--quiet', 'main');
    expect(await merge('a', commit)).toMatchObject({ kind: 'merged' });
  });

  it('C5: is merged onto anew if it was moved on while gates ran; if it is moved back or deleted, the error says where it was', async () => {
    const repository = makeGated(`test ! -e a.txt || { ${untilGo}; }`);
    const { merge } = await openTestQueue(repository);
    const [a, b, own] = ['a', 'b', 'own'].map((name) =>
      commitOn(repository, `orch/auth/${name}`, { [`${name}.txt`]: name }),
    );
    const requests = [merge('a', a ?? {}), merge('b', b ?? {})];
    const base = repository.listRuns().length;
    await waitUntil(() => repository.listRuns().length > base);
    repository.git('branch', '--force', 'orch/auth/merged', own ?? '');
    repository.go();
    const results = await Promise.all(requests);
    expect(results.map(({ kind }) => kind)).toEqual(['merged', 'merged']);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'a.txt': 'a', 'b.txt': 'b', 'own.txt': 'own' });
    const last = repository.git('rev-parse', 'orch/auth/merged');
    // What is merged would silently be missing from the result.
    repository.git('branch', '--force', 'orch/auth/merged', 'main');
    const back = await merge('c', { 'c.txt': 'c' }).catch((error) => error);
    expect(back).toMatchObject({
      code: 'GIT_FAILED',
      hint: `Bring it back: git branch --force orch/auth/merged ${last.slice(0, 10)}`,
    });
    repository.git('branch', '-D', 'orch/auth/merged');
    const gone = await merge('c', { 'c.txt': 'c' }).catch((error) => error);
    expect(gone).toMatchObject({
      code: 'GIT_FAILED',
      hint: `Bring it back: git branch orch/auth/merged ${last.slice(0, 10)}`,
    });
  });
});
