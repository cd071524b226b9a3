import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { waitUntil, writeScript } from '../support/supervised.ts';

const looseIn = (repository: TestRepository) =>
  Number(/^count: (\d+)$/m.exec(repository.git('count-objects', '-v'))?.[1]);

/** As many loose objects as a few hundred checkpoints leave, at once. */
function fillWithLoose(repository: TestRepository, count: number): void {
  const blobs = Array.from({ length: count }, (_, index) => `blob\ndata <<end\nobject ${index}\nend\n`);
  const args = ['-c', 'fastimport.unpackLimit=1000000', 'fast-import', '--quiet'];
  const ran = spawnSync('git', args, { cwd: repository.folder, input: blobs.join('\n') });
  expect(ran.status).toBe(0);
  expect(looseIn(repository)).toBeGreaterThanOrEqual(count);
}

function checkpoint(repository: TestRepository, env: Record<string, string> = {}): void {
  const ran = runOrch(repository, ['checkpoint', 'create', '-e', 'x'], { env });
  expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
}

describe('loose objects', () => {
  it('are packed once there are a few thousand, and what is packed is removed', async () => {
    const repository = makeRepositoryWithCommit();
    fillWithLoose(repository, 6_000);
    const before = repository.git('cat-file', '--batch-all-objects', '--batch-check').split('\n').length;
    checkpoint(repository);
    await waitUntil(() => looseIn(repository) < 500);
    expect(
      repository.git('cat-file', '--batch-all-objects', '--batch-check').split('\n').length,
    ).toBeGreaterThan(before);
    repository.git('fsck', '--full', '--strict');
  });

  it('stay where gc.auto is 0', async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('config', 'gc.auto', '0');
    fillWithLoose(repository, 6_000);
    // A git that says when the packing that was asked for has come to its end.
    const ended = join(repository.home, 'ended');
    const git = spawnSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).stdout.trim();
    const told = `case "$*" in *orch-pack*) touch '${ended}' ;; esac`;
    const wrapper = writeScript(repository, 'git', `'${git}' "$@"`, 'status=$?', told, 'exit $status');
    checkpoint(repository, { PATH: `${dirname(wrapper)}:${process.env.PATH}` });
    await waitUntil(() => existsSync(ended));
    expect(looseIn(repository)).toBeGreaterThan(6_000);
    expect(repository.git('count-objects', '-v')).toContain('packs: 0');
  });
});
