import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { fail, save } from '../support/checkpoints.ts';
import { errorOf, orchBin, orchJson, runOrch, startOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';

const wrongCalls: { readonly [what: string]: readonly string[] } = {
  'a command there is not': ['frobnicate'],
  'a command there is not, below one there is': ['checkpoint', 'frobnicate'],
  'no command below one that needs it': ['checkpoint'],
  'an option there is not': ['checkpoint', 'list', '--frobnicate'],
  'an option there is not, before the command': ['--frobnicate', 'checkpoint', 'list'],
  'an option without its value': ['checkpoint', 'create', '--epic'],
  'a missing argument': ['completion'],
  'a shell there is not': ['completion', 'tcsh'],
  'too many arguments': ['checkpoint', 'show', '1', '2'],
  'a limit of none': ['checkpoint', 'list', '--limit', '0'],
  'a limit that is no number': ['checkpoint', 'list', '--limit', 'many'],
  'a limit past all numbers': ['checkpoint', 'list', '--limit', '9'.repeat(40)],
  'two epics at once': ['log', 'x', '--epic', 'y'],
  'two epics at once, to list': ['checkpoint', 'list', 'x', '--epic', 'y'],
  'a name that names nothing': ['checkpoint', 'show', 'no/such:name'],
  'an empty name': ['checkpoint', 'show', ''],
};

const wrongSettings: { readonly [name: string]: string } = {
  ORCH_ENGINE: 'steam',
  ORCH_NOW: 'yesterday-ish',
  ORCH_WRITER: '../somebody',
};

describe('I10: a wrong call', () => {
  it.each(Object.entries(wrongCalls))('(%s) is USAGE, in JSON and in words', async (_, args) => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const error = fail(repository, args);
    expect(error).toMatchObject({ status: 2, code: 'USAGE', data: expect.any(Object) });
    expect(error.message).toMatch(/\w+ \w+/);
    expect(error.stderr.trimEnd().split('\n')).toHaveLength(1);

    const said = runOrch(repository, args);
    expect({ status: said.status, stdout: said.stdout }).toEqual({ status: 2, stdout: '' });
    expect(said.stderr.replace(/^epic x .*\n/, '')).toMatch(/^error: \S/);
    expect(said.stderr).not.toContain('    at ');
  });

  it('is told in words where --json is said to another program', () => {
    const repository = makeRepositoryWithCommit();
    const ran = runOrch(repository, ['start', '-e', 'x', '--', 'no-such-agent', '--json']);
    expect({ status: ran.status, stdout: ran.stdout }).toEqual({ status: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^error: no-such-agent cannot be run/);
  });

  it('is a demo in JSON: it is told to people', () => {
    expect(fail(makeRepositoryWithCommit(), ['demo'])).toMatchObject({ status: 2, code: 'USAGE' });
  });

  it('points to all epics where one is not there', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const error = fail(repository, ['log', 'nope']);
    expect(error).toMatchObject({ status: 1, code: 'EPIC_NOT_FOUND' });
    expect(error.hint).toContain('orch status');
  });

  it.each(Object.entries(wrongSettings))('(%s is %s) is USAGE, and names the variable', (name, value) => {
    const repository = makeRepositoryWithCommit();
    const error = fail(repository, ['checkpoint', 'create', '--epic', 'x'], { env: { [name]: value } });
    expect(error).toMatchObject({ status: 2, code: 'USAGE' });
    expect(error.message).toContain(name);
    expect(error.hint).toEqual(expect.any(String));
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });

  it.each([
    ['checkpoint', 'frobnicate'],
    ['checkpoint', 'list', '--limit', '0'],
    ['checkpoint', 'show', '--epic'],
  ])('is answered with a next step: orch %s %s %s', (...args) => {
    expect(fail(makeRepositoryWithCommit(), args).hint).toEqual(expect.any(String));
  });

  it.each([
    [['checkpiont'], 'checkpoint'],
    [['checkpoint', 'craete'], 'create'],
    [['checkpoint', 'list', '--limt', '3'], '--limit'],
    [['stop'], 'orch pause'],
    [['version'], 'orch --version'],
    [['undo'], 'orch restore --undo'],
  ])('%j is answered with what was meant', (args, meant) => {
    const repository = makeRepositoryWithCommit();
    const ran = runOrch(repository, args);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toMatch(/did you mean/i);
    expect(ran.stderr).toContain(meant);
  });

  it('a word behind start that no program is called is taken for an epic', () => {
    const { status, stderr } = runOrch(makeRepositoryWithCommit(), ['start', 'feat-x']);
    expect(status).toBe(2);
    expect(stderr).toContain('orch start --epic feat-x');
  });

  it('an epic behind a command that takes it as an option is answered with that', () => {
    const { status, stderr } = runOrch(makeRepositoryWithCommit(), ['pause', 'feat-x']);
    expect(status).toBe(2);
    expect(stderr).toContain('To name an epic: orch pause --epic feat-x\n');
  });

  it('pause, complete and list have a short form', () => {
    const repository = makeRepositoryWithCommit();
    orchJson(repository, ['start', '-e', 'x', '--background', '--no-baseline']);
    expect(orchJson(repository, ['list'])).toMatchObject({ sessions: [{ epicId: 'x', status: 'running' }] });
    expect(orchJson(repository, ['pause'])).toMatchObject({ session: { status: 'paused' } });
    expect(orchJson(repository, ['complete', '-e', 'x'])).toMatchObject({ session: { status: 'completed' } });
  });
});

