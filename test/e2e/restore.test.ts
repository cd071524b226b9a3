import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, openTerminal } from '../agents/support/terminal.ts';
import { repositoryAt, save } from '../support/checkpoints.ts';
import { errorOf, orchBin, orchJson, runOrch } from '../support/orch.ts';
import {
  cleanEnvironment,
  makeFolder,
  makeRepositoryWithCommit,
  type TestRepository,
} from '../support/repository.ts';
import { lookAtFiles, lookAtGit } from '../support/restored.ts';
import { makeSecrets } from '../support/secrets.ts';

type Result = { restored: { seq: number } | null; changed: string[]; deleted: string[]; undo: string | null };

/** A checkpoint of three files, one of them untracked; then one is changed, one deleted, and one made. */
async function makeWrecked(): Promise<TestRepository> {
  const repository = makeRepositoryWithCommit();
  mkdirSync(join(repository.folder, 'src'));
  repository.write('src/a.ts', 'a\n');
  repository.write('.gitignore', '*.log\n');
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'second');
  repository.write('untracked', 'untracked\n');
  await save(repository, ['good']);
  repository.write('src/a.ts', 'wrecked\n');
  repository.write('made', 'made since\n');
  repository.write('kept.log', 'ignored\n');
  rmSync(join(repository.folder, 'untracked'));
  return repository;
}

const good = { README: '644 hello\n', 'src/a.ts': '644 a\n', untracked: '644 untracked\n' };
const always = { '.gitignore': '644 *.log\n', 'kept.log': '644 ignored\n' };

function commit(repository: TestRepository, text: string): string {
  repository.git('commit', '--quiet', '--allow-empty', '--message', text);
  return repository.git('rev-parse', '--short=7', 'HEAD');
}

describe('a file with a secret', () => {
  const secret = makeSecrets(1)[0]?.text ?? '';

  it('is left out, not touched by any restore, and said to be', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    repository.write('README', `changed\n${secret}\n`);
    repository.write('keys', `${secret}\n`);
    repository.write('other', 'other\n');
    await save(repository, ['two']);
    const before = lookAtFiles(repository.folder);
    const { status, stderr } = runOrch(repository, ['restore', '1', '-e', 'x', '-y']);
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /1 deleted\n {4}D other\n {2}Not touched, because they could not be saved first:\n {4}README \(secret inside: .*\)\n {4}keys \(secret inside/,
    );
    const { other: _, ...rest } = before;
    expect(lookAtFiles(repository.folder)).toEqual(rest);
    expect(runOrch(repository, ['restore', '--undo', '-y']).status).toBe(0);
    expect(lookAtFiles(repository.folder)).toEqual(before);
  });

  it('does not come back with its checkpoint, and that is said', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('keys', `${secret}\n`);
    await save(repository, ['one']);
    rmSync(join(repository.folder, 'keys'));
    const dryRun = (...args: string[]) => runOrch(repository, ['restore', '1', '--dry-run', ...args]).stdout;
    expect(dryRun()).toMatch(
      /nothing to change\n {2}Not in the snapshot of ckpt 1, so not restored:\n {4}keys \(secret inside/,
    );
    expect(dryRun('--', 'README')).not.toContain('keys');
    const into = runOrch(repository, ['restore', '1', '--to', join(repository.home, 'copy')]).stderr;
    expect(into).toMatch(/not restored:\n {4}keys \(secret inside/);
  });
});

