import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepository, type TestRepository } from '../support/repository.ts';

const brief = (repository: TestRepository) =>
  orchJson<{ brief: string }>(repository, ['brief', '-e', 'work']).brief;

function say(repository: TestRepository, ...args: string[]) {
  expect(runOrch(repository, ['record', ...args, '-e', 'work']).status).toBe(0);
}

describe('resume --checkpoint N', () => {
  it('leaves behind what was recorded after N: it is in the log, and in no brief', () => {
    const repository = makeRepository();
    say(repository, 'decision', 'use a queue');
    say(repository, 'issue', 'T1', 'the parser', '--status', 'open');
    say(repository, 'task', 'write the parser');
    const { total } = orchJson<{ total: number }>(repository, ['checkpoint', 'list', '-e', 'work']);
    say(repository, 'decision', 'use a database');
    say(repository, 'note', 'the database is slow');
    say(repository, 'issue', 'T1', '--status', 'done');
    say(repository, 'task', 'tune the database');
    say(repository, 'cost', '0.25');
    const resumed = runOrch(repository, [
      'resume',
      '-e',
      'work',
      '--checkpoint',
      String(total),
      '--',
      'true',
    ]);
    expect(resumed.status).toBe(0);
    expect(brief(repository)).not.toContain('database');
    expect(brief(repository)).toContain('use a queue');
    expect(brief(repository)).toContain('write the parser');
    expect(brief(repository)).toMatch(/Left.*\n?.*T1 the parser/);
    const stored = repository.git(
      'show',
      `refs/orchestration/epics/work:.orchestration/checkpoints/work/brief.md`,
    );
    expect(stored).not.toContain('database');
    // Money is spent, whichever checkpoint the work continues from.
    expect(orchJson(repository, ['cost', 'status', '-e', 'work'])).toMatchObject({
      budget: { spentUsd: 0.25 },
    });
    say(repository, 'note', 'the queue is fast');
    expect(brief(repository)).toContain('the queue is fast');
    expect(runOrch(repository, ['log', 'work']).stdout).toContain('the database is slow');
  });
});
