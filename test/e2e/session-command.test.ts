import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorOf, orchBin, orchJson, runOrch, startOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { isAlive, statusOf, triggersOf, waitUntil, writeConfig, writeScript } from '../support/supervised.ts';

describe('a session around a command', () => {
  it('is paused when the command ends well, and gives it what it needs and nothing of its own', () => {
    const repository = makeRepositoryWithCommit();
    const script = 'cat; echo "$ORCH_EPIC $ORCH_SESSION"; test -f "$ORCH_BRIEF_FILE" && echo brief; pwd';
    const folder = join(repository.folder, 'sub');
    mkdirSync(folder);
    const options = { input: 'typed\n', cwd: folder };
    const ran = runOrch(repository, ['start', '-e', 'login', '--', 'sh', '-c', script], options);
    expect(ran.status).toBe(0);
    const { session, checkpoint } = statusOf(repository, 'login');
    expect(ran.stdout).toBe(`typed\nlogin ${session.id}\nbrief\n${folder}\n`);
    expect(session.status).toBe('paused');
    expect(checkpoint).toMatchObject({ trigger: 'pause', reason: 'sh ended ok' });
    expect(ran.stderr).toContain('✓ sh ended ok: session 1 of login, ckpt 2 saved.');
    expect(existsSync(join(repository.folder, '.git/orchestration/briefs', `${session.id}.md`))).toBe(false);
  });

  it('ends with its repository: nothing keeps its budget any more', async () => {
    const repository = makeRepositoryWithCommit();
    const pidFile = join(repository.home, 'pid');
    const started = startOrch(repository, [
      'start',
      '-e',
      'a',
      '--',
      'sh',
      '-c',
      'echo $$ > ../pid; sleep 60',
    ]);
    await waitUntil(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').trim() !== '');
    rmSync(repository.folder, { recursive: true, force: true });
    await waitUntil(() => started.exitCode !== null);
    expect(started.exitCode).not.toBe(0);
    expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  });

  it('tells which files the command changed, each once, though nobody recorded them', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('kept.txt', 'one\n');
    repository.write('gone.txt', 'one\ntwo\n');
    repository.write('ORCHESTRATION.yaml', 'workflow:\n  id: w\n');
    const script = `printf 'a\\nb\\nc\\n' > made.txt; echo two >> kept.txt; rm gone.txt; echo x > told.txt; '${process.execPath}' '${orchBin}' -q record file told.txt >/dev/null`;
    expect(runOrch(repository, ['start', '-e', 'a', '--', 'sh', '-c', script]).status).toBe(0);
    const figuresOf = (epic: string) =>
      repository.git('log', '-1', '--format=%b', `orchestration/epics/${epic}`).split('\n')[0];
    expect(figuresOf('a')).toBe('Session 1 · 4 files +4 −2');
    const { brief } = orchJson<{ brief: string }>(repository, ['brief', '-e', 'a']);
    expect(brief).toContain('`made.txt` added +3 −0');
    expect(brief).not.toContain('`ORCHESTRATION.yaml`');
    // The next one is told of what it changes itself.
    const more = ['resume', '-e', 'a', '--', 'sh', '-c', 'echo d >> made.txt'];
    expect(runOrch(repository, more).status).toBe(0);
    expect(figuresOf('a')).toBe('Session 2 · 1 file +1 −0');
    // Also where a checkpoint has the files already.
    const saves = `echo e >> made.txt; '${process.execPath}' '${orchBin}' -q checkpoint create >/dev/null`;
    expect(runOrch(repository, ['resume', '-e', 'a', '--', 'sh', '-c', saves]).status).toBe(0);
    expect(figuresOf('a')).toBe('Session 3 · 1 file +1 −0');
  });

  it('tells of no file that was changed before, nor of any where no files are kept', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('before.txt', 'mine\n');
    const told = (epic: string) => {
      const args = ['start', '-e', epic, '--', 'sh', '-c', `echo x > by-${epic}.txt`];
      expect(runOrch(repository, args).status).toBe(0);
      return repository.git('log', '--format=%b', `orchestration/epics/${epic}`).match(/\d+ files? .*/g);
    };
    writeConfig(repository, 'checkpoint: { on: [error] }');
    expect(told('a')).toBeNull();
    writeConfig(repository, 'checkpoint: { snapshot: false }');
    expect(told('b')).toBeNull();
    writeConfig(repository, 'checkpoint: { keep: 5 }');
    expect(told('c')).toEqual(['1 file +1 −0']);
  });

  it('tells of a file again when it changes again after a checkpoint', () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { interval: 1s }');
    const saved = 'git rev-list --count orchestration/epics/a';
    const script = `echo a > made.txt; until [ $(${saved}) -gt 1 ]; do sleep 0.05; done; printf 'b\\nc\\n' >> made.txt`;
    expect(runOrch(repository, ['start', '-e', 'a', '--', 'sh', '-c', script]).status).toBe(0);
    const figures = repository.git('log', '--format=%b', 'orchestration/epics/a').match(/1 file .*/g);
    expect(figures).toEqual(['1 file +2 −0', '1 file +1 −0']);
  });

  it('is completed with --complete, and says how it ended in a file', () => {
    const repository = makeRepositoryWithCommit();
    const file = join(repository.home, 'result.json');
    const ran = runOrch(repository, ['start', '-e', 'a', '--complete', '--result', file, '--', 'true']);
    expect(ran).toMatchObject({ status: 0, stdout: '' });
    const result = JSON.parse(readFileSync(file, 'utf8'));
    expect(result).toMatchObject({ exit: 0, baseline: null, brief: null });
    expect(result.session.status).toBe('completed');
    expect(result.checkpoint.trigger).toBe('complete');
  });

  it.each([
    ['exit 7', 7, 'sh ended with status 7'],
    ['kill -USR1 $$', 138, 'sh was ended by SIGUSR1'],
    ['kill -KILL $$', 137, 'sh was ended by SIGKILL'],
  ])('fails with a command that fails (%s), by its status', (script, status, reason) => {
    const repository = makeRepositoryWithCommit();
    const ran = runOrch(repository, ['start', '-e', 'a', '--', 'sh', '-c', script]);
    expect(ran.status).toBe(status);
    expect(ran.stderr).toContain(`✗ ${reason}`);
    expect(statusOf(repository, 'a')).toMatchObject({
      session: { status: 'failed' },
      checkpoint: { trigger: 'error', reason },
    });
  });

  it('is not begun for what cannot be run, or with nowhere to write the result', () => {
    const repository = makeRepositoryWithCommit();
    const start = (...args: string[]) => runOrch(repository, ['start', '-e', 'a', ...args]);
    const refused: [args: string[], words: string][] = [
      [['--', 'no-such-program'], 'no-such-program cannot be run: it is not on the PATH'],
      [['--', './no-such-file'], './no-such-file cannot be run: there is no such file'],
      [['--', './README'], './README cannot be run: it is not executable'],
      [['--', './.git'], './.git cannot be run: it is not a file'],
      [['--result', 'README/r.json', '--', 'true'], '--result README/r.json: README is not a folder'],
      [['--result', 'none/r.json', '--', 'true'], '--result none/r.json: there is no folder none'],
      [['--result', '.git', '--', 'true'], '--result .git: it is a folder'],
    ];
    for (const [args, words] of refused) {
      const ran = start(...args);
      expect(ran.status).toBe(2);
      expect(ran.stderr).toContain(words);
    }
    expect(errorOf(start('--json', '--', 'true'))).toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('--result FILE'),
    });
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });

  it('fails, and is no bug of orch, where the system will not start the command', () => {
    const repository = makeRepositoryWithCommit();
    const agent = join(repository.home, 'agent');
    writeFileSync(agent, '#!/no/such/interpreter\n', { mode: 0o755 });
    const broken = runOrch(repository, ['start', '-e', 'b', '--', agent]);
    expect(broken.status).toBe(2);
    expect(broken.stderr).toContain(
      'agent could not be started: it, or the interpreter it names, does not exist',
    );
    expect(broken.stderr).not.toContain('a bug in orch');
    expect(statusOf(repository, 'b').session.status).toBe('failed');
  });

  it('ends with all that came from the command, also what left its group and ignores signals', () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
    const pids = join(repository.home, 'pids');
    const stubborn = writeScript(
      repository,
      'stubborn',
      'trap "" INT TERM HUP',
      `echo $$ >>'${pids}'`,
      'while :; do sleep 0.1; done',
    );
    const agent = writeScript(
      repository,
      'agent',
      `(setsid sleep 60 >/dev/null 2>&1 & echo $! >>'${pids}')`,
      `nohup sleep 61 >/dev/null 2>&1 & echo $! >>'${pids}'`,
      `'${stubborn}' >/dev/null 2>&1 &`,
      `while [ "$(wc -l <'${pids}')" -lt 3 ]; do sleep 0.05; done`,
    );
    expect(runOrch(repository, ['start', '-e', 'a', '--', agent]).status).toBe(0);
    const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number);
    expect(started).toHaveLength(3);
    expect(started.filter(isAlive)).toEqual([]);
    expect(triggersOf(repository, 'a')).toEqual(['session_start', 'pause']);
  });

  it('works where there is no commit, no working tree, no git', () => {
    const repository = makeRepositoryWithCommit();
    const bare = join(repository.home, 'bare.git');
    const empty = join(repository.home, 'empty');
    repository.git('init', '--quiet', '--bare', bare);
    repository.git('init', '--quiet', empty);
    const start = (cwd: string, env = {}) =>
      runOrch(repository, ['start', '-e', 'a', '--', 'sh', '-c', 'echo x'], { cwd, env });
    const notKept = 'checkpoints do not include the files';
    expect(start(empty).status).toBe(0);
    const inBare = start(bare);
    expect(inBare).toMatchObject({ status: 0, stdout: 'x\n' });
    expect(inBare.stderr).toContain(notKept);
    const withoutGit = start(repository.folder, { ORCH_ENGINE: 'isomorphic' });
    expect(withoutGit).toMatchObject({ status: 0, stdout: 'x\n' });
    expect(withoutGit.stderr).toContain(notKept);
  });
});