describe('orch restore', () => {
  it('says first what it would do, and without anybody to ask does nothing', async () => {
    const repository = await makeWrecked();
    const before = lookAtFiles(repository.folder);
    const ran = runOrch(repository, ['restore', '1', '-e', 'x', '--no-color'], { env: { TZ: 'UTC' } });
    expect(ran.status).toBe(2);
    expect(ran.stdout).toBe('');
    const head = repository.git('rev-parse', '--short=7', 'HEAD');
    expect(ran.stderr.replace(/\d\d:\d\d/, 'TIME').split('\n')).toEqual([
      'ckpt 1, TIME; no gates ran on this tree',
      '  1 modified, 1 deleted, 1 restored',
      '    D made',
      '    M src/a.ts',
      '    A untracked',
      `  HEAD stays at ${head}, as it was at ckpt 1.`,
      'error: nothing was changed: not a terminal, so orch cannot ask',
      '       If that is what you want: orch restore 1 -e x --no-color -y',
      '',
    ]);
    expect(lookAtFiles(repository.folder)).toEqual(before);
    expect(repository.git('for-each-ref', 'refs/orchestration-local')).toBe('');
  });

  it('brings the files back, leaves HEAD, index and ignored files, and its undo brings back what was there', async () => {
    const repository = await makeWrecked();
    const before = lookAtFiles(repository.folder);
    const own = lookAtGit(repository);
    const ran = runOrch(repository, ['restore', 'latest', '-y']);
    expect(ran.stderr).toContain('latest is ckpt 1, ');
    expect(ran.stderr).toMatch(
      /Restored\. Your previous files are saved as checkpoint 2\.\nUndo: orch restore --undo\n$/,
    );
    expect(lookAtFiles(repository.folder)).toEqual({ ...good, ...always });
    const { checkpoints } = orchJson<{ checkpoints: { reason: string }[] }>(repository, [
      'checkpoint',
      'list',
    ]);
    expect(checkpoints.map(({ reason }) => reason)).toEqual([
      'Restored ckpt 1',
      'Before restoring ckpt 1',
      'good',
    ]);
    const undone = runOrch(repository, ['restore', '--undo', '-y']);
    expect(undone.stderr).toContain('your files before restoring ckpt 1, ');
    expect(lookAtFiles(repository.folder)).toEqual(before);
    const redone = runOrch(repository, ['restore', '--undo', '-y']);
    expect(redone.stderr).toContain('your files before undoing a restore, ');
    expect(lookAtFiles(repository.folder)).toEqual({ ...good, ...always });
    expect(lookAtGit(repository)).toEqual(own);
    expect(runOrch(repository, ['restore', '1']).stderr).toContain('nothing to change');
  });

  it('prints one document with --json, and with --dry-run all files, changing nothing', async () => {
    const repository = await makeWrecked();
    const names = Array.from({ length: 12 }, (_, index) => `n${String(index).padStart(2, '0')}`);
    for (const name of names) repository.write(name, 'new\n');
    const before = lookAtFiles(repository.folder);
    expect(runOrch(repository, ['restore', '1']).stderr).toContain('    … and 5 more (--dry-run lists all)');
    const dry = runOrch(repository, ['restore', '1', '--dry-run']);
    for (const name of names) expect(dry.stdout).toContain(`    D ${name}\n`);
    const planned = orchJson<Result>(repository, ['restore', '1', '--dry-run']);
    expect(planned).toMatchObject({
      changed: ['src/a.ts', 'untracked'],
      deleted: ['made', ...names],
      undo: null,
    });
    expect(errorOf(runOrch(repository, ['restore', '1', '--json'])).code).toBe('USAGE');
    expect(lookAtFiles(repository.folder)).toEqual(before);
    const done = orchJson<Result>(repository, ['checkpoint', 'restore', '1', '-y']);
    expect(done).toMatchObject({ restored: { seq: 1 }, changed: planned.changed, deleted: planned.deleted });
    expect(done.undo).toBe(repository.git('rev-parse', 'refs/orchestration-local/undo/main/00000001'));
    expect(orchJson<Result>(repository, ['restore', '1', '-y'])).toMatchObject({ changed: [], undo: null });
  });

  it('takes single paths, from any folder, and undoes those only', async () => {
    const repository = await makeWrecked();
    const cwd = join(repository.folder, 'src');
    const run = (...args: string[]) => runOrch(repository, ['restore', ...args], { cwd });
    expect(run('1', '-y', '--', 'nowhere').stderr).toContain(
      'src/nowhere is neither in ckpt 1 nor in the working',
    );
    expect(run('1', '-y', '--', '../../x').stderr).toContain('../../x is outside the working tree');
    expect(run('1', 'a.ts', '-y').stderr).toContain('Try: orch restore 1 -- a.ts');
    expect(run('1', '--', 'a.ts').stderr).toContain('orch restore 1 -y -- a.ts');
    expect(run('1', '-y', '--', 'a.ts', '../untracked').status).toBe(0);
    expect(lookAtFiles(repository.folder)).toEqual({ ...good, ...always, made: '644 made since\n' });
    repository.write('made', 'changed after\n');
    expect(run('--undo', '-y').status).toBe(0);
    expect(lookAtFiles(repository.folder)).toEqual({
      ...always,
      README: '644 hello\n',
      'src/a.ts': '644 wrecked\n',
      made: '644 changed after\n',
    });
  });

  it('refuses what it cannot mean', async () => {
    const repository = await makeWrecked();
    const said = (...args: string[]) => {
      const ran = runOrch(repository, ['restore', ...args, '--json']);
      const { code, message, hint } = errorOf(ran);
      return `${ran.status} ${code}: ${message}. ${hint}`;
    };
    expect(said()).toContain('2 USAGE: no checkpoint named. Try: orch restore green.');
    expect(said('1', '--undo')).toContain('2 USAGE: --undo cannot be combined');
    expect(said('--undo')).toContain('1 CHECKPOINT_NOT_FOUND: there is nothing to undo');
    expect(said('7')).toContain('1 CHECKPOINT_NOT_FOUND: x has no checkpoint "7"');
    expect(said('green')).toContain('1 CHECKPOINT_NOT_FOUND: x has no green checkpoint yet');
  });
});

