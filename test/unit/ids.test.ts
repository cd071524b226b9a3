import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatSeq, makeCheckpointId, parseEpicId, seqOf, slugOf } from '../../src/ids.ts';

describe('an epic id', () => {
  it.each(['a', 'feat-login', 'A1._-', '0', 'x'.repeat(64), 'v1.2.3', 'lock', 'console'])(
    'may be %s',
    (id) => {
      expect(parseEpicId(id)).toBe(id);
    },
  );

  it.each([
    '',
    '.a',
    '-a',
    '_a',
    'a/b',
    'a b',
    'a..b',
    'a.',
    'a.lock',
    'a.LOCK',
    'x'.repeat(65),
    'ä',
    'a\n',
    'a\0',
    '@{u}',
    'nul',
    'COM1',
    'aux.txt',
    'a~1',
    'a:b',
    '$(id)',
  ])('I9: may not be %j', (id) => {
    expect(() => parseEpicId(id)).toThrow(expect.objectContaining({ code: 'EPIC_ID_INVALID' }));
  });
});

describe('the slug of a branch', () => {
  it.each([
    ['feat/login', 'feat-login'],
    ['feature/ABC-123_fix.it', 'feature-ABC-123_fix.it'],
    ['user@host/try', 'user-host-try'],
    ['..hidden..', 'hidden'],
    ['a.lock.lock', 'a'],
    ['nul', null],
    ['///', null],
  ])('%s → %s', (branch, epic) => {
    expect(slugOf(branch)).toBe(epic);
  });

  it('is an epic id or nothing, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
        const slug = slugOf(text);
        if (slug !== null) expect(parseEpicId(slug)).toBe(slug);
      }),
    );
  });
});

describe('a checkpoint id', () => {
  it('sorts by its number, past 99,999,999 too', () => {
    expect(makeCheckpointId(58, 'k3f9qz')).toBe('ckpt-00000058-k3f9qz');
    expect(seqOf(makeCheckpointId(123_456_789, 'k3f9qz'))).toBe(123_456_789);
    expect(formatSeq(999) < formatSeq(1_000)).toBe(true);
  });
});
