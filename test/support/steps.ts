import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import type { TestRepository } from './repository.ts';
import { snapshot } from './snapshots.ts';

// Few names, so that files become folders and links, and come back.
const names = ['a', 'b', 'a b', '-n', ':(top)x', 'é', 'new\nline', '*'];
const path = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'));
const content = fc.constantFrom('', 'one\n', 'two\n', 'crlf\r\nlines\r\n', '\0binary\r\n', 'x'.repeat(900));

export type Step =
  | { do: 'write'; path: string; content: string; executable: boolean }
  | { do: 'link'; path: string; target: string }
  | { do: 'remove'; path: string }
  | { do: 'rule'; path: string; content: string }
  | { do: 'git'; args: string[] }
  | { do: 'snapshot' };

/** What a person or an agent does in a working tree. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('write'), path, content, executable: fc.boolean() }), weight: 6 },
  {
    arbitrary: fc.record({
      do: fc.constant('link'),
      path,
      target: fc.constantFrom('a', 'b', '../a', '/nowhere'),
    }),
    weight: 2,
  },
  { arbitrary: fc.record({ do: fc.constant('remove'), path }), weight: 3 },
  {
    arbitrary: fc.oneof(
      fc.record({
        do: fc.constant('rule'),
        path: fc.constantFrom('.gitignore', 'a/.gitignore'),
        content: fc.constantFrom('', 'b\n', 'a b\n', '*\n'),
      }),
      fc.record({
        do: fc.constant('rule'),
        path: fc.constant('.gitattributes'),
        content: fc.constantFrom('', '* text=auto\n', '* -text\n'),
      }),
    ),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('git'),
      args: fc.constantFrom(
        ['add', '--all'],
        ['add', '--force', '.'],
        ['commit', '--quiet', '--allow-empty', '--message', 'x'],
        ['rm', '-r', '--cached', '--quiet', '--ignore-unmatch', 'a'],
        ['add', '--intent-to-add', '.'],
        ['reset', '--quiet'],
        ['config', 'core.autocrlf', 'input'],
      ),
    }),
    weight: 2,
  },
  { arbitrary: fc.record({ do: fc.constant('snapshot') }), weight: 3 },
) as fc.Arbitrary<Step>; // `fc.constant` widens the words to strings

/** Makes room at a path as a person would: what is in the way goes. */
function clear(folder: string, at: string): string {
  const full = join(folder, at);
  const parts = at.split('/');
  for (let depth = 1; depth < parts.length; depth++) {
    const parent = join(folder, ...parts.slice(0, depth));
    const stat = lstatSync(parent, { throwIfNoEntry: false });
    if (stat && !stat.isDirectory()) rmSync(parent);
  }
  rmSync(full, { recursive: true, force: true });
  mkdirSync(dirname(full), { recursive: true });
  return full;
}

export async function perform(repository: TestRepository, one: Step): Promise<void> {
  const { folder } = repository;
  if (one.do === 'snapshot') await snapshot(repository);
  if (one.do === 'git') repository.tryGit(...one.args);
  if (one.do === 'remove' && existsSync(join(folder, one.path)))
    rmSync(join(folder, one.path), { recursive: true, force: true });
  if (one.do === 'link') symlinkSync(one.target, clear(folder, one.path));
  if (one.do === 'write' || one.do === 'rule') {
    const full = clear(folder, one.path);
    writeFileSync(full, one.content);
    if (one.do === 'write' && one.executable) chmodSync(full, 0o755);
  }
}
