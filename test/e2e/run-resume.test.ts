import { describe, expect, it } from 'vitest';
import { readText } from '../support/checkpoints.ts';
import { makePlanned, ranIn } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';
import { kill, letGo, release, run, startSlow, tasksOf } from '../support/slow-plan.ts';
import { isAlive, startSupervisor, waitUntil } from '../support/supervised.ts';

/** Goes on with it, until it is in its slow task once more. */
async function startSlowAgain(repository: TestRepository) {
  const before = tasksOf(repository).length;
  const runner = startSupervisor(repository, ['run', 'plan.yaml', '--resume'], ranIn(repository));
  await waitUntil(() => tasksOf(repository).length > before);
  return { runner, pid: 0 };
}

describe('a run that was killed', () => {
  it('is not started over by accident; --resume continues it', async () => {
    const repository = makePlanned(release);
    const slow = await startSlow(repository);
    await kill(slow);
    const plain = run(repository);
    expect(plain.status).toBe(75);
    expect(plain.stderr).toMatch(
      /release: a run stopped in task 3 \(slow\), .*\n +Continue it: --resume. Start over: --fresh.\n/,
    );
    expect(isAlive(slow.pid)).toBe(true);
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.status).toBe(0);
    expect(resumed.stderr).toContain('1/4 – lint, 2/4 – build: already done\n');
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'slow', 'publish']);
    // What was done before is not what the second session did.
    expect(repository.git('log', '--format=%s', 'refs/orchestration/epics/e')).toMatch(
      /^ckpt \d+: Session 2 started with orch run/m,
    );
    const again = run(repository, '--resume');
    expect(again).toMatchObject({ status: 0 });
    expect(again.stdout).toMatch(/^release: run-\w+ has already succeeded; nothing left to do\n$/);
  });

  it('leaves no old processes running once it is resumed', async () => {
    const repository = makePlanned(
      release.replace('until test -e $RAN.go; do', 'test -e $RAN.go || while :; do'),
    );
    const slow = await startSlow(repository);
    await kill(slow);
    expect(isAlive(slow.pid)).toBe(true);
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.status).toBe(0);
    if (process.platform !== 'linux') return; // only there a process shows where it came from
    expect(resumed.stderr).toMatch(
      /^slow's old process(es)? \(pids? .*\b\d+.*\) (was|were) still running; orch stopped (it|them)\.$/m,
    );
    expect(isAlive(slow.pid)).toBe(false);
  });

  it('does not repeat what came after a task for failures that was skipped', async () => {
    const repository = makePlanned(
      release.replace(
        '  - { id: slow',
        '  - { id: mend, run: "false", when: failure }\n  - { id: on, run: echo on >> $RAN }\n  - { id: slow',
      ),
    );
    await kill(await startSlow(repository));
    letGo(repository);
    expect(run(repository, '--resume').status).toBe(0);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'on', 'slow', 'slow', 'publish']);
  });

  it('reruns the task of a missing artifact and the tasks that need it, and reports that', async () => {
    const repository = makePlanned(release);
    await kill(await startSlow(repository));
    const kept = repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e');
    expect(kept).toMatch(/artifacts\/run-\w+\/files\/app\.js/);
    repository.write('app.js', 'changed\n');
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.stderr).toContain('app.js is changed, so build runs again\n');
    expect(resumed.stderr).toContain('1/4 – lint: already done\n');
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'build', 'slow', 'publish']);
    expect(repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e')).not.toContain(
      'files/',
    );
  });

  it('accepts an artifact that several tasks made, as the last one left it', async () => {
    const repository = makePlanned(
      release.replace(
        '  - { id: slow',
        '  - { id: sign, run: "echo sign >> $RAN; echo signed >> app.js", artifacts: [app.js] }\n  - { id: slow',
      ),
    );
    await kill(await startSlow(repository));
    await kill(await startSlowAgain(repository));
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'sign', 'slow', 'slow']);
    // As neither left it: both make it again.
    repository.write('app.js', 'built\n');
    letGo(repository);
    expect(run(repository, '--resume').status).toBe(0);
    expect(tasksOf(repository).slice(5)).toEqual(['build', 'sign', 'slow', 'publish']);
    expect(readText(repository.folder, 'app.js')).toBe('built\nsigned\n');
  });

  it('keeps unchanged tasks of an edited plan, and reports the others', async () => {
    const repository = makePlanned(release);
    await kill(await startSlow(repository));
    const edited = release
      .replace('echo lint >>', 'echo lint2 >>')
      .replace('  - { id: publish', '  - { id: more, run: echo more >> $RAN, needs: [] }\n  - { id: publish');
    repository.write('plan.yaml', edited);
    letGo(repository);
    const resumed = run(repository, '--resume');
    expect(resumed.status).toBe(0);
    for (const line of [
      'lint changed in the plan, so it runs again',
      'build needs lint, so it runs again',
      'more, publish: new in the plan, or not started yet',
    ])
      expect(resumed.stderr).toContain(`${line}\n`);
    expect(tasksOf(repository).slice(3)).toEqual(['lint2', 'build', 'slow', 'more', 'publish']);
  });

  it('is started over with --fresh', async () => {
    const repository = makePlanned(release);
    await kill(await startSlow(repository));
    letGo(repository);
    expect(run(repository, '--fresh').status).toBe(0);
    expect(tasksOf(repository)).toEqual(['lint', 'build', 'slow', 'lint', 'build', 'slow', 'publish']);
    const { runs } = JSON.parse(run(repository, '--list', '--json').stdout);
    expect(runs.map(({ status }: { status: string }) => status)).toEqual(['succeeded', 'failed']);
  });
});
