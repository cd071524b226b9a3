import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkpoint, CheckpointDocument } from '../../src/index.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { statusOf } from '../support/supervised.ts';

type LeftOut = { path: string; reason: string }[];
type Shown = { checkpoint: Checkpoint; document: CheckpointDocument; leftOut: LeftOut };

/** git cannot read the index, so nothing of the code can be saved. */
function damageIndex({ folder }: TestRepository): { repair(): void } {
  const path = join(folder, '.git/index');
  const whole = readFileSync(path);
  writeFileSync(path, 'no index\n');
  return { repair: () => writeFileSync(path, whole) };
}

const create = ['checkpoint', 'create', '-e', 'x'];
const why = /git ls-files failed: the index: index file smaller than expected/;
const withoutCode = (seq: number) => `checkpoint ${seq} of x was made without the code: git ls-files failed`;

describe('a checkpoint without the code that somebody asked for', () => {
  it('is made, and create exits 1 with SNAPSHOT_FAILED', () => {
    const repository = makeRepositoryWithCommit();
    const { repair } = damageIndex(repository);
    const told = runOrch(repository, create);
    expect(told.status).toBe(1);
    expect(told.stdout).toContain('ckpt 1 of x');
    expect(told.stderr).toContain(`error: ${withoutCode(1)}`);
    const ran = runOrch(repository, [...create, '--json']);
    expect([ran.status, ran.stdout]).toEqual([1, '']);
    const error = errorOf(ran);
    expect(error).toMatchObject({
      code: 'SNAPSHOT_FAILED',
      message: expect.stringContaining(withoutCode(2)),
      hint: expect.stringContaining('orch checkpoint create -e x'),
      data: { epicId: 'x', reason: expect.stringMatching(why), checkpoint: { seq: 2, snapshot: null } },
    });
    const { checkpoint, document } = orchJson<Shown>(repository, ['checkpoint', 'show', '-e', 'x']);
    expect(checkpoint).toEqual(error.data.checkpoint);
    expect(checkpoint.notSaved).toMatch(/^all of the code: git ls-files failed: /);
    expect(document.snapshotFailed).toMatch(why);
    repair();
    expect(orchJson<Shown>(repository, create)).toMatchObject({
      checkpoint: { notSaved: null },
      leftOut: [],
    });
  });

  it('ends start, pause and complete with 1; the command’s own failure says more', () => {
    const repository = makeRepositoryWithCommit();
    const result = join(repository.home, 'result.json');
    const start = ['start', '-e', 'x', '--no-baseline', '--result', result, '--'];
    const breaking = (status: number) => ['sh', '-c', `printf 'no index' >.git/index; exit ${status}`];
    const { repair } = damageIndex(repository);
    repair();
    const ended = runOrch(repository, [...start, ...breaking(0)]);
    expect([ended.status, ended.stderr]).toEqual([1, expect.stringContaining(`error: ${withoutCode(2)}`)]);
    expect(JSON.parse(readFileSync(result, 'utf8'))).toMatchObject({
      exit: 1,
      checkpoint: { snapshot: null },
    });
    expect(statusOf(repository, 'x').session.status).toBe('paused');
    repair();
    const failed = runOrch(repository, [...start, ...breaking(7)]);
    expect([failed.status, failed.stderr]).toEqual([
      7,
      expect.stringContaining('Not saved: all of the code: git'),
    ]);
    for (const [word, status] of [
      ['pause', 'paused'],
      ['complete', 'completed'],
    ] as const) {
      repair();
      const begun = runOrch(repository, [
        'start',
        '-e',
        'x',
        '--no-baseline',
        '--background',
        '--',
        'sleep',
        '60',
      ]);
      expect(begun.status).toBe(0);
      damageIndex(repository);
      const ran = runOrch(repository, ['session', word, '-e', 'x', '--json']);
      expect([ran.status, ran.stdout]).toEqual([1, '']);
      expect(errorOf(ran)).toMatchObject({
        code: 'SNAPSHOT_FAILED',
        data: { reason: expect.stringMatching(why) },
      });
      expect(statusOf(repository, 'x').session.status).toBe(status);
    }
  });
});

