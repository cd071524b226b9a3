import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseEpicId, parseOid } from '../../src/ids.ts';
import { openOrch, restoreCheckpoint, undoRestore } from '../../src/index.ts';
import { findCheckpointCode } from '../../src/restore/find-target.ts';
import { restoreFiles as runRestore } from '../../src/restore/restore-files.ts';
import { expectSound, repositoryAt, save } from '../support/checkpoints.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { lookAtFiles, lookAtGit } from '../support/restored.ts';

const restore = (repository: TestRepository, name = '1', paths?: string[]) =>
  restoreCheckpoint({ epicId: 'x', name, ...(paths && { paths }) }, { cwd: repository.folder });
const undo = (repository: TestRepository) => undoRestore({}, { cwd: repository.folder });
const remove = (repository: TestRepository, path: string) =>
  rmSync(join(repository.folder, path), { recursive: true });

/** Restores, undoes, and expects what was there; gives what was kept, and the files in between. */
async function restoreAndUndo(repository: TestRepository) {
  const before = lookAtFiles(repository.folder);
  const own = lookAtGit(repository);
  const { kept } = await restore(repository);
  const restored = lookAtFiles(repository.folder);
  await undo(repository);
  expect(lookAtFiles(repository.folder)).toEqual(before);
  expect(lookAtGit(repository)).toEqual(own);
  return { kept, restored };
}

