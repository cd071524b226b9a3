import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endAfterwards } from '../support/background.ts';
import { fail, list, repositoryAt, show } from '../support/checkpoints.ts';
import { errorOf, orchJson, runOrch, startOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { waitUntil } from '../support/supervised.ts';

type Baseline = {
  passed: boolean;
  gates: { name: string; status: string; output: string; fixed: boolean }[];
};

const npmTest = (repository: TestRepository, script: string) =>
  repository.write('package.json', JSON.stringify({ name: 'x', scripts: { test: script } }));

function configure(repository: TestRepository, ...gates: object[]): void {
  mkdirSync(join(repository.folder, '.orchestration'), { recursive: true });
  repository.write('.orchestration/config.yaml', JSON.stringify({ gates }));
}

const run = (repository: TestRepository, env = {}) =>
  runOrch(repository, ['baseline', '-e', 'x', '--json'], { env });
const runText = (repository: TestRepository) => runOrch(repository, ['baseline', '-e', 'x']);
const brief = (repository: TestRepository) => runOrch(repository, ['brief', '-e', 'x']).stdout;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

describe('orch baseline', () => {
  it('finds the tests, says green or red with 0 or 3, and makes a blocker of what fails until it passes', () => {
    const repository = makeRepositoryWithCommit();
    npmTest(repository, 'echo fine');
    expect(runText(repository)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^✓ test \d+\.\d s\n◆ ckpt 1 of x: Gates green: test passed\n$/),
      stderr: '',
    });
    expect(
      repository
        .git('log', '-1', '--format=%(trailers:key=Orch-Gates,valueonly)', 'refs/orchestration/epics/x')
        .trim(),
    ).toBe('green');
    npmTest(repository, 'echo broken; exit 1');
    const red = run(repository);
    expect(red.status).toBe(3);
    expect(errorOf(red)).toMatchObject({ code: 'GATE_FAILED', data: { gates: ['test'] } });
    expect(JSON.parse(red.stdout) as Baseline).toMatchObject({
      passed: false,
      gates: [{ name: 'test', status: 'failed', output: expect.stringContaining('broken'), fixed: false }],
    });
    expect(brief(repository)).toContain('**Blocked by:** gate test fails');
    expect(run(repository).status).toBe(3);
    expect(brief(repository)).toContain('as it did before this session');
    npmTest(repository, 'echo mended');
    expect(run(repository).status).toBe(0);
    expect(brief(repository)).not.toMatch(/Blocked|Failing/);
    expect(list(repository).checkpoints.map(({ gates }) => gates)).toEqual(['green', 'red', 'red', 'green']);
    expect(show(repository, 'green').checkpoint.seq).toBe(4);
    expect(orchJson(repository, ['checkpoint', 'verify'])).toMatchObject({ damaged: [] });
  });

  it('skips a gate whose program is not installed, and is green or unknown by the others', () => {
    const repository = makeRepositoryWithCommit();
    const missing = { name: 'lint', run: 'no-such-linter --all' };
    configure(repository, { name: 'test', run: 'true' }, missing);
    const ran = runText(repository);
    expect(ran.status).toBe(0);
    expect(ran.stdout).toContain('– lint skipped: its program is not installed here\n');
    expect(list(repository).checkpoints[0]?.gates).toBe('green');
    configure(repository, missing);
    expect(runText(repository).status).toBe(0);
    expect(list(repository).checkpoints[0]?.gates).toBe('unknown');
  });

  it('keeps of a gate that fails, hangs, prints bytes, forks or cannot be started what a reader needs', () => {
    const repository = makeRepositoryWithCommit();
    configure(
      repository,
      { name: 'loud', run: 'seq 3000; echo THE REASON; exit 1' },
      { name: 'hang', run: 'sleep 300', timeout: '300ms' },
      { name: 'bytes', run: String.raw`printf '\000\377\033[31mA'; exit 1` },
      { name: 'fork', run: 'sleep 300 & echo $! > ../forked; exit 0' },
      { name: 'nothing', run: ['no-such-program'] },
    );
    const ran = runText(repository);
    expect(ran.status).toBe(3);
    expect(ran.stderr).toMatch(/^error: loud, hang, bytes failed\n/);
    expect(ran.stdout).toMatch(/⧖ hang timed out after [1-9]\d*(ms|s)\n/);
    expect(ran.stdout).toContain('– nothing skipped: could not be started: no-such-program');
    expect(isAlive(Number(readFileSync(join(repository.home, 'forked'), 'utf8')))).toBe(false);
    const { gates } = show(repository, 'latest').document.state;
    expect(gates.loud?.value.output).toMatch(/^…[\s\S]*\n3000\nTHE REASON\n+exit status 1$/);
    expect(gates.hang?.value.output).toBe('timed out after 300ms');
    expect(gates.bytes?.value.output).not.toMatch(/[\u0000\u001b]/);
    expect(brief(repository)).toContain('THE REASON');
    // A gate that is one no longer blocks nobody.
    configure(repository, { name: 'fork', run: 'true' });
    expect(run(repository).status).toBe(0);
    expect(brief(repository)).not.toMatch(/Blocked|Failing/);
  });

  it('fixes once where it can, and binds what was said to the files: changed meanwhile, it is true of none', () => {
    const repository = makeRepositoryWithCommit();
    configure(repository, { name: 'lint', run: 'test -f fixed', fix: 'touch fixed' });
    const fixed = run(repository);
    expect(JSON.parse(fixed.stdout)).toMatchObject({
      passed: true,
      gates: [{ status: 'passed', fixed: true }],
    });
    expect(fixed).toMatchObject({ status: 0, stderr: expect.stringContaining('gates: unknown') });
    expect(run(repository)).toMatchObject({ status: 0, stderr: '' });
    repository.write('README', 'changed since\n');
    expect(runOrch(repository, ['checkpoint', 'create', '-e', 'x']).status).toBe(0);
    expect(list(repository).checkpoints.map(({ gates }) => gates)).toEqual(['unknown', 'green', 'unknown']);
  });

  it('says where there are no gates, and makes up no epic for it', () => {
    const repository = makeRepositoryWithCommit();
    expect(runOrch(repository, ['baseline'])).toEqual({
      status: 0,
      stdout: 'No gates found. List them under `gates:` in .orchestration/config.yaml\n',
      stderr: '',
    });
    expect(orchJson(repository, ['baseline'])).toEqual({ passed: true, gates: [] });
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });

  it('is interrupted by Ctrl+C: 130, it says so, nothing runs on, and nothing is recorded', async () => {
    const repository = makeRepositoryWithCommit();
    const mark = join(repository.home, 'began');
    configure(repository, { name: 'long', run: `echo $$ > ${mark}; sleep 300` });
    const child = startOrch(repository, ['baseline', '-e', 'x']);
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    await waitUntil(() => existsSync(mark) && readFileSync(mark, 'utf8').endsWith('\n'));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(stderr).toContain('interrupted (SIGINT)');
    expect(isAlive(Number(readFileSync(mark, 'utf8')))).toBe(false);
    expect(fail(repository, ['log', 'x'])).toMatchObject({ status: 1, code: 'EPIC_NOT_FOUND' });
  });
});