describe('what is said before', () => {
  const dryRun = (repository: TestRepository, ...args: string[]) =>
    runOrch(repository, ['restore', '1', '--dry-run', ...args]).stdout;

  it('is how far HEAD moved, with a command that loses nothing', async () => {
    const repository = await makeWrecked();
    const before = repository.git('rev-parse', '--short=7', 'HEAD');
    commit(repository, 'third');
    const head = commit(repository, 'fourth');
    const move = `git reset --soft ${before}`;
    expect(dryRun(repository)).toContain(
      `HEAD stays at ${head}, 2 commits after ckpt 1. To move the branch too: ${move}\n`,
    );
    repository.git('checkout', '--quiet', '-b', 'other');
    const other = dryRun(repository);
    expect(other).toContain(`2 commits after ckpt 1. That was on main; this is other.\n`);
    expect(other).not.toContain('git reset');
    const files = lookAtFiles(repository.folder);
    repository.git('checkout', '--quiet', 'main');
    repository.git(...move.split(' ').slice(1));
    expect(lookAtFiles(repository.folder)).toEqual(files);
    repository.git('reset', '--soft', 'HEAD~1');
    expect(dryRun(repository)).toContain(`, 1 commit before ckpt 1 (${before}).\n`);
    commit(repository, 'another way');
    expect(dryRun(repository)).toContain(
      `which has diverged from ckpt 1: 1 commit here, 1 there (${before}).\n`,
    );
  });

  it('is who works here, and what git is in the middle of', async () => {
    const repository = await makeWrecked();
    repository.write('.git/MERGE_HEAD', `${repository.git('rev-parse', 'HEAD')}\n`);
    runOrch(repository, ['start', '-e', 'y', '--background', '--no-baseline', '--', 'sleep', '600']);
    try {
      const said = dryRun(repository, '-e', 'x');
      expect(said).toMatch(/ {2}sleep \(pid \d+\) is working here and will see files change under it\.\n/);
      expect(said).toContain('  A merge is in progress and stays in progress: only files change.\n');
    } finally {
      orchJson(repository, ['session', 'pause', '-e', 'y']);
    }
    expect(dryRun(repository, '-e', 'x')).not.toContain('works here');
  });

  it('is whether the gates passed on exactly this tree', async () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, '.orchestration'));
    repository.write('.orchestration/config.yaml', 'gates: [{name: test, run: "test -f README"}]\n');
    orchJson(repository, ['baseline', '-e', 'x'], { env: { ORCH_TRUST: '1' } });
    rmSync(join(repository.folder, 'README'));
    const said = runOrch(repository, ['restore', 'green', '--dry-run']).stdout;
    expect(said).toMatch(/^green is ckpt \d+, .*; the gates passed on exactly this tree\n/);
  });
});

