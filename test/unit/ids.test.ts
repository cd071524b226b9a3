import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatSeq,
  makeCheckpointId,
  nameFile,
  parseEpicId,
  readAgentSession,
  readInnerPath,
  seqOf,
  slugOf,
} from '../../src/ids.ts';

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

describe('the name of a file', () => {
  it.each(['sess-7hq2m4', 'feat-login', 'v1.2.3', 'A'.repeat(64)])('is made of %s', (id) => {
    expect(nameFile(id, '.json')).toBe(`${id}.json`);
  });

  it.each([
    '',
    '.',
    '..',
    'a/b',
    'a\\b',
    '/etc/passwd',
    '../x',
    'a..b',
    '-rf',
    '.git',
    'a\0b',
    'a\nb',
    'a b',
    'ü',
    'x'.repeat(300),
  ])('is refused for %j', (id) => {
    expect(() => nameFile(id, '.json')).toThrow(expect.objectContaining({ code: 'INTEGRITY' }));
  });

  it('stays in its folder, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a./\\-]{0,9}$/)), (id) => {
        let name: string | null = null;
        try {
          name = nameFile(id, '.json');
        } catch {
          return true; // refused
        }
        return dirname(join('/folder', name)) === '/folder' && basename(name) === name;
      }),
    );
  });
});

describe("an agent's session", () => {
  it.each(['3f0c3a1e-0000-4000-8000-000000000001', '019A3F0C-1e00-7000-8000-00000000000f'])('is %s', (id) => {
    expect(readAgentSession(id)).toBe(id);
  });

  it.each([
    '--settings=/../evil',
    '../3f0c3a1e-0000-4000-8000-000000000001',
    '3f0c3a1e-0000-4000-8000-000000000001\n',
    '',
    7,
    null,
  ])('is not %j', (id) => {
    expect(readAgentSession(id)).toBeNull();
  });
});

describe('a path below the working tree', () => {
  it.each(['plan.yaml', 'plans/release.yaml', './plan.yaml', 'a..b/c'])('is %s', (path) => {
    expect(readInnerPath(path)).toBe(path);
  });

  it.each([
    '/etc/passwd',
    '../x',
    'a/../../x',
    '-e',
    'C:\\x',
    'a\nb',
    'a\0b',
    '\u202ex',
    'x'.repeat(2_000),
    undefined,
  ])('is not %j', (path) => {
    expect(readInnerPath(path)).toBeNull();
  });
});
