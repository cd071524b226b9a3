import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parseEpicId } from '../../src/ids.ts';
import { type BisectResult, openOrch, saveCheckpoint } from '../../src/index.ts';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import { saveByHand } from '../../src/session/calls.ts';
import type { Fact } from '../../src/state/facts.ts';
import { machineId } from '../../src/system/process/identity.ts';
import { expectSound, repositoryAt, save } from '../support/checkpoints.ts';
import { errorOf, runOrch, startOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { lookAtFiles, lookAtGit } from '../support/restored.ts';
import { cost, withOrch } from '../support/store.ts';

type Story = {
  /** How many checkpoints there are, and the first that is broken. */
  readonly steps?: number;
  readonly broken?: number;
  /** Changes the files before a checkpoint is saved. */
  readonly change?: (repository: TestRepository, step: number) => void;
};

/** An epic whose `check.sh` fails from one checkpoint on. It notes in a log what it was run on. */
async function makeBroken({ steps = 14, broken = 9, change = () => {} }: Story = {}) {
  const repository = makeRepositoryWithCommit();
  const log = join(repository.home, 'log');
  repository.write('.gitignore', 'ignored\ndeps/\n');
  repository.write('check.sh', `cat step >> '${log}'; test ! -e src/broken\n`);
  mkdirSync(join(repository.folder, 'src'));
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'check');
  const orch = await openOrch({ cwd: repository.folder });
  try {
    for (let step = 1; step <= steps; step++) {
      repository.write('step', `${step}\n`);
      if (step === broken) repository.write('src/broken', 'x\n');
      change(repository, step);
      await saveCheckpoint({ epicId: 'x', reason: `step ${step}` }, orch);
    }
  } finally {
    orch.close();
  }
  const tried = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return { repository, tried, forget: () => rmSync(log, { force: true }) };
}

const check = ['--', 'sh', 'check.sh'];

function bisectJson(repository: TestRepository, args: readonly string[], options = {}): BisectResult {
  const ran = runOrch(repository, ['bisect', '--json', '-e', 'x', ...args], options);
  if (ran.status !== 0) throw new Error(`orch bisect ended with ${ran.status}: ${ran.stderr}`);
  return JSON.parse(ran.stdout).bisect;
}

/** Runs a search that must fail without an answer. */
function fail(repository: TestRepository, args: readonly string[], options = {}) {
  const ran = runOrch(repository, ['bisect', '--json', '-e', 'x', ...args], options);
  expect(ran.stdout).toBe('');
  return { status: ran.status, ...errorOf(ran) };
}

/** Nothing of a search is left beside the repository, and git knows no more worktrees than before. */
function expectGone(repository: TestRepository, worktrees = 1): void {
  expect(existsSync(`${repository.folder}.orch`)).toBe(false);
  expect(repository.git('worktree', 'list').split('\n')).toHaveLength(worktrees);
  expect(readdirSync(join(repository.folder, '.git/orchestration/worktrees'))).toEqual([]);
}