describe('code that is not there', () => {
  it('names the nearest older checkpoint that has code', async () => {
    const repository = await makeWrecked();
    await save(repository, ['without'], { settings: { snapshot: false } });
    const { code, message, hint } = errorOf(runOrch(repository, ['restore', '2', '--json']));
    expect([code, message]).toEqual(['CHECKPOINT_NOT_FOUND', 'ckpt 2 of x was saved without the code']);
    expect(hint).toContain('orch restore 1 --epic x --dry-run');
  });

  it('says to sync where the snapshot was not fetched', async () => {
    const repository = await makeWrecked();
    const clone = repositoryAt(repository.home, join(makeFolder(), 'clone'));
    repository.git('clone', '--quiet', '--no-local', repository.folder, clone.folder);
    clone.git('fetch', '--quiet', 'origin', 'refs/orchestration/epics/*:refs/orchestration/epics/*');
    const ran = runOrch(clone, ['restore', '1', '-y', '--json', '-e', 'x']);
    expect(ran.status).toBe(6);
    expect(errorOf(ran).code).toBe('INTEGRITY');
    expect(errorOf(ran).hint).toContain('orch sync');
  });
});

describe('orch restore --to', () => {
  it('puts the code into a folder of its own, and touches nothing else', async () => {
    const repository = await makeWrecked();
    const before = lookAtFiles(repository.folder);
    const own = lookAtGit(repository);
    const folder = join(makeFolder(), 'new/one');
    expect(runOrch(repository, ['restore', '1', '--to', folder]).stderr).toContain(
      'Restored 4 files of ckpt 1 into',
    );
    expect(lookAtFiles(folder)).toEqual({ ...good, '.gitignore': '644 *.log\n' });
    const part = makeFolder();
    expect(runOrch(repository, ['restore', '1', '--to', part, '--', 'src', 'made']).stderr).toContain(
      'made is not in ckpt 1',
    );
    expect(runOrch(repository, ['restore', '1', '--to', part, '--', 'src']).status).toBe(0);
    expect(lookAtFiles(part)).toEqual({ 'src/a.ts': '644 a\n' });
    expect(lookAtFiles(repository.folder)).toEqual(before);
    expect(lookAtGit(repository)).toEqual(own);
    expect(existsSync(join(folder, '.git'))).toBe(false);
  });

  it('refuses a folder with something in it, a file, and the repository itself', async () => {
    const repository = await makeWrecked();
    const said = (folder: string) =>
      errorOf(runOrch(repository, ['restore', '1', '--to', folder, '--json'])).message;
    expect(said('src')).toContain('src is not empty');
    expect(said('made')).toContain('made is a file');
    expect(said('.git/new')).toContain("is inside the repository's own folder");
  });

  it('is what is left in a bare repository, where nothing else can be restored', async () => {
    const repository = await makeWrecked();
    const bare = repositoryAt(repository.home, join(makeFolder(), 'bare.git'));
    repository.git('clone', '--quiet', '--bare', repository.folder, bare.folder);
    bare.git('fetch', '--quiet', repository.folder, 'refs/orchestration/*:refs/orchestration/*');
    const refused = errorOf(runOrch(bare, ['restore', '1', '-y', '--json']));
    expect(refused.code).toBe('REPOSITORY_UNSUPPORTED');
    expect(refused.hint).toContain('orch restore NAME --to DIR');
    const folder = makeFolder();
    expect(runOrch(bare, ['restore', '1', '--to', folder]).status).toBe(0);
    expect(lookAtFiles(folder)).toEqual({ ...good, '.gitignore': '644 *.log\n' });
  });
});