describe('a checkpoint without the code that the policy made', () => {
  it('shows in status, log, brief and doctor, until one has it', () => {
    const repository = makeRepositoryWithCommit();
    const { repair } = damageIndex(repository);
    const recorded = runOrch(repository, ['record', 'note', 'n', '-e', 'x']);
    expect(recorded.status).toBe(0);
    expect(recorded.stderr).toContain('  Not saved: all of the code: git ls-files failed');
    const read = (...args: string[]) => runOrch(repository, args).stdout;
    expect(read('status')).toMatch(
      /! x: checkpoint 1 was saved without the code: git ls-files failed: the index/,
    );
    expect(read('log', 'x')).toContain('Not saved: all of the code: git ls-files failed');
    expect(read('brief', '-e', 'x')).toContain('without the code: git ls-files failed');
    const diagnose = () =>
      (JSON.parse(read('doctor', '--json')) as { checks: { name: string }[] }).checks.find(
        ({ name }) => name === 'code',
      );
    expect(diagnose()).toMatchObject({
      status: 'warn',
      evidence: expect.stringMatching(/^x: checkpoint 1 has no code: git ls-files/),
      fix: expect.stringContaining('orch checkpoint create -e x'),
    });
    repair();
    expect(runOrch(repository, create).status).toBe(0);
    expect(read('status')).not.toContain('without the code');
    expect(diagnose()).toMatchObject({ status: 'ok' });
  });
});

describe('files that are left out', () => {
  it('are named by create, start, pause, log and the brief, and all of them listed where scripts look', () => {
    const repository = makeRepositoryWithCommit();
    const names = Array.from({ length: 250 }, (_, index) => `nested ${String(index).padStart(3, '0')}`);
    for (const name of names) repository.git('init', '--quiet', name);
    const first =
      'nested 000/ (nested repository), nested 001/ (nested repository), nested 002/ (nested repository)';
    const told = `${first} and 247 more`;
    const all = names.map((name) => ({ path: `${name}/`, reason: 'nested repository' }));
    expect(runOrch(repository, create).stderr).toContain(`  Not saved: ${told}\n`);
    const made = orchJson<Shown>(repository, create);
    expect(made).toMatchObject({ checkpoint: { notSaved: told } });
    expect(made.leftOut).toEqual(all);
    const shown = orchJson<Shown>(repository, ['checkpoint', 'show', '-e', 'x']);
    expect(shown.leftOut).toEqual(all);
    expect(shown.document).toMatchObject({ leftOutTotal: 250 });
    expect(shown.document.leftOut).toHaveLength(100);
    expect(runOrch(repository, ['checkpoint', 'show', '-e', 'x']).stdout).toContain(
      '  nested 249/ (nested repository)',
    );
    expect(runOrch(repository, ['log', 'x']).stdout).toContain(`Not saved: ${told}\n`);
    const { brief } = orchJson<{ brief: string }>(repository, ['brief', '-e', 'x']);
    expect(brief).toContain('not in checkpoint 2: `nested 000/` (nested repository), ');
    expect(brief).toContain(' and 247 more');
    const result = join(repository.home, 'result.json');
    const ended = runOrch(repository, [
      'start',
      '-e',
      'x',
      '--no-baseline',
      '--result',
      result,
      '--',
      'true',
    ]);
    expect([ended.status, ended.stderr]).toEqual([0, expect.stringContaining(`  Not saved: ${told}\n`)]);
    expect(JSON.parse(readFileSync(result, 'utf8'))).toMatchObject({ leftOut: all });
    const begin = ['start', '-e', 'x', '--no-baseline', '--background', '--', 'sleep', '60'];
    expect(runOrch(repository, begin).status).toBe(0);
    expect(runOrch(repository, ['session', 'pause', '-e', 'x']).stderr).toContain(`  Not saved: ${told}\n`);
    expect(orchJson<Shown>(repository, ['session', 'complete', '-e', 'x']).leftOut).toEqual(all);
  });

  it('are not said to be unchanged', () => {
    const repository = makeRepositoryWithCommit();
    const word = ['q8Zr2LmV', '7xKp4TnW'].join('');
    repository.write('README', `hello\npassword = "${word}"\n`);
    const ran = runOrch(repository, ['record', 'file', '-e', 'x', '--json']);
    expect(ran.status).toBe(2);
    expect(errorOf(ran)).toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(
        /^no other file has changed, and these are not compared: README \(secret inside: /,
      ),
      hint: expect.stringContaining('orch record file PATH'),
      data: { leftOut: [{ path: 'README' }] },
    });
    repository.git('checkout', '--quiet', 'README');
    expect(errorOf(runOrch(repository, ['record', 'file', '-e', 'x', '--json'])).message).toContain(
      'nothing has changed',
    );
  });
});