describe('orch bisect', () => {
  it('finds the checkpoint that broke a command, and says all about it', async () => {
    const { repository, tried } = await makeBroken();
    const ran = runOrch(repository, ['bisect', '-e', 'x', ...check]);
    expect(ran.status).toBe(0);
    const steady = (text: string) => text.replace(/\d+\.\d s/g, 'TIME').replace(/bisect-\w{6}/, 'bisect-ID');
    expect(steady(ran.stderr).split('\n')).toEqual([
      'x: 14 checkpoints from ckpt 1 to ckpt 14',
      `trying them in ${repository.folder}.orch/bisect-ID`,
      '1 of about 6  ckpt 14  ✗ bad   TIME',
      '2 of about 6  ckpt 1  ✓ good  TIME',
      '3 of about 6  ckpt 7  ✓ good  TIME',
      '4 of about 6  ckpt 10  ✗ bad   TIME',
      '5 of about 6  ckpt 8  ✓ good  TIME',
      '6 of about 6  ckpt 9  ✗ bad   TIME',
      '',
    ]);
    expect(
      steady(ran.stdout)
        .replace(/(now|\d+s ago)/, 'AGO')
        .split('\n'),
    ).toEqual([
      '✗ ckpt 9 of x: step 9',
      '  broke    sh check.sh',
      '  saved    AGO (manual)',
      '  session  s1',
      '  bad      ckpt 9, tried now, exit status 1',
      '  good     ckpt 8, tried now, exit status 0',
      '  changed  2 files +2 −1 since ckpt 8',
      '    A src/broken  +1 −0',
      '    M step  +1 −1',
      'Found in 6 tries, TIME',
      'See all of the change: orch diff 8 9 -e x',
      '',
    ]);
    expect(tried()).toEqual(['14', '1', '7', '10', '8', '9']);
    expectGone(repository);
  });

  it('prints one document with --json: the change, what was asked, and what it cost', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['fine']);
    repository.write('broken', 'x\n');
    const asked: Fact = { kind: 'current_set', key: 'asked', value: { text: 'Make it fast' } };
    await withOrch({ cwd: repository.folder }, async (orch) => {
      const request = {
        trigger: 'manual' as const,
        reason: 'faster',
        facts: [asked, cost(750_000)],
        agent: null,
      };
      await saveByHand(orch, parseEpicId('x'), request, defaultSettings);
    });
    const found = bisectJson(repository, ['--', 'test', '!', '-e', 'broken']);
    expect(found).toMatchObject({
      epicId: 'x',
      gate: null,
      command: ['test', '!', '-e', 'broken'],
      status: 'found',
      firstBad: { seq: 2, reason: 'faster' },
      lastGood: { seq: 1, reason: 'fine' },
      asked: 'Make it fast',
      costUsd: 0.75,
      diff: { files: 1, additions: 1, deletions: 0, command: 'orch diff 1 2 -e x' },
      tries: [
        { result: 'bad', from: 'run', why: 'exit status 1' },
        { result: 'good', from: 'run', why: 'exit status 0' },
      ],
      skipped: [],
    });
  });

  it("changes nothing of the user's, and runs none of their hooks", async () => {
    const { repository } = await makeBroken();
    const hook = join(repository.home, 'hook-ran');
    for (const name of ['post-checkout', 'post-index-change', 'reference-transaction'])
      writeFileSync(join(repository.folder, '.git/hooks', name), `#!/bin/sh\ntouch ${hook}\n`, {
        mode: 0o755,
      });
    repository.git('config', 'worktree.useRelativePaths', 'true');
    rmSync(hook, { force: true });
    repository.write('README', 'stashed\n');
    repository.git('stash');
    repository.write('README', 'changed\n');
    repository.write('untracked', 'untracked\n');
    repository.write('ignored', 'ignored\n');
    rmSync(hook, { force: true });
    const refs = () => repository.git('for-each-ref');
    const look = () => [lookAtFiles(repository.folder), lookAtGit(repository), refs()];
    const before = look();
    const line = 'echo changed > check.sh; git -c core.hooksPath=none add .; test ! -e src/broken';
    expect(bisectJson(repository, ['--', 'sh', '-c', line]).firstBad.seq).toBe(9);
    expect(look()).toEqual(before);
    expect(existsSync(hook)).toBe(false);
    expectGone(repository);
    expectSound(repository);
  });

  it('gives each try the code of its checkpoint, whatever the one before did to the files', async () => {
    const { repository } = await makeBroken();
    const rough =
      'test ! -e leftover && test "$(cat README)" = hello || exit 99; echo x > README; echo x > leftover; rm step';
    const found = bisectJson(repository, ['--', 'sh', '-c', `${rough}; test ! -e src/broken`]);
    expect(found.firstBad.seq).toBe(9);
    expect(found.tries.map(({ why }) => why)).not.toContain('exit status 99');
  });

  it('stays in its folder even if a command removes what makes it one', async () => {
    const { repository } = await makeBroken();
    // A repository around it all, which git would find next.
    const outer = repositoryAt(repository.home, repository.home);
    outer.git('init', '--quiet', '--initial-branch=outer', '.');
    outer.write('untracked', 'mine\n');
    outer.write('tracked', 'mine\n');
    outer.git('add', 'tracked');
    outer.git('commit', '--quiet', '--message', 'outer');
    outer.write('tracked', 'changed\n');
    const look = () => [outer.git('status', '--porcelain'), outer.git('rev-parse', 'HEAD', 'outer')];
    const before = look();
    const line = 'test ! -e src/broken; s=$?; rm -rf .git step src; touch ../kept; exit $s';
    expect(bisectJson(repository, ['--', 'sh', '-c', line]).firstBad.seq).toBe(9);
    expect(existsSync(join(`${repository.folder}.orch`, 'kept'))).toBe(true);
    rmSync(`${repository.folder}.orch`, { recursive: true });
    expect(look()).toEqual(before);
    expectGone(repository);
  });

  it('is not disturbed by the locks of a git that was killed', async () => {
    const { repository } = await makeBroken();
    const line = 'touch "$(git rev-parse --git-dir)/index.lock"; test ! -e src/broken';
    expect(bisectJson(repository, ['--', 'sh', '-c', line]).firstBad.seq).toBe(9);
    expectGone(repository);
  });

  it('knows from the record what the gate said, and checks first that it works here', async () => {
    const { repository, tried, forget } = await makeBroken({
      change: (here, step) => {
        if (step === 1) {
          mkdirSync(join(here.folder, '.orchestration'));
          here.write(
            '.orchestration/config.yaml',
            'gates: [{ name: test, run: sh check.sh }, { name: lint, run: "true" }]\n',
          );
        }
        if (step === 6 || step === 13) runOrch(here, ['baseline', '-e', 'x']);
      },
    });
    forget();
    const found = bisectJson(repository, ['test']);
    expect(found).toMatchObject({
      gate: 'test',
      firstBad: { reason: 'step 9' },
      lastGood: { reason: 'step 8' },
    });
    expect(tried().slice(0, 2)).toEqual(['14', '6']);
    expect(found.tries.filter(({ from }) => from === 'record')).toMatchObject([{ result: 'bad' }]);

    const { code, message, hint, status } = fail(repository, ['tset']);
    expect([status, code, message]).toEqual([2, 'USAGE', 'no gate "tset": did you mean test?']);
    expect(hint).toContain('Gates here: test, lint.');

    // Lint has never failed.
    expect(fail(repository, ['lint'])).toMatchObject({
      status: 1,
      code: 'BISECT_FAILED',
      message: 'lint passes on ckpt 16, the newest checkpoint with code: there is nothing to find',
    });
  });

  it('skips checkpoints without code, tries the same code once, and goes around what cannot be judged', async () => {
    const { repository, tried } = await makeBroken({ steps: 6, broken: 5 });
    const orch = await openOrch({ cwd: repository.folder, settings: { snapshot: false } });
    await saveCheckpoint({ epicId: 'x', reason: 'without code' }, orch);
    orch.close();
    await save(repository, ['same', 'same again']);
    repository.write('step', 'last\n');
    await save(repository, ['last']);
    // Step 3 can't be judged, and is not needed.
    const found = bisectJson(repository, [
      '--',
      'sh',
      '-c',
      'sh check.sh; s=$?; test "$(cat step)" = 3 && exit 125; exit $s',
    ]);
    expect(found).toMatchObject({ status: 'found', firstBad: { seq: 5 }, withoutCode: 1 });
    expect(new Set(tried()).size).toBe(tried().length);
    expect(found.skipped.map(({ seq }) => seq)).toEqual(tried().includes('3') ? [3] : []);
  });

  it('names all that may have broken it if some cannot be judged, and fails', async () => {
    const { repository } = await makeBroken({ steps: 6, broken: 4 });
    const line = 'case $(cat step) in 3|4) exit 125;; esac; test ! -e src/broken';
    const ran = runOrch(repository, ['bisect', '-e', 'x', '--', 'sh', '-c', line]);
    expect(ran.status).toBe(1);
    expect(ran.stdout).toMatch(
      /^One of these broke sh -c .*:\n {2}ckpt 3 of x: step 3\n {2}ckpt 4 of x: step 4\n {2}ckpt 5 of x: step 5\n/,
    );
    expect(ran.stderr).toContain('error: 3 checkpoints may be the first bad one\n');
    const json = runOrch(repository, ['bisect', '-e', 'x', '--json', '--', 'sh', '-c', line]);
    expect(JSON.parse(json.stdout).bisect).toMatchObject({
      status: 'ambiguous',
      firstBad: { seq: 5 },
      lastGood: { seq: 2 },
    });
  });

  it('counts a timeout as bad, and leaves nothing running', async () => {
    const { repository } = await makeBroken({ steps: 5, broken: 3 });
    const marker = `orch-test-${process.pid}-${Date.now()}`;
    const line = `sh check.sh || { : ${marker}; sleep 60 & sleep 60; }`;
    const found = bisectJson(repository, ['--timeout', '500ms', '--', 'sh', '-c', line]);
    expect(found).toMatchObject({
      firstBad: { seq: 3 },
      evidence: { firstBad: { why: 'timed out after 500ms' } },
    });
    expectGone(repository);
  });

  it('runs a command in the folder it was called from, if the code has it', async () => {
    const { repository } = await makeBroken({
      steps: 4,
      broken: 3,
      change: ({ folder }, step) => {
        if (step === 2) mkdirSync(join(folder, 'inner'));
        if (step === 2) writeFileSync(join(folder, 'inner/file'), 'x\n');
      },
    });
    const cwd = join(repository.folder, 'inner');
    const line =
      'cd "$(git rev-parse --show-prefix | sed "s,[^/]*/,../,")./" && test -e step && test ! -e src/broken';
    expect(bisectJson(repository, ['--', 'sh', '-c', line], { cwd }).firstBad.seq).toBe(3);
    const at = 'basename "$PWD"; false';
    const ran = runOrch(
      repository,
      ['bisect', '-e', 'x', '--bad', '3', '--good', '2', '--', 'sh', '-c', at],
      { cwd },
    );
    expect(ran.stderr).toMatch(/^ {4}inner$/m);
  });

  it('works from a linked worktree', async () => {
    const { repository } = await makeBroken();
    const folder = join(repository.home, 'linked');
    repository.git('worktree', 'add', '--quiet', folder);
    const linked = repositoryAt(repository.home, folder);
    const before = [lookAtFiles(folder), linked.git('status', '--porcelain')];
    expect(bisectJson(linked, check).firstBad.seq).toBe(9);
    expect([lookAtFiles(folder), linked.git('status', '--porcelain')]).toEqual(before);
    expectGone(repository, 2);
  });

  it('copies what git ignores, and sets each try up', async () => {
    const { repository } = await makeBroken();
    const deps = join(repository.folder, 'deps');
    mkdirSync(join(deps, 'inner'), { recursive: true });
    writeFileSync(join(deps, 'inner/file'), 'dep\n');
    symlinkSync('inner/file', join(deps, 'link'));
    const line =
      'test "$(cat deps/link)" = dep && test "$(cat made)" = "$(cat step)" && echo x > deps/inner/file.2 && test ! -e src/broken';
    const args = ['--setup', 'cp step made', '--copy', 'deps', '--', 'sh', '-c', line];
    expect(bisectJson(repository, args).firstBad.seq).toBe(9);
    expect(readdirSync(join(deps, 'inner'))).toEqual(['file']);
    // Without them it fails everywhere, which is not taken for an answer.
    const missing = fail(repository, ['--', 'sh', '-c', line]);
    expect(missing).toMatchObject({
      status: 1,
      code: 'BISECT_FAILED',
      hint: expect.stringContaining('--copy node_modules'),
    });
    const failing = fail(repository, ['--setup', 'exit 3', ...check]);
    expect(failing.message).toBe(
      'sh check.sh cannot say whether ckpt 14 is good or bad: the setup failed: exit status 3',
    );
    expectGone(repository);
  });
});

