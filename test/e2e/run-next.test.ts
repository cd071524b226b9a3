import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runOrch } from '../support/orch.ts';
import { makePlanned, ranIn } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';
import { kill, letGo, release, startSlow } from '../support/slow-plan.ts';
import { callOrch } from '../support/supervised.ts';

function nextOf(repository: TestRepository, cwd = repository.folder): string | undefined {
  return runOrch(repository, ['status'], { cwd }).stdout.match(/^Next: (.*)$/m)?.[1];
}

describe('orch status, of a run that did not come to its end', () => {
  it('names the command that goes on with it, from where the user stands', async () => {
    const repository = makePlanned(release);
    mkdirSync(join(repository.folder, 'sub'));
    const slow = await startSlow(repository);
    expect(nextOf(repository), 'it is at work').toBeUndefined();
    await kill(slow);
    expect(nextOf(repository)).toBe('orch run plan.yaml --resume -e e');
    expect(nextOf(repository, join(repository.folder, 'sub'))).toBe('orch run ../plan.yaml --resume -e e');
    letGo(repository);
    const options = { cwd: join(repository.folder, 'sub'), ...ranIn(repository) };
    const resumed = runOrch(repository, ['run', '../plan.yaml', '--resume', '-e', 'e'], options);
    expect(resumed.status).toBe(0);
    expect(nextOf(repository)).toBeUndefined();
  });

  it('also where it was stopped with a signal, and a name that the shell would read otherwise', () => {
    const repository = makePlanned('');
    repository.write("it's mine.yaml", 'name: p\ntasks:\n  - { id: a, run: "kill -INT $PPID; sleep 60" }\n');
    const stopped = runOrch(repository, ['run', "it's mine.yaml", '-e', 'e']);
    const command = "orch run 'it'\\''s mine.yaml' --resume -e e";
    expect(stopped.status).toBe(130);
    expect(stopped.stderr).toContain(`  Go on  ${command}\n`);
    expect(nextOf(repository)).toBe(command);
  });

  it('with more money, where that is what it stopped for', () => {
    const spend = callOrch('record cost 2');
    const repository = makePlanned(`name: p\ntasks:\n  - { id: a, run: "${spend} && sleep 60" }\n`);
    const stopped = runOrch(repository, ['run', 'plan.yaml', '-e', 'e', '--budget', '1']);
    expect(stopped.status).toBe(4);
    expect(nextOf(repository)).toBe('orch run plan.yaml --resume -e e --budget +10');
    const again = runOrch(repository, ['run', 'plan.yaml', '-e', 'e', '--resume']);
    expect(again.status).toBe(4);
    expect(again.stderr, 'orch resume would begin another session').not.toContain('orch resume');
    expect(again.stderr).toContain('the same again with --budget +10, or orch cost budget +10 -e e\n');
    expect(runOrch(repository, ['cost', 'budget', '+10', '-e', 'e']).status).toBe(0);
  });
});
