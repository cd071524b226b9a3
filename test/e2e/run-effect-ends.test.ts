import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorOf, runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn, readRan, statusesOf } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';

/** An effect that exits with the status in a file, or with 0 if there is no file. */
const plan = `name: release
tasks:
  - { id: build, run: echo build >> $RAN }
  - id: publish
    run: echo publish >> $RAN
    retry: { attempts: 2, backoff: 1ms }
    effects:
      - { id: tag, run: "echo tag $ORCH_IDEMPOTENCY_KEY >> $RAN" }
      - { id: tell, run: "echo tell $ORCH_IDEMPOTENCY_KEY >> $RAN; exit $(cat $RAN.status || echo 0)" }
  - { id: mend, run: echo mend >> $RAN, when: failure }
  - { id: last, run: echo last >> $RAN, needs: [publish] }
`;

const run = (repository: TestRepository, ...args: string[]) => {
  const ran = runOrch(repository, ['run', 'plan.yaml', '--json', ...args], ranIn(repository));
  return { ...ran, document: JSON.parse(ran.stdout) as RunDocument };
};
const answerWith = (repository: TestRepository, status: number) =>
  writeFileSync(`${ranIn(repository).env.RAN}.status`, String(status));
const wordsOf = (repository: TestRepository) => readRan(repository).map((line) => line.split(' ')[0]);
const filesOf = (repository: TestRepository) =>
  repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e');

describe('a run whose effect', () => {
  it('cannot be done now exits 75; resumed, only what is missing is done, under the same key', () => {
    const repository = makePlanned(plan);
    answerWith(repository, 75);
    const first = run(repository);
    expect(first.status).toBe(75);
    expect(errorOf(first)).toMatchObject({
      code: 'RESUME_NEEDED',
      message: 'release: task 2 (publish) cannot continue now: tell: exited 75 (2 attempts)',
      hint: 'Resume it: orch run plan.yaml --resume',
    });
    expect(first.document.run.status).toBe('resume_needed');
    expect(statusesOf(first.document)).toEqual({
      build: 'succeeded',
      publish: 'running',
      mend: 'pending',
      last: 'pending',
    });
    expect(first.document.run.effects.map(({ id, status }) => [id, status])).toEqual([
      ['tag', 'acknowledged'],
      ['tell', 'planned'],
    ]);
    expect(filesOf(repository)).toContain('planned-writeback.json');
    expect(filesOf(repository)).not.toContain('/writeback.json');
    rmSync(`${ranIn(repository).env.RAN}.status`);
    const second = run(repository, '--resume');
    expect(second.status).toBe(0);
    expect(second.document.run).toMatchObject({ id: first.document.run.id, status: 'succeeded' });
    expect(wordsOf(repository)).toEqual(['build', 'publish', 'tag', 'tell', 'tell', 'tell', 'last']);
    const keys = readRan(repository).flatMap((line) => (line.startsWith('tell') ? [line.split(' ')[1]] : []));
    expect(new Set(keys).size).toBe(1);
    expect(filesOf(repository)).toContain('/writeback.json');
  });

  it('was done is never repeated, whichever task a run continues after; skipped effects are reported', () => {
    const repository = makePlanned(plan);
    answerWith(repository, 75);
    expect(run(repository).status).toBe(75);
    const behind = runOrch(repository, ['run', 'plan.yaml', '--resume-step', '2'], ranIn(repository));
    expect(behind.status).toBe(0);
    expect(behind.stderr).toContain(
      '\neffect tell of publish may not be done; it is skipped because you say so\n',
    );
    expect(behind.stderr).not.toContain('effect tag');
    answerWith(repository, 0);
    const back = run(repository, '--resume-step', '1');
    expect(back.status).toBe(0);
    expect(back.document.run.effects.map(({ id, status }) => [id, status])).toEqual([
      ['tag', 'acknowledged'],
      ['tell', 'acknowledged'],
    ]);
    expect(wordsOf(repository).filter((word) => word === 'tag')).toEqual(['tag']);
  });

  it('will not work as it is exits 3, blocked; tasks that need it do not start', () => {
    const repository = makePlanned(plan);
    answerWith(repository, 9);
    const first = run(repository);
    expect(first.status).toBe(3);
    expect(errorOf(first)).toMatchObject({
      code: 'TASK_FAILED',
      message: 'release: task 2 (publish) is blocked: tell: exited 9',
    });
    expect(first.document.run.status).toBe('blocked');
    expect(statusesOf(first.document)).toEqual({
      build: 'succeeded',
      publish: 'failed',
      mend: 'succeeded',
      last: 'skipped',
    });
    answerWith(repository, 0);
    const second = run(repository, '--resume');
    expect(second.status).toBe(0);
    expect(wordsOf(repository)).toEqual(['build', 'publish', 'tag', 'tell', 'mend', 'tell', 'last']);
  });

  it('was done before the run ended without success: it is not repeated unless the user says so', () => {
    const repository = makePlanned(plan);
    for (const [status, args] of [
      [75, []],
      [9, ['--fresh']],
      [0, ['--fresh']],
    ] as const) {
      const isFirst = readRan(repository).length === 0;
      answerWith(repository, status);
      const { stderr } = runOrch(repository, ['run', 'plan.yaml', ...args], ranIn(repository));
      const said = /^this run starts over instead of resuming run-\w+, so it repeats: tag$/m;
      expect(said.test(stderr)).toBe(!isFirst);
      if (status === 0) continue;
      const plain = runOrch(repository, ['run', 'plan.yaml'], ranIn(repository));
      expect(plain.status).toBe(75);
      if (status === 9)
        expect(plain.stderr).toMatch(
          /^error: release: run-\w+ is blocked after it had done tag\n +Continue it: --resume\. Start over and repeat these effects: --fresh\.\n$/,
        );
    }
    expect(wordsOf(repository).filter((word) => word === 'tag')).toHaveLength(3);
    const after = runOrch(repository, ['run', 'plan.yaml'], ranIn(repository));
    expect(after.stderr).not.toContain('done again');
  });
});
