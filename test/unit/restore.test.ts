import { describe, expect, it } from 'vitest';
import type { FoundFile } from '../../src/git/snapshot/work-tree-changes.ts';
import { parseRawDiff } from '../../src/git/worktree/tree-diff.ts';
import { parseOid } from '../../src/ids.ts';
import { isWithin, planRestore, type RestoreFacts } from '../../src/restore/plan-restore.ts';

const entry = (mode = '100644') => ({ mode, oid: parseOid('a'.repeat(40)) });
const change = (path: string, kind: 'changes' | 'goes' | 'comes', mode?: string) => ({
  path,
  from: kind === 'comes' ? null : entry(mode),
  to: kind === 'goes' ? null : entry(mode),
});
const found = (entries: Record<string, FoundFile['kind']>, bytes = 10) =>
  new Map(Object.entries(entries).map(([path, kind]) => [path, { kind, bytes }]));

const nothing: RestoreFacts = {
  changes: [],
  found: new Map(),
  occupied: new Set(),
  leftOutNow: new Map(),
  leftOutThen: new Map(),
  unseen: new Map(),
  ignored: new Map(),
  ours: new Set(),
  maxFileBytes: 100,
};

/** A plan in short: what is written, removed, comes back, is saved, and stays. */
function plan(facts: Partial<RestoreFacts>) {
  const { write, remove, comesBack, save, kept } = planRestore({ ...nothing, ...facts });
  return {
    write: [...write.keys()],
    remove: [...remove],
    comesBack: [...comesBack],
    save: [...save],
    kept: Object.fromEntries(kept.map(({ path, reason }) => [path, reason])),
  };
}

const empty = { write: [], remove: [], comesBack: [], save: [], kept: {} };

describe('the plan of a restore', () => {
  it('writes what differs, removes what is too much, brings back what is missing', () => {
    const changes = [change('a', 'changes'), change('b', 'goes'), change('c', 'comes')];
    expect(plan({ changes })).toEqual({ ...empty, write: ['a', 'c'], remove: ['b'], comesBack: ['c'] });
  });

  it('saves an ignored file that is in the way, of the file or of its folder', () => {
    expect(plan({ changes: [change('a', 'comes')], found: found({ a: 'file' }) })).toEqual({
      ...empty,
      write: ['a'],
      save: ['a'],
    });
    expect(
      plan({ changes: [change('d/a', 'comes'), change('d/b', 'comes')], found: found({ d: 'link' }) }),
    ).toEqual({ ...empty, write: ['d/a', 'd/b'], comesBack: ['d/a', 'd/b'], save: ['d'], remove: ['d'] });
  });

  it.each<[what: string, facts: Partial<RestoreFacts>, reason: string]>([
    [
      'what is too large to save',
      { found: found({ a: 'file' }, 101) },
      'an ignored file, too large to save, is in the way',
    ],
    ['a special file', { found: found({ a: 'special' }) }, 'a special file is in the way'],
    ['a repository', { found: found({ a: 'repository' }) }, 'a nested repository is in the way'],
    [
      'a folder with ignored files',
      { found: found({ a: 'folder' }), occupied: new Set(['a']) },
      'a folder with ignored files is in the way',
    ],
    ['what could not be saved now', { leftOutNow: new Map([['a', 'too large']]) }, 'not saved: too large'],
    [
      'a folder in which something could not be saved',
      { leftOutNow: new Map([['a/b', 'unreadable']]) },
      'not saved: unreadable',
    ],
    [
      'what was not saved then',
      { leftOutThen: new Map([['a', 'too large']]) },
      'not in the snapshot: too large',
    ],
    [
      'what git does not look at',
      { unseen: new Map([['a', 'outside the sparse checkout']]) },
      'outside the sparse checkout',
    ],
  ])('keeps %s', (_, facts, reason) => {
    expect(plan({ changes: [change('a', 'comes')], ...facts })).toEqual({ ...empty, kept: { a: reason } });
  });

  it('keeps what is in a nested repository, and submodules', () => {
    const leftOutNow = new Map([['sub/', 'nested repository']]);
    expect(plan({ changes: [change('sub/file', 'comes')], leftOutNow }).kept).toEqual({
      'sub/file': 'not saved: nested repository',
    });
    for (const kind of ['changes', 'goes', 'comes'] as const) {
      expect(plan({ changes: [change('m', kind, '160000')] }).kept).toEqual({ m: 'a submodule' });
    }
  });

  it('writes nothing where a file that stays is in the way', () => {
    const unseen = new Map([['a', 'outside the sparse checkout']]);
    expect(plan({ changes: [change('a', 'goes'), change('a/b', 'comes')], unseen })).toMatchObject({
      write: [],
      remove: [],
      kept: { a: 'outside the sparse checkout', 'a/b': 'a file that stays is in the way' },
    });
  });

  it('keeps what the restored rules ignore, but not what a restore itself wrote', () => {
    const changes = [change('node_modules/x', 'goes')];
    const ignored = new Map([['node_modules/x', 'ignored there']]);
    expect(plan({ changes, ignored }).kept).toEqual({ 'node_modules/x': 'ignored there' });
    expect(plan({ ours: new Set(['w']), found: found({ w: 'file' }) })).toEqual({
      ...empty,
      remove: ['w'],
      save: ['w'],
    });
  });
});

it('reads what git says of two trees, whatever the names', () => {
  const [a, b, none] = ['a'.repeat(40), 'b'.repeat(40), '0'.repeat(40)];
  const text = `:100644 100755 ${a} ${b} M\0new\nline\0:000000 120000 ${none} ${a} A\0-x\0:160000 000000 ${a} ${none} D\0m\0`;
  expect(parseRawDiff(text)).toEqual([
    { path: 'new\nline', from: { mode: '100644', oid: a }, to: { mode: '100755', oid: b } },
    { path: '-x', from: null, to: { mode: '120000', oid: a } },
    { path: 'm', from: { mode: '160000', oid: a }, to: null },
  ]);
});

it('knows what is within a list of paths', () => {
  expect(['a', 'a/b', 'ab', 'b'].map((path) => isWithin(path, ['a']))).toEqual([true, true, false, false]);
  expect([isWithin('x', null), isWithin('x', ['']), isWithin('x', [])]).toEqual([true, true, false]);
});
