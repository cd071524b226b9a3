import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bringFiles, checkCopy, findCopyMatches, refuseCopy } from '../../src/convoy/worktree/bring-files.ts';
import { discoverRepository } from '../../src/git/repository.ts';
import { selectCollisions } from '../../src/git/worktree/case-collisions.ts';
import { readProgram } from '../support/programs.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const { signal } = new AbortController();

/** A repository that ignores some files and has them, and an empty worktree of it. */
function makeIgnoring(ignore: string, files: Record<string, string>): TestRepository & { worktree: string } {
  const repository = makeRepositoryWithCommit();
  repository.write('.gitignore', ignore);
  repository.git('add', '.gitignore');
  repository.git('commit', '--quiet', '--message', 'ignore');
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(repository.folder, path)), { recursive: true });
    repository.write(path, content);
  }
  const worktree = join(repository.home, 'worktree');
  repository.git('worktree', 'add', '--quiet', '--detach', worktree);
  return { ...repository, worktree };
}

function bring({ folder, worktree }: { folder: string; worktree: string }, ...copy: string[]) {
  const repository = discoverRepository(folder);
  return bringFiles(repository, { worktree: discoverRepository(worktree), copy, signal });
}

const read = (...path: string[]) => readFileSync(join(...path), 'utf8');

describe('what a worktree gets of the ignored files', () => {
  it('is what copy: names, as paths from the top and as globs', async () => {
    const made = makeIgnoring('.env*\n*.local\nconf/\n', {
      '.env': 'top',
      'app/.env': 'app',
      'app/x.local': 'x',
      'conf/a/b.txt': 'b',
    });
    expect(await bring(made, '.env', './conf/', '**/*.local')).toEqual([]);
    expect(read(made.worktree, '.env')).toBe('top');
    expect(read(made.worktree, 'conf/a/b.txt')).toBe('b');
    expect(read(made.worktree, 'app/x.local')).toBe('x');
    expect(existsSync(join(made.worktree, 'app/.env'))).toBe(false);
  });

  it('is what .worktreeinclude matches as .gitignore would, and only if git ignores it', async () => {
    const made = makeIgnoring('.env*\nsecrets/\n', {
      '.env': 'env',
      'app/.env.local': 'local',
      'app/.env.test': 'test',
      'secrets/key': 'key',
      'plain.txt': 'not ignored',
      '.worktreeinclude': '# what workers need\n.env*\n!.env.test\n/secrets/\nplain.txt\nREADME\n',
    });
    writeFileSync(join(made.worktree, 'README'), 'mine\n');
    expect(await bring(made)).toEqual([]);
    expect(read(made.worktree, '.env')).toBe('env');
    expect(read(made.worktree, 'app/.env.local')).toBe('local');
    expect(read(made.worktree, 'secrets/key')).toBe('key');
    expect(existsSync(join(made.worktree, 'app/.env.test'))).toBe(false);
    expect(existsSync(join(made.worktree, 'plain.txt'))).toBe(false);
    expect(read(made.worktree, 'README')).toBe('mine\n');
  });

  it('is never a hard link or a link that leads out of the copy; links inside stay links', async () => {
    const made = makeIgnoring('deps/\n', { 'deps/real/index.js': 'code' });
    const deps = join(made.folder, 'deps');
    symlinkSync('real', join(deps, 'inside'));
    symlinkSync('../../..', join(deps, 'outside'));
    symlinkSync(join(deps, 'real'), join(deps, 'absolute'));
    symlinkSync('outside', join(deps, 'by-way-of'));
    symlinkSync('../.git/config', join(deps, 'git'));
    const [problem, ...others] = await bring(made, 'deps');
    expect(others).toEqual([]);
    expect(problem).toContain('and 3 more: not copied');
    expect(problem).toContain('a link to something outside of the checkout');
    expect(readlinkSync(join(made.worktree, 'deps/inside'))).toBe('real');
    for (const name of ['outside', 'absolute', 'by-way-of', 'git'])
      expect(lstatSync(join(made.worktree, 'deps', name), { throwIfNoEntry: false })).toBeUndefined();
    const copy = statSync(join(made.worktree, 'deps/real/index.js'));
    expect(copy.nlink).toBe(1);
    expect(copy.ino).not.toBe(statSync(join(deps, 'real/index.js')).ino);
  });

  it('is never written through a link, nor over what git tracks there', async () => {
    const made = makeIgnoring('conf/\nlater\n', { 'conf/a': 'mine', later: 'mine' });
    const outside = join(made.home, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, join(made.worktree, 'conf'));
    writeFileSync(join(made.worktree, 'later'), 'tracked');
    readProgram('git', ['add', '--force', 'later'], { cwd: made.worktree, env: process.env as never });
    expect((await bring(made, 'conf', 'later')).join('\n')).toMatch(
      /a file or link is where.*\n.*git tracks it/,
    );
    expect(existsSync(join(outside, 'a'))).toBe(false);
    expect(read(made.worktree, 'later')).toBe('tracked');
  });

  it('is new again when it is brought in again', async () => {
    const made = makeIgnoring('.env\n', { '.env': 'user' });
    await bring(made, '.env');
    writeFileSync(join(made.worktree, '.env'), 'changed by a worker');
    expect(await bring(made, '.env')).toEqual([]);
    expect(read(made.worktree, '.env')).toBe('user');
    expect(read(made.folder, '.env')).toBe('user');
  });

  it('has no repositories in it', async () => {
    const made = makeIgnoring('tools/\n', { 'tools/a.txt': 'a', 'tools/nested/b.txt': 'b' });
    const env = { PATH: process.env.PATH ?? '', HOME: made.home };
    readProgram('git', ['init', '--quiet', 'tools/nested'], { cwd: made.folder, env });
    await bring(made, 'tools');
    expect(existsSync(join(made.worktree, 'tools/a.txt'))).toBe(true);
    expect(existsSync(join(made.worktree, 'tools/nested'))).toBe(false);
  });

  it('is checked before a plan starts, entry by entry', async () => {
    const made = makeIgnoring('.env\nnested/\n', { '.env': 'x', 'plain.txt': 'x', 'nested/file': 'x' });
    const env = { PATH: process.env.PATH ?? '', HOME: made.home };
    readProgram('git', ['init', '--quiet', 'nested'], { cwd: made.folder, env });
    const repository = discoverRepository(made.folder);
    const matches = await findCopyMatches(repository, [
      ...['.env', '.evn', 'README', 'plain.txt', '../x', '/etc/passwd', 'nested'],
    ]);
    expect(checkCopy(matches)).toEqual([
      'copy: .evn: nothing in the checkout matches it',
      'copy: README: git tracks it, so each worktree has it',
      expect.stringContaining('copy: plain.txt: git does not ignore it'),
      'copy: ../x: it is not a path below the top of the checkout',
      'copy: /etc/passwd: it is not a path below the top of the checkout',
      'copy: nested: it is a repository of its own',
    ]);
    await expect(refuseCopy(repository, ['.env'])).resolves.toBeUndefined();
    await expect(refuseCopy(repository, ['.evn'])).rejects.toMatchObject({ code: 'PLAN_INVALID' });
  });
});

describe('paths that differ only in case', () => {
  it('are found if one is new, and not if the repository has some already', () => {
    expect(selectCollisions(['README', 'Readme', 'a'], new Set(['Readme']))).toEqual([['README', 'Readme']]);
    expect(selectCollisions(['README', 'a'], new Set(['a']))).toEqual([]);
    expect(selectCollisions(['X', 'x', 'README', 'Readme'], new Set(['Readme']))).toEqual([]);
  });
});