describe('I10: what cannot be found', () => {
  it('has a code, and a hint that can be followed', async () => {
    const repository = makeRepositoryWithCommit();
    const none = fail(repository, ['checkpoint', 'list']);
    expect(none).toMatchObject({
      status: 1,
      code: 'EPIC_NOT_FOUND',
      hint: expect.stringContaining('create'),
    });
    await save(repository, ['one']);
    for (const command of ['list', 'show', 'verify']) {
      const error = fail(repository, ['checkpoint', command, '--epic', 'y']);
      expect(error).toMatchObject({ status: 1, code: 'EPIC_NOT_FOUND', data: { epicId: 'y' } });
      const suggested = /orch (.*)$/.exec(error.hint ?? '')?.[1]?.split(' ') ?? [];
      expect(runOrch(repository, suggested).status).toBe(0);
    }
    const error = fail(repository, ['checkpoint', 'show', '9', '--epic', 'x']);
    expect(error).toMatchObject({
      status: 1,
      code: 'CHECKPOINT_NOT_FOUND',
      data: { epicId: 'x', name: '9' },
    });
    const suggested = /orch (.*)$/.exec(error.hint ?? '')?.[1]?.split(' ') ?? [];
    expect(runOrch(repository, suggested).status).toBe(0);
  });

  it('among several epics takes the last one used on this branch, or asks which, and names them', () => {
    const repository = makeRepositoryWithCommit();
    for (const epic of ['x', 'y']) runOrch(repository, ['checkpoint', 'create', '--epic', epic]);
    expect(orchJson(repository, ['checkpoint', 'list'])).toMatchObject({ epicId: 'y' });
    repository.git('switch', '--quiet', '--create', 'another');
    const error = fail(repository, ['checkpoint', 'list']);
    expect(error).toMatchObject({ status: 2, code: 'USAGE', data: { epics: ['x', 'y'] } });
    expect(error.hint).toMatch(/--epic x$/);
  });
});

describe('pipes', () => {
  it('a reader who leaves early is no error', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one', 'two']);
    const line = `set -o pipefail; '${process.execPath}' '${orchBin}' checkpoint list --json | head -c 10 | wc -c`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', line], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home),
      encoding: 'utf8',
    });
    expect({ status, stdout: stdout.trim(), stderr }).toEqual({ status: 0, stdout: '10', stderr: '' });
  });

  it('a reader who is gone before the first word is no error either', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const child = startOrch(repository, ['checkpoint', 'show', '--json']);
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('more than a pipe holds goes through it whole', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, Array<string>(20).fill('a long reason '.repeat(280)));
    const line = `'${process.execPath}' '${orchBin}' checkpoint list --all --json | (read -r -n 1 first; cat)`;
    const { stdout } = spawnSync('bash', ['-c', line], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home),
      encoding: 'utf8',
    });
    expect(stdout.length).toBeGreaterThan(65_536);
    expect(JSON.parse(`{${stdout}`).checkpoints).toHaveLength(20);
  });

  it('quiet keeps the data and the errors', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const listed = runOrch(repository, ['checkpoint', 'list', '-q']);
    expect(listed.stderr).toBe('');
    expect(listed.stdout).toContain('one');
    const wrong = runOrch(repository, ['-q', 'checkpoint', 'show', '9']);
    expect(wrong.stderr).toMatch(/^error: /);
    expect(errorOf(runOrch(repository, ['-q', 'checkpoint', 'show', '9', '--json'])).code).toBe(
      'CHECKPOINT_NOT_FOUND',
    );
  });
});