describe('orch bisect refuses', () => {
  it('wrong bounds, and says what to do', async () => {
    const { repository } = await makeBroken({ steps: 6, broken: 4 });
    const refuse = (...args: string[]) => {
      const { status, code, message, hint } = fail(repository, [...args]);
      return [status, code, message, hint?.split('. ')[0]];
    };
    expect(refuse('--good', '5', ...check)).toEqual([
      1,
      'BISECT_FAILED',
      'ckpt 5 is not good: sh check.sh fails there (exit status 1)',
      'Name an older one: --good NAME',
    ]);
    expect(refuse('--bad', '3', ...check)).toEqual([
      1,
      'BISECT_FAILED',
      'ckpt 3 is not bad: sh check.sh passes there',
      'Name one on which sh check.sh fails: --bad NAME',
    ]);
    expect(refuse('--good', '5', '--bad', '2', ...check)[2]).toBe('ckpt 5 (good) is newer than ckpt 2 (bad)');
    expect(refuse('--', 'false')[2]).toBe(
      'false fails on ckpt 1 too, the oldest checkpoint with code (exit status 1)',
    );
    expect(refuse('--', 'true')[2]).toContain('there is nothing to find');
    expect(refuse('--', 'no-such-program')[2]).toBe('no-such-program cannot be run: it is not on the PATH');
    expect(refuse('test', ...check)[2]).toBe('a gate (test) and a command were given');
    expect(refuse()[2]).toBe('nothing to run: name a gate, or a command after --');
    expect(refuse('npm', 'test')).toEqual([
      2,
      'USAGE',
      'put -- before the command to run: npm is not after --',
      'Try: orch bisect -- npm test',
    ]);
    for (const path of ['src', 'nothing', '..', '.git'])
      expect(refuse('--copy', path, ...check)[2]).toContain(`--copy ${path}: `);
    expect(refuse('--timeout', 'soon', ...check)[1]).toBe('USAGE');
    expectGone(repository);
  });

  it('an epic with one checkpoint, or with the same code in all', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    expect(fail(repository, ['--', 'false']).message).toBe(
      'x has only one checkpoint with code, ckpt 1: there is nothing to compare it with',
    );
    await save(repository, ['two', 'three']);
    expect(fail(repository, ['--', 'false']).message).toBe(
      'ckpt 1 to ckpt 3 all have the same code: nothing between them can have broken false',
    );
  });

  it('to work where its folder cannot be', async () => {
    const { repository } = await makeBroken({ steps: 2, broken: 2 });
    writeFileSync(`${repository.folder}.orch`, 'mine\n');
    expect(fail(repository, check)).toMatchObject({
      status: 1,
      code: 'WRITE_FAILED',
      message: `${repository.folder}.orch is not a folder, and orch needs one of that name`,
    });
    expect(readFileSync(`${repository.folder}.orch`, 'utf8')).toBe('mine\n');
  });

  it('to remove what a note only claims to be a worktree of its own', async () => {
    const { repository } = await makeBroken({ steps: 2, broken: 2 });
    const notes = join(repository.folder, '.git/orchestration/worktrees');
    const mine = join(repository.home, 'mine');
    mkdirSync(mine);
    mkdirSync(notes);
    const holder = { host: machineId(), boot: 'earlier', pidNamespace: null, pid: 1, startedAt: null };
    for (const name of ['bisect-1', 'bisect-/../../mine'])
      writeFileSync(join(notes, `${name.length}.json`), JSON.stringify({ name, path: mine, holder }));
    expect(bisectJson(repository, check).firstBad.seq).toBe(2);
    expect(existsSync(mine)).toBe(true);
  });

  it('to work without git', async () => {
    const { repository } = await makeBroken({ steps: 2, broken: 2 });
    const options = { env: { ORCH_ENGINE: 'isomorphic' } };
    expect(fail(repository, [...check], options)).toMatchObject({
      status: 1,
      code: 'REPOSITORY_UNSUPPORTED',
      message: 'bisecting needs git, and orch is running without it',
    });
  });
});

