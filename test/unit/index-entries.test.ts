import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findInIndex, isReadableIndex } from '../../src/git/snapshot/index-entries.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

function indexOf(repository: TestRepository): Buffer {
  return readFileSync(join(repository.folder, '.git/index'));
}

/** Puts entries of any kind into an index: `mode oid stage<tab>path`. */
function putIntoIndex({ folder, home }: TestRepository, entries: readonly string[]): void {
  const input = entries.map((entry) => `${entry}\0`).join('');
  execFileSync('git', ['update-index', '-z', '--index-info'], {
    cwd: folder,
    env: cleanEnvironment(home),
    input,
  });
}

describe('what an index holds at a path', () => {
  it.each(['sha1', 'sha256'] as const)('is what git says, for paths of every length, in %s', (format) => {
    const repository = makeRepositoryWithCommit(`--object-format=${format}`);
    const oid = repository.git('rev-parse', 'HEAD:README');
    // Lengths around the padding limit, and longer than the length field.
    const lengths = [...Array.from({ length: 20 }, (_, index) => index + 1), 4_094, 4_095, 4_096, 5_000];
    const paths = lengths.map((length) => 'p'.repeat(length));
    putIntoIndex(
      repository,
      paths.map((path, index) => `${index % 2 ? '100755' : '100644'} ${oid} 0\t${path}`),
    );
    const entries = findInIndex(indexOf(repository), [...paths, 'README', 'absent'], format);
    expect(entries?.isPlain).toBe(true);
    expect(Object.fromEntries(entries?.found ?? [])).toEqual({
      README: { mode: '100644', oid },
      ...Object.fromEntries(
        paths.map((path, index) => [path, { mode: index % 2 ? '100755' : '100644', oid }]),
      ),
    });
  });

  it('is not plain with conflicts or files that are only intended to be added', () => {
    const conflict = makeRepositoryWithCommit();
    const oid = conflict.git('rev-parse', 'HEAD:README');
    putIntoIndex(conflict, [`100644 ${oid} 2\tconflict`, `100644 ${oid} 3\tconflict`]);
    expect(findInIndex(indexOf(conflict), ['README'], 'sha1')?.isPlain).toBe(false);
    const intended = makeRepositoryWithCommit();
    writeFileSync(join(intended.folder, 'intended'), 'x');
    intended.git('add', '--intent-to-add', 'intended');
    const entries = findInIndex(indexOf(intended), ['README'], 'sha1');
    expect(entries).toEqual({ found: new Map([['README', { mode: '100644', oid }]]), isPlain: false });
  });

  it('is not guessed from a damaged index or another version', () => {
    const repository = makeRepositoryWithCommit();
    const whole = indexOf(repository);
    const end = whole.indexOf('README') + 6;
    for (let size = 0; size < end; size++)
      expect(findInIndex(whole.subarray(0, size), ['README'], 'sha1')).toBeNull();
    repository.git('update-index', '--index-version', '4');
    expect(isReadableIndex(indexOf(repository))).toBe(false);
    expect(findInIndex(indexOf(repository), ['README'], 'sha1')).toBeNull();
  });
});