describe.runIf(hasTmux)('on a terminal', () => {
  const open = async (repository: TestRepository, ...args: string[]) => {
    const script = `'${process.execPath}' '${orchBin}' ${args.join(' ')}; echo "ended with $?"; exec cat`;
    const env = { ...cleanEnvironment(repository.home), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
    return openTerminal(repository, 'sh', ['-c', script], env);
  };

  it.each([
    ['a yes', ['y', 'Enter'], 'Restored. Your previous files are saved as checkpoint 2.', 'a\n', 0],
    ['Enter alone', ['Enter'], 'Nothing was changed.', 'wrecked\n', 1],
    ['Ctrl+C', ['C-c'], 'Nothing was changed.', 'wrecked\n', 130],
  ])('asks, and hears %s', async (_, keys, answer, content, status) => {
    const repository = await makeWrecked();
    const terminal = await open(repository, 'restore', '1');
    await terminal.shows('Continue? [y/N]');
    terminal.press(...keys);
    await terminal.shows(answer);
    await terminal.shows(`ended with ${status}`);
    expect(readFileSync(join(repository.folder, 'src/a.ts'), 'utf8')).toBe(content);
  });

  it('is asked when a session goes on from an older checkpoint', async () => {
    const repository = await makeWrecked();
    await save(repository, ['wrecked']);
    const terminal = await open(
      repository,
      'resume',
      '-e',
      'x',
      '--checkpoint',
      '1',
      '--no-baseline',
      '--',
      'true',
    );
    await terminal.shows(
      'Restore the snapshot of checkpoint 1 (3 files; your changes are saved first)? [Y/n]',
    );
    terminal.press('Enter');
    await terminal.shows('Undo: orch restore --undo');
    await terminal.shows('ended with 0');
    expect(lookAtFiles(repository.folder)).toEqual({ ...good, ...always });
  });
});

it('a session that goes on from an older checkpoint without a terminal is told the command', async () => {
  const repository = await makeWrecked();
  const args = ['resume', '-e', 'x', '--checkpoint', '1', '--no-baseline', '--', 'true'];
  const ran = runOrch(repository, args);
  expect(ran.stderr).toContain(
    'Your files stay as they are and differ from checkpoint 1 (3 files). To get its code: orch restore 1 -e x\n',
  );
  writeFileSync(join(repository.folder, 'src/a.ts'), 'wrecked more\n');
  expect(lookAtFiles(repository.folder)).toHaveProperty('made');
});

it('restored code is the newest: latest, the log and the brief continue from it', async () => {
  const repository = await makeWrecked();
  await save(repository, ['wrecked']);
  expect(runOrch(repository, ['restore', '1', '-e', 'x', '-y']).status).toBe(0);
  expect(runOrch(repository, ['restore', 'latest', '--dry-run']).stdout).toMatch(
    /^latest is ckpt 4, .*\n {2}nothing to change\n/,
  );
  expect(runOrch(repository, ['log', 'x']).stdout).toMatch(/^ +4 .* Restored ckpt 1$/m);
  expect(runOrch(repository, ['brief', '-e', 'x']).stdout).toMatch(
    /^\*\*Restored:\*\* all files went back to checkpoint 1 at .* UTC; checkpoint 3 has what was there before$/m,
  );
  expect(runOrch(repository, ['restore', '--undo', '-y']).status).toBe(0);
  expect(runOrch(repository, ['brief', '-e', 'x']).stdout).toContain(
    '**Restored:** a restore was undone at ',
  );
});

it('the log marks what a session left behind that continued from an older checkpoint', async () => {
  const repository = await makeWrecked();
  runOrch(repository, ['record', 'note', 'The wrong way', '-e', 'x']);
  runOrch(repository, ['resume', '-e', 'x', '--checkpoint', '1', '--no-baseline', '--', 'true']);
  const log = runOrch(repository, ['log', 'x']).stdout;
  expect(log).toMatch(/^ +2 .* \(abandoned\) The wrong way$/m);
  expect(log.match(/abandoned/g)).toHaveLength(1);
  expect(runOrch(repository, ['brief', '-e', 'x']).stdout).not.toContain('The wrong way');
});
