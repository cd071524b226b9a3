import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { create, list, save } from '../support/checkpoints.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const wide =
  /\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Emoji_Presentation}/u;

/** How many columns of a terminal a text takes. */
function columnsOf(text: string): number {
  return [...text].reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}

function expectToFit(repository: TestRepository, args: readonly string[], columns = 80): void {
  const env: Record<string, string> = columns === 80 ? {} : { COLUMNS: String(columns) };
  const { status, stdout } = runOrch(repository, ['checkpoint', ...args, '-e', 'x'], { env });
  expect(status).toBe(0);
  expect(stdout).not.toContain('\u001b');
  const tooLong = stdout.split('\n').filter((line) => columnsOf(line) > columns);
  expect(tooLong).toEqual([]);
}

/** Runs it on a terminal of its own. */
function runOnTerminal(repository: TestRepository, args: string, env: Record<string, string> = {}): string {
  const command = `stty cols 80; '${process.execPath}' '${orchBin}' ${args}`;
  return spawnSync('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: repository.folder,
    env: cleanEnvironment(repository.home, { TERM: 'xterm', ...env }),
    encoding: 'utf8',
  }).stdout;
}

describe('what people read', () => {
  it('fits in 80 columns, however long the summary is', async () => {
    const repository = makeRepositoryWithCommit();
    const long = 'a long summary of what happened '.repeat(20);
    await save(repository, [long, `${'one-word'.repeat(40)}\nand more lines\n`.repeat(3)]);
    expectToFit(repository, ['list']);
    expectToFit(repository, ['list'], 60);
    expectToFit(repository, ['show']);
    expectToFit(repository, ['show', '1']);
  });

  it('fits where characters are two columns wide', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['世界和平'.repeat(40), '🚀'.repeat(100)]);
    expectToFit(repository, ['list']);
  });

  it('fits with a long branch', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('checkout', '--quiet', '-b', `feat/${'long-'.repeat(30)}`);
    create(repository, 'one');
    expectToFit(repository, ['show']);
  });

  it('is a table, newest first, and says when there is more', () => {
    const repository = makeRepositoryWithCommit();
    const env = { ORCH_NOW: '2026-03-01T10:00:00Z' };
    create(repository, 'Login form done', { env });
    create(repository, 'Router moved', { env: { ORCH_NOW: '2026-03-01T11:00:00Z' } });
    const options = { env: { ORCH_NOW: '2026-03-01T11:00:30Z' } };
    expect(runOrch(repository, ['checkpoint', 'list', '-e', 'x'], options).stdout.split('\n')).toEqual([
      'x',
      '#  SESS      AGE  TRIGGER   COST  GATES  SUMMARY',
      '2  s1    30s ago  manual   $0.00  –      Router moved',
      '1  s1     1h ago  manual   $0.00  –      Login form done',
      '',
    ]);
    const one = runOrch(repository, ['checkpoint', 'list', '-e', 'x', '--limit', '1'], options).stdout;
    expect(one).toContain('Router moved');
    expect(one).not.toContain('Login form done');
    expect(one).toContain('--all');
  });

  it('has colours on a terminal, and only there, and only if wanted', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    expect(runOnTerminal(repository, 'checkpoint list')).toContain('\u001b[');
    expect(runOnTerminal(repository, 'checkpoint list --no-color')).not.toContain('\u001b[');
    expect(runOnTerminal(repository, 'checkpoint list', { NO_COLOR: '1' })).not.toContain('\u001b[');
    expect(runOnTerminal(repository, 'checkpoint list', { TERM: 'dumb' })).not.toContain('\u001b[');
    expect(runOrch(repository, ['checkpoint', 'list'], { env: { TERM: 'xterm' } }).stdout).not.toContain(
      '\u001b',
    );
    const wrong = runOnTerminal(repository, 'checkpoint show 9');
    expect(wrong).toContain('\u001b[31merror:\u001b[0m');
  });

  it('is help with examples that can be typed, for every command', () => {
    const repository = makeRepositoryWithCommit();
    for (const command of ['create', 'list', 'show', 'verify']) {
      const { status, stdout, stderr } = runOrch(repository, ['checkpoint', command, '--help']);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toContain(`Examples:\n  orch checkpoint ${command}`);
    }
    const general = runOrch(repository, ['--help']);
    expect(general).toMatchObject({ status: 0, stderr: '' });
    expect(general.stdout).toContain('\nBegin with: orch init.');
    expect(runOrch(repository, []).stdout).toBe(general.stdout);
    for (const group of ['session', 'checkpoint', 'record', 'cost', 'batch'])
      expect(runOrch(repository, [group, '--help']).stdout).toMatch(/\nExamples:\n {2}orch /);
  });
});

describe('what scripts read', () => {
  it('is one document, with nothing beside it', () => {
    const repository = makeRepositoryWithCommit();
    for (const args of [['create'], ['list'], ['show'], ['verify']]) {
      const ran = runOrch(repository, ['--json', 'checkpoint', ...args]);
      expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 0, stderr: '' });
      expect(ran.stdout.trimEnd().split('\n')).toHaveLength(1);
      expect(JSON.parse(ran.stdout)).toEqual(expect.any(Object));
    }
  });

  it('is as many as were asked for, and the number of the newest', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one', 'two', 'three']);
    const limited = orchJson<ReturnType<typeof list>>(repository, ['checkpoint', 'list', '-n', '2']);
    expect(limited.checkpoints.map(({ seq }) => seq)).toEqual([3, 2]);
    expect(limited.total).toBe(3);
    expect(orchJson(repository, ['checkpoint', 'list', '--all'])).toEqual(list(repository));
  });
});