describe('a search that is cut short', () => {
  /** A check that waits, on one step, until a file is there. */
  function makeWaiting(step: number) {
    const go = join(makeFolder(), 'go');
    const line = `sh check.sh; s=$?; test "$(cat step)" = ${step} && while [ ! -e ${go} ]; do sleep 0.02; done; exit $s`;
    return { args: ['--', 'sh', '-c', line], release: () => writeFileSync(go, '') };
  }

  it.each([
    ['SIGKILL', null],
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s continues where it was, and leaves nothing', async (signal, status) => {
    const { repository, tried } = await makeBroken();
    const { args, release } = makeWaiting(7);
    const child = startOrch(repository, ['bisect', '-e', 'x', ...args]);
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await vi.waitFor(() => expect(tried()).toEqual(['14', '1', '7']), 20_000);
    child.kill(signal);
    expect(await ended).toBe(status);
    if (status !== null) {
      expect(stderr).toContain(
        `‖ Stopped by ${signal} after 2 tries; what was tried is kept.\n  Continue  orch bisect`,
      );
      expectGone(repository);
    }
    release();
    const found = bisectJson(repository, args);
    expect(found).toMatchObject({ status: 'found', firstBad: { seq: 9 } });
    expect(tried()).toEqual(['14', '1', '7', '7', '10', '8', '9']);
    expect(found.tries.map(({ from }) => from)).toEqual([
      'earlier run',
      'earlier run',
      ...Array(4).fill('run'),
    ]);
    expectGone(repository);
  });

  it('keeps its results until --fresh, and answers from them', async () => {
    const { repository, tried } = await makeBroken();
    bisectJson(repository, check);
    const made = tried().length;
    const again = bisectJson(repository, check);
    expect(tried()).toHaveLength(made);
    expect(again).toMatchObject({ firstBad: { seq: 9 }, evidence: { firstBad: { from: 'earlier run' } } });
    bisectJson(repository, ['--fresh', ...check]);
    expect(tried()).toHaveLength(2 * made);
  });

  it('is not continued twice at once', async () => {
    const { repository, tried } = await makeBroken();
    const { args, release } = makeWaiting(7);
    const child = startOrch(repository, ['bisect', '-e', 'x', ...args]);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await vi.waitFor(() => expect(tried()).toContain('7'), 20_000);
    expect(fail(repository, args)).toMatchObject({ status: 5, code: 'SESSION_ACTIVE' });
    // Another search at the same time has a worktree of its own, and leaves this one alone.
    expect(bisectJson(repository, check).firstBad.seq).toBe(9);
    release();
    expect(await ended).toBe(0);
    expectGone(repository);
  });
});
