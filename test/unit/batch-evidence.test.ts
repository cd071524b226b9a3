import { expect, it } from 'vitest';
import { readTrailers } from '../../src/git/objects/commit-object.ts';
import { commitCommands } from '../../src/git/worktree/user-commit.ts';
import { isFileOfTasks, readTaskTrailers } from '../../src/spec/evidence.ts';

function isOf(file: string, path: string): boolean {
  const task = {
    id: 'T1',
    name: '',
    status: 'pending',
    needs: [],
    evidence: { commits: [], files: [] },
  } as const;
  return isFileOfTasks([{ ...task, files: [file], index: 0 }], path);
}

it.each<[file: string, yes: readonly string[], no: readonly string[]]>([
  ['src/a.py', ['src/a.py'], ['src/a.pyc', 'src/aXpy', 'a.py', 'test/src/a.py']],
  ['./src/', ['src/a.py', 'src/deep/b'], ['srcs/a', 'src2']],
  ['src/*.py', ['src/a.py'], ['src/deep/a.py', 'src/a.js']],
  ['src/**', ['src/a', 'src/deep/a'], ['docs/a']],
  ['**/*.py', ['a.py', 'src/deep/a.py'], ['notes.txt']],
  ['app/[id]/page.tsx', ['app/[id]/page.tsx'], ['app/i/page.tsx']],
  ['../other', [], ['other', 'src/other']],
])("a task's %s is what was named, and nothing else", (file, yes, no) => {
  expect(yes.filter((path) => !isOf(file, path))).toEqual([]);
  expect(no.filter((path) => isOf(file, path))).toEqual([]);
});

it('a file whose name is written like a pattern is added alone', () => {
  expect(commitCommands(['app/[id]/page.tsx'], 'm', [])[0]).toEqual([
    '--literal-pathspecs',
    'add',
    '--',
    'app/[id]/page.tsx',
  ]);
  expect(commitCommands(['a b'], 'm', ['Tasks: T1'])).toEqual([
    ['add', '--', 'a b'],
    ['commit', '--message', 'm', '--trailer', 'Tasks: T1'],
  ]);
});

it('trailers are those of the last paragraph, in every spelling people use', () => {
  const message =
    'Subject\n\nTasks: T9\n\nTasks: T001, T002\n  T003\nSigned-off-by: A <a@b>\ntasks: T004;x\n';
  expect(readTrailers(message).map(({ name }) => name)).toEqual(['Tasks', 'Signed-off-by', 'tasks']);
  expect(readTaskTrailers(message)).toEqual(['T001', 'T002', 'T003']);
  expect(readTaskTrailers('Tasks: T1')).toEqual([]);
});