describe('trust', () => {
  it('gates run by themselves only once a person ran exactly these here', () => {
    const origin = makeRepositoryWithCommit();
    const clone = repositoryAt(origin.home, join(origin.home, 'clone'));
    origin.git('clone', '--quiet', '.', clone.folder);
    npmTest(clone, 'echo fine');
    endAfterwards(clone, 'x');
    const start = (env = {}) => {
      const ran = runOrch(clone, ['session', 'start', '-e', 'x', '--background'], { env });
      expect(ran.status).toBe(0);
      expect(runOrch(clone, ['session', 'pause', '-e', 'x']).status).toBe(0);
      return ran.stderr.split('\n')[0]?.trim();
    };
    const skipped = 'Gates (test) are skipped until you approve them: orch baseline';
    expect(start()).toBe(skipped);
    expect(start({ ORCH_TRUST: '1' })).toBe('Gates: test.');
    expect(run(clone, { CLAUDECODE: '1' }).status).toBe(0); // an agent's baseline approves nothing
    expect(start()).toBe(skipped);
    expect(run(clone).status).toBe(0);
    expect(start()).toBe('Gates: test.');
  });

  it('a changed gate is a new one', () => {
    const repository = makeRepositoryWithCommit();
    configure(repository, { name: 'test', run: 'true' });
    expect(run(repository).status).toBe(0);
    configure(repository, { name: 'test', run: 'touch ../evil' });
    endAfterwards(repository, 'x');
    const ran = runOrch(repository, ['session', 'start', '-e', 'x', '--background']);
    expect(ran.stderr).toContain('skipped until you approve them');
    expect(runOrch(repository, ['session', 'pause', '-e', 'x']).status).toBe(0);
    expect(existsSync(join(repository.home, 'evil'))).toBe(false);
  });
});

describe('orch start --require-green', () => {
  const start = (repository: TestRepository, ...more: string[]) =>
    runOrch(repository, ['start', '-e', 'x', '--require-green', ...more, '--', 'touch', 'worked']);

  it.each<[why: string, more: string[]]>([
    ['not approved in this clone', []],
    ['switched off', ['--no-baseline']],
  ])('does not take gates for green that were skipped: %s', (_, more) => {
    const repository = makeRepositoryWithCommit();
    configure(repository, { name: 'test', run: ['true'] });
    const ran = start(repository, ...more);
    expect(ran.status).toBe(3);
    expect(ran.stderr).toContain('every gate was skipped');
    expect(ran.stderr).toContain('orch baseline');
    expect(existsSync(join(repository.folder, 'worked'))).toBe(false);
  });

  it('goes ahead once they ran and are green, and where there are none', () => {
    const repository = makeRepositoryWithCommit();
    expect(start(repository).status).toBe(0);
    configure(repository, { name: 'test', run: ['true'] });
    expect(run(repository).status).toBe(0);
    expect(start(repository).status).toBe(0);
    expect(existsSync(join(repository.folder, 'worked'))).toBe(true);
  });
});