describe('I1: a restore and its undo', () => {
  it('swap files, folders and links, and never write through a link', async () => {
    const repository = makeRepositoryWithCommit();
    const outside = makeFolder();
    writeFileSync(join(outside, 'file'), 'outside\n');
    for (const name of ['folder', 'deep/er']) mkdirSync(join(repository.folder, name), { recursive: true });
    repository.write('folder/file', 'inside\n');
    repository.write('deep/er/file', 'deep\n');
    repository.write('plain', 'plain\n');
    symlinkSync(outside, join(repository.folder, 'link'));
    await save(repository, ['then']);
    for (const name of ['folder', 'deep', 'plain', 'link']) remove(repository, name);
    symlinkSync(outside, join(repository.folder, 'folder'));
    repository.write('deep', 'a file now\n');
    mkdirSync(join(repository.folder, 'plain/now'), { recursive: true });
    repository.write('plain/now/folder', 'a folder now\n');
    mkdirSync(join(repository.folder, 'link'));
    repository.write('link/file', 'a folder now\n');
    const { restored } = await restoreAndUndo(repository);
    expect(restored).toEqual({
      README: '644 hello\n',
      'folder/file': '644 inside\n',
      'deep/er/file': '644 deep\n',
      plain: '644 plain\n',
      link: `link ${outside}`,
    });
    expect(lookAtFiles(outside)).toEqual({ file: '644 outside\n' });
    expectSound(repository);
  });

  it('know names of any kind, and executable files', async () => {
    const repository = makeRepositoryWithCommit();
    const names = ['-rf', 'new\nline', '"quoted"', "it's", 'é', ':(glob)*', ' ', 'a\tb', '\\'];
    for (const name of names) repository.write(name, `${name}\n`);
    chmodSync(join(repository.folder, 'é'), 0o755);
    await save(repository, ['then']);
    for (const name of names.slice(4)) remove(repository, name);
    for (const name of names.slice(0, 4)) chmodSync(join(repository.folder, name), 0o755);
    repository.write('--force', 'made since\n');
    const { restored } = await restoreAndUndo(repository);
    const wanted = names.map((name) => [
      name,
      `${name === 'é' ? 755 : 644} ${Buffer.from(name).toString('latin1')}\n`,
    ]);
    expect(restored).toEqual({ README: '644 hello\n', ...Object.fromEntries(wanted) });
  });

  it('give back the very bytes, whatever line ends and filters git is set to', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('.gitattributes', '*.txt text\n*.up filter=up -text\n');
    repository.git('config', 'core.autocrlf', 'true');
    repository.git('config', 'filter.up.clean', 'tr a-z A-Z');
    repository.git('config', 'filter.up.smudge', 'tr A-Z a-z');
    repository.write('one.txt', 'one\r\ntwo\r\n');
    repository.write('low.up', 'low\n');
    await save(repository, ['then']);
    repository.write('one.txt', 'only\nline feeds\n');
    repository.write('mixed.txt', 'mixed\r\nline\n');
    repository.write('low.up', 'changed\n');
    const { restored } = await restoreAndUndo(repository);
    expect(restored).toMatchObject({ 'one.txt': '644 one\r\ntwo\r\n', 'low.up': '644 low\n' });
  });

  it('save an ignored file that has to give way, here only', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('.env', 'then\n');
    await save(repository, ['then']);
    repository.write('.gitignore', '.env\nbuild\n');
    repository.write('.env', 'secret\n');
    mkdirSync(join(repository.folder, 'build'));
    repository.write('build/out', 'built\n');
    const { restored } = await restoreAndUndo(repository);
    expect(restored).toEqual({ README: '644 hello\n', '.env': '644 then\n', 'build/out': '644 built\n' });
    const secret = repository.git('hash-object', '.env');
    const pushed = repository.git(
      'rev-list',
      '--objects',
      '--no-object-names',
      '--glob=refs/orchestration/*',
    );
    expect(pushed).not.toContain(secret);
  });

  it('leave alone what could not be saved: large files, and folders with ignored files', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('large', 'small then\n');
    repository.write('place', 'a file then\n');
    await save(repository, ['then']);
    remove(repository, 'place');
    mkdirSync(join(repository.folder, 'place'));
    repository.write('place/ignored', 'precious\n');
    repository.write('.gitignore', 'ignored\n');
    repository.write('large', 'x'.repeat(11_000_000));
    const { kept, restored } = await restoreAndUndo(repository);
    expect(kept).toEqual([
      { path: 'large', reason: 'not saved: too large' },
      { path: 'place', reason: 'a folder with ignored files is in the way' },
    ]);
    expect(restored).toMatchObject({ 'place/ignored': '644 precious\n' });
    expect(restored.large).toHaveLength(11_000_004);
  });

  it('leave alone what was too large then', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('data', 'x'.repeat(11_000_000));
    await save(repository, ['then']);
    for (const name of ['data', 'README']) repository.write(name, 'small now\n');
    const { kept } = await restoreAndUndo(repository);
    expect(kept).toEqual([{ path: 'data', reason: 'not in the snapshot: too large' }]);
  });

  it('leave submodules alone', async () => {
    const repository = makeRepositoryWithCommit();
    const inside = makeRepositoryWithCommit();
    repository.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      inside.folder,
      'module',
    );
    repository.git('commit', '--quiet', '--message', 'module');
    await save(repository, ['then']);
    const module = repositoryAt(repository.home, join(repository.folder, 'module'));
    module.git('commit', '--quiet', '--allow-empty', '--message', 'its own');
    repository.git('add', 'module');
    repository.write('README', 'changed\n');
    const { kept, restored } = await restoreAndUndo(repository);
    expect(kept).toEqual([{ path: 'module', reason: 'a submodule' }]);
    expect(restored).toMatchObject({ README: '644 hello\n', 'module/README': '644 hello\n' });
    expect(module.git('log', '-1', '--format=%s')).toBe('its own');
  });

  it('leave alone what git is told not to look at', async () => {
    const repository = makeRepositoryWithCommit();
    for (const folder of ['in', 'out']) mkdirSync(join(repository.folder, folder));
    for (const path of ['in/file', 'out/file', 'assumed']) repository.write(path, 'then\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'all');
    await save(repository, ['then']);
    for (const path of ['in/file', 'out/file', 'assumed']) repository.write(path, 'now\n');
    repository.git('commit', '--quiet', '--all', '--message', 'changed');
    repository.git('update-index', '--assume-unchanged', 'assumed');
    repository.write('assumed', 'in no snapshot\n');
    repository.git('sparse-checkout', 'set', 'in');
    const { kept, restored } = await restoreAndUndo(repository);
    expect(kept).toEqual([
      { path: 'assumed', reason: 'git is told to assume it unchanged' },
      { path: 'out/file', reason: 'outside the sparse checkout' },
    ]);
    expect(restored).toEqual({
      README: '644 hello\n',
      'in/file': '644 then\n',
      assumed: '644 in no snapshot\n',
    });
  });

  it('are of one worktree, and leave the others alone', async () => {
    const repository = makeRepositoryWithCommit();
    const linked = repositoryAt(repository.home, join(repository.home, 'linked'));
    repository.git('worktree', 'add', '--quiet', linked.folder);
    await save(repository, ['then']);
    for (const place of [repository, linked]) place.write('README', 'changed\n');
    await restore(linked);
    expect(readFileSync(join(repository.folder, 'README'), 'utf8')).toBe('changed\n');
    await expect(undo(repository)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
    await undo(linked);
    expect(lookAtFiles(linked.folder)).toEqual({ README: '644 changed\n' });
    // Another one under the name of one that is gone has done nothing yet.
    repository.git('worktree', 'remove', '--force', linked.folder);
    repository.git('worktree', 'add', '--quiet', '--force', linked.folder, 'linked');
    await expect(undo(linked)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
    linked.write('README', 'again\n');
    await restore(linked);
    await undo(linked);
    expect(lookAtFiles(linked.folder)).toEqual({ README: '644 again\n' });
  });

  it('work in a repository without a commit, and down to no file at all', async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('update-ref', '-d', 'HEAD');
    rmSync(join(repository.folder, '.git/index'));
    remove(repository, 'README');
    await save(repository, ['nothing']);
    repository.write('first', 'first\n');
    expect((await restoreAndUndo(repository)).restored).toEqual({});
  });

  it('run no hook of the user', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['then']);
    for (const name of ['post-checkout', 'post-index-change', 'reference-transaction']) {
      writeFileSync(join(repository.folder, '.git/hooks', name), '#!/bin/sh\ntouch "$PWD/ran"\n', {
        mode: 0o755,
      });
    }
    repository.write('README', 'changed\n');
    await restoreAndUndo(repository);
    expect(existsSync(join(repository.folder, 'ran'))).toBe(false);
  });
});

it('I9: a snapshot that names what no snapshot may is refused whole', async () => {
  const repository = makeRepositoryWithCommit();
  await save(repository, ['then']);
  const file = join(repository.home, 'forged');
  // git itself makes no such tree, but it may come from elsewhere.
  const forge = (entry: string, oid: string) => {
    writeFileSync(file, Buffer.concat([Buffer.from(`${entry}\0`), Buffer.from(oid, 'hex')]));
    return repository.git('hash-object', '-t', 'tree', '-w', '--literally', file);
  };
  const inner = forge('100644 config', repository.git('hash-object', '-w', 'README'));
  const tree = parseOid(forge('40000 .git', inner));
  const before = [lookAtFiles(repository.folder), lookAtGit(repository)];
  const orch = await openOrch({ cwd: repository.folder });
  try {
    const target = { ...(await findCheckpointCode(orch, parseEpicId('x'), '1')), tree };
    await expect(runRestore(orch, target)).rejects.toMatchObject({ code: 'INTEGRITY' });
  } finally {
    orch.close();
  }
  expect([lookAtFiles(repository.folder), lookAtGit(repository)]).toEqual(before);
});
