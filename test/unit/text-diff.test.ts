import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatDiff } from '../../src/init/write-changes.ts';
import { makeFolder } from '../support/repository.ts';

it('shows what changes, with a little around it', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n';
  const after = before.replace('b\n', 'B\n').replace('l\n', 'l\nm');
  expect(formatDiff(before, after)).toBe(
    '@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -10,3 +10,4 @@\n j\n k\n l\n+m\n\\ No newline at end of file\n',
  );
  expect(formatDiff(before, before)).toBe('');
  expect(formatDiff(null, 'a\n')).toBe('@@ -0,0 +1,1 @@\n+a\n');
  expect(formatDiff('a\n', null)).toBe('@@ -1,1 +0,0 @@\n-a\n');
});

it('is a diff git can apply', () => {
  const folder = makeFolder();
  const file = join(folder, 'f');
  const text = fc
    .tuple(
      fc.array(fc.constantFrom('a\n', 'b\n', '\n', 'c\r\n'), { maxLength: 12 }),
      fc.constantFrom('', 'a', 'z'),
    )
    .map(([lines, last]) => lines.join('') + last);
  fc.assert(
    fc.property(text, text, (before, after) => {
      fc.pre(before !== '' && after !== '' && before !== after);
      writeFileSync(file, before);
      const patch = `--- a/f\n+++ b/f\n${formatDiff(before, after)}`;
      execFileSync('git', ['apply', '--whitespace=nowarn', '-'], { cwd: folder, input: patch });
      expect(readFileSync(file, 'utf8')).toBe(after);
    }),
    { numRuns: 60 },
  );
});

it('gives up on the smallest change where the texts are huge and have nothing in common', () => {
  const lines = (mark: string) => Array.from({ length: 3_000 }, (_, n) => `${mark}${n}\n`).join('');
  const diff = formatDiff(`same\n${lines('a')}`, `same\n${lines('b')}`);
  expect(diff.split('\n')).toHaveLength(2 + 2 + 6_000);
});
