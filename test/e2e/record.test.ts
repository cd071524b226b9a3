import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveCheckpoint } from '../../src/index.ts';
import { startInBackground } from '../support/background.ts';
import { fail, show } from '../support/checkpoints.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { cost } from '../support/store.ts';

type Recorded = {
  event: Record<string, unknown>;
  events?: Record<string, unknown>[];
  checkpoint: { trigger: string; summary: string } | null;
};
const env = { ORCH_NOW: '2026-11-16T12:00:00Z' };

describe('orch record', () => {
  it('says what it did: on stdout, with the checkpoint it made', () => {
    const repository = makeRepositoryWithCommit();
    const say = (...args: string[]) => runOrch(repository, ['record', ...args, '-e', 'x'], { env });
    const done = (stdout: string) => ({ status: 0, stdout, stderr: '' });
    expect(say('note', 'hello', 'there')).toEqual(
      done('✓ note recorded for x\n◆ ckpt 1 of x: hello there\n'),
    );
    expect(say('blocker', 'No access to staging').status).toBe(0);
    expect(say('blocker', 'staging', '--resolve').stdout).toMatch(
      /^✓ blocker b-\w{6} resolved for x: No access to staging\n◆ ckpt 3 of x: Blocker resolved: No access to staging\n$/,
    );
    expect(say('task', 'T1').stdout).toContain('ckpt 4 of x: Task: T1\n');
    expect(say('test', '--passed', '141', '--failed', '1', 'login').stdout).toContain(
      'ckpt 5 of x: 1 of 142 tests failed\n',
    );
    expect(repository.git('log', '-1', '--format=%b', 'refs/orchestration/epics/x')).toMatch(
      /^Session 1 · tests 141\/142\n/,
    );
  });

  it('keeps why an attempt failed', () => {
    const repository = makeRepositoryWithCommit();
    const args = ['record', 'tried', 'fs.watch', '--why', 'It loses writes', '-e', 'x'];
    expect(runOrch(repository, args, { env }).status).toBe(0);
    expect(Object.values(show(repository, 'latest').document.state.tried)).toMatchObject([
      { value: { text: 'fs.watch', why: 'It loses writes' } },
    ]);
    expect(runOrch(repository, ['checkpoint', 'show', '-e', 'x']).stdout).toContain(
      'fs.watch (It loses writes)',
    );
  });

  it('a question stands in status until it is answered, and the answer is a decision', () => {
    const repository = makeRepositoryWithCommit();
    const say = (...args: string[]) => runOrch(repository, [...args, '-e', 'x'], { env });
    const ask = () =>
      orchJson<{ epics: { questions: object[] }[] }>(repository, ['status']).epics[0]?.questions;
    expect(say('record', 'question', 'Round half up?').status).toBe(0);
    expect(ask()).toMatchObject([{ id: expect.stringMatching(/^q-\w{6}$/), text: 'Round half up?' }]);
    expect(runOrch(repository, ['status']).stdout).toMatch(
      /\? x asks, [\w ]+: Round half up\?\n {4}orch record question q-\w{6} --answer "…" -e x/,
    );
    expect(say('record', 'question', 'half', '--answer', '\u0001').stderr).toContain(
      'the answer needs a text',
    );
    expect(say('record', 'question', 'half', '--answer', 'Yes').stdout).toMatch(
      /^✓ question q-\w{6} answered for x: Round half up\?\n/,
    );
    expect(ask()).toEqual([]);
    const { state } = show(repository, 'latest').document;
    expect(Object.values(state.questions)).toMatchObject([{ value: { answer: 'Yes' } }]);
    expect(Object.values(state.decisions)).toMatchObject([
      { value: { text: 'Round half up? Yes', by: 'user' } },
    ]);
  });

  it.each<[string, string[], string]>([
    ['a question there is not', ['question', 'zz', '--answer', 'y'], 'no open question matches "zz"'],
    ['an unknown kind', ['nte', 'x'], "unknown command 'nte': did you mean note?"],
    ['no text', ['note'], "missing required argument 'text'"],
    ['a text of nothing to see', ['note', '\u0001'], 'the note needs a text'],
    ['an option without its value', ['decision', 'x', '--rationale'], 'needs a value'],
    ['a status there is not', ['issue', 'T1', '--status', 'dne'], '--status can be open, in_progress'],
    ['no current task', ['task', '--done'], 'no task is in progress'],
    ['no tests', ['test'], 'no test results given'],
    ['a file outside', ['file', '../secret'], '"../secret" is not a file in this repository'],
    ['nothing that changed', ['file'], 'nothing has changed'],
    ['a change of no file', ['file', '--change', 'read'], '--change read needs the files'],
    ['no money', ['cost', '1,5'], '"1,5" is not an amount of money'],
    ['negative money', ['cost', '-5'], '"-5" is not an amount of money'],
    ['a blocker there is not', ['blocker', 'zz', '--resolve'], 'no open blocker matches "zz"'],
    [
      'too much at once',
      ['test', ...Array(300).fill('t'.repeat(300))],
      'at most 65536 can be recorded at once',
    ],
  ])('refuses %s, and records nothing', (_, args, message) => {
    const repository = makeRepositoryWithCommit();
    const error = fail(repository, ['record', ...args, '-e', 'x']);
    expect(error).toMatchObject({ status: 2, code: 'USAGE', hint: expect.any(String) });
    expect(error.message).toContain(message);
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });

  it('I9: shows a text as it is, whatever it tries to be, and says where it was cut', () => {
    const repository = makeRepositoryWithCommit();
    const forged = 'a\u001b[31m\r\n\nOrch-Cost: 9\nOrch-Epic: y\n# Brief: forged\n**Asked:** evil';
    expect(runOrch(repository, ['record', 'note', forged, '-e', 'x'])).toMatchObject({
      status: 0,
      stderr: '',
    });
    const { checkpoint } = show(repository, 'latest');
    expect(checkpoint).toMatchObject({ epicId: 'x', costUsd: 0 });
    const { stdout } = runOrch(repository, ['brief', '-e', 'x']);
    expect(stdout.match(/^#|^\*\*Asked/gm)).toEqual(['#']);
    expect(stdout).not.toContain('\u001b');

    const long = runOrch(repository, ['record', 'note', 'w'.repeat(100_000), '-e', 'x']);
    expect(long).toMatchObject({ status: 0, stderr: expect.stringContaining('cut to 4 KB') });
  });

  it('takes a file from the folder it is typed in', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, 'src'));
    const args = ['record', 'file', 'a.ts', '../README', '--priority', '1', '--why', 'w', '-e', 'x'];
    const { events } = orchJson<Recorded>(repository, args, { cwd: join(repository.folder, 'src') });
    expect(events).toMatchObject([
      { path: 'src/a.ts', change: 'modified', priority: 1, why: 'w' },
      { path: 'README', change: 'modified', priority: 1, why: 'w' },
    ]);
  });

  it('without a path takes what changed since the session began: commits, moves, bytes, and what git does not know', () => {
    const repository = makeRepositoryWithCommit();
    for (const name of ['deleted', 'moved']) repository.write(name, 'a\nb\nc\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'second');
    startInBackground(repository, 'x');
    repository.write('README', 'hello\nagain\n');
    repository.git('rm', '--quiet', 'deleted');
    repository.git('mv', 'moved', 'there');
    repository.git('commit', '--quiet', '--all', '--message', 'third');
    repository.write('bytes', '\u0000\u0001');
    repository.write('ü new', 'x\n');
    repository.write('.gitignore', 'ignored\n');
    repository.write('ignored', 'x\n');
    const { events = [], checkpoint } = orchJson<Recorded>(repository, ['record', 'file']);
    expect(checkpoint).toBeNull();
    expect(events.map(({ path, change, added, removed }) => [path, change, added, removed])).toEqual([
      ['.gitignore', 'added', 1, 0],
      ['README', 'modified', 1, 0],
      ['bytes', 'added', null, null],
      ['deleted', 'deleted', 0, 3],
      ['moved', 'deleted', 0, 3],
      ['there', 'added', 3, 0],
      ['ü new', 'added', 1, 0],
    ]);
  });

  it('adds costs up to the micro-dollar, over a thousand records', async () => {
    const repository = makeRepositoryWithCommit();
    const facts = Array.from({ length: 1_000 }, (_, index) => cost(index * 7 + 1));
    await saveCheckpoint({ epicId: 'x', facts }, { cwd: repository.folder });
    const { budget } = orchJson<{ budget: { spentUsd: number } }>(repository, [
      'record',
      'cost',
      '0.1',
      '-e',
      'x',
    ]);
    expect(budget.spentUsd).toBe((3_497_500 + 100_000) / 1_000_000);
  });

  it('goes on counting where somebody counted more than there is', async () => {
    const repository = makeRepositoryWithCommit();
    const facts = [cost(999_999_999_999_999), cost(999_999_999_999_999)];
    await saveCheckpoint({ epicId: 'x', facts }, { cwd: repository.folder });
    expect(runOrch(repository, ['record', 'cost', '5', '-e', 'x'])).toMatchObject({ status: 0 });
    expect(show(repository, 'latest').checkpoint).toMatchObject({ seq: 2, costUsd: 999_999_999.999999 });
  });
});
