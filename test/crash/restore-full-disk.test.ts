import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { restoreCheckpoint, undoRestore } from '../../src/index.ts';
import { save } from '../support/checkpoints.ts';
import { crashPoints } from '../support/depth.ts';
import { makeFullDisk } from '../support/full-disk.ts';
import { orchBin } from '../support/orch.ts';
import { cleanEnvironment, makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';
import { lookAtFiles } from '../support/restored.ts';

describe('a restore on a disk that gets full', () => {
  it('I2 I10: says so, and is finished or undone once there is space', async () => {
    const repository = makeRepositoryWithCommit();
    const { folder: cwd } = repository;
    const input = { epicId: 'x', name: '1' };
    repository.write('a', 'then\n');
    await save(repository, ['then']);
    const then = lookAtFiles(cwd);
    let refused = 0;
    for (const at of crashPoints(16)) {
      repository.write('a', `now ${at}\n`);
      repository.write('made', 'since\n');
      const now = lookAtFiles(cwd);
      const disk = makeFullDisk(at, at % 2 === 0);
      try {
        await restoreCheckpoint(input, { cwd, disk });
      } catch (error) {
        expect(hasCode(error, 'WRITE_FAILED'), String(error)).toBe(true);
        refused += 1;
      }
      await restoreCheckpoint(input, { cwd });
      expect(lookAtFiles(cwd)).toEqual(then);
      await undoRestore({}, { cwd });
      expect(lookAtFiles(cwd)).toEqual(now);
      if (!disk.isFull()) break;
    }
    expect(refused).toBeGreaterThan(1);
  });
});

const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

describe.runIf(canMount)('a real file system that is full', () => {
  it('I10: is no bug of orch, whoever meets it, and nothing is changed', () => {
    const folder = makeFolder();
    const script = `set -e
      mount -t tmpfs -o size=4m none "$1"; cd "$1"; git init -q .
      run() { "$NODE" "$ORCH" "$@"; }
      echo then > a; run checkpoint create -e x --json >/dev/null; echo now > a
      dd if=/dev/zero of=fill bs=4k >/dev/null 2>&1 || true
      for command in "restore 1 -y" "diff 1" "start --background"; do
        run $command -e x --json 2>&1 >/dev/null || true
      done
      run restore 1 --to out -e x --json 2>&1 >/dev/null || true
      cat a; rm fill; run restore 1 -y -e x 2>/dev/null; cat a`;
    const env = cleanEnvironment(folder, { NODE: process.execPath, ORCH: orchBin });
    const out = execFileSync('unshare', ['-rm', 'sh', '-c', script, 'sh', folder], { env, encoding: 'utf8' });
    const [restoring = '', comparing = '', starting = '', putting = '', ...rest] = out.trim().split('\n');
    expect(JSON.parse(putting).error.code).toBe('WRITE_FAILED');
    for (const line of [restoring, comparing, starting])
      expect(JSON.parse(line).error).toMatchObject({
        code: 'WRITE_FAILED',
        hint: 'Free some space, then run the same command again.',
      });
    expect(rest).toEqual(['now', 'then']);
  });
});

describe.runIf(canMount)('a file that cannot be replaced', () => {
  it('I10: is named, and no other; the rest is restored, and undone', () => {
    const folder = makeFolder();
    const script = `set -e
      cd "$1"; git init -q .
      run() { "$NODE" "$ORCH" "$@"; }
      for name in a held z; do echo then > $name; done
      run checkpoint create -e x --json >/dev/null
      for name in a held z; do echo now > $name; done
      mount --bind held held
      run restore 1 -y -e x --json 2>&1 >/dev/null || true
      cat a held z
      run restore --undo -y 2>/dev/null; cat a held z
      umount held; run restore 1 -y -e x 2>/dev/null; cat a held z`;
    const env = cleanEnvironment(folder, { NODE: process.execPath, ORCH: orchBin });
    const out = execFileSync('unshare', ['-rm', 'sh', '-c', script, 'sh', folder], { env, encoding: 'utf8' });
    const [error = '', ...files] = out.trim().split('\n');
    expect(JSON.parse(error).error).toMatchObject({ code: 'WRITE_FAILED', data: { files: ['held'] } });
    expect(files).toEqual(['then', 'now', 'then', 'now', 'now', 'now', 'then', 'then', 'then']);
  });
});
