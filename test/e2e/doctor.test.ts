import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOrch, runDoctor } from '../../src/index.ts';
import { create, expectSound, listFiles, repositoryAt, save } from '../support/checkpoints.ts';
import { damage, loseObject } from '../support/damage.ts';
import { errorOf, orchBin, orchJson, runOrch } from '../support/orch.ts';
import {
  cleanEnvironment,
  makeFolder,
  makeRepository,
  makeRepositoryWithCommit,
  type TestRepository,
} from '../support/repository.ts';
import {
  isAlive,
  killWithGuard,
  liveFiles,
  startSupervisor,
  statusOf,
  waitUntil,
  writeConfig,
} from '../support/supervised.ts';

type Check = {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly evidence: string;
  readonly fix: string | null;
};
type Found = { readonly ok: boolean; readonly checks: readonly Check[]; readonly fixed?: readonly string[] };
type Options = Parameters<typeof runOrch>[2];

function examine(repository: TestRepository, args: readonly string[] = [], options: Options = {}) {
  const ran = runOrch(repository, ['doctor', ...args, '--json'], options);
  const found: Found = JSON.parse(ran.stdout);
  const check = (name: string) => {
    const one = found.checks.find((other) => other.name === name);
    if (one === undefined) throw new Error(`there is no check ${name}`);
    return one;
  };
  const notOk = found.checks.filter(({ status }) => status !== 'ok').map(({ name }) => name);
  return { ...ran, found, check, notOk };
}

const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

/** Every file below .git: what it holds, and when it was written. */
function contentOf(folder: string): Map<string, string> {
  return new Map(listFiles(join(folder, '.git')).map((path) => [path, readFileSync(path, 'latin1')]));
}

/** Finds a fault, mends it, and finds nothing any more. */
function expectRepaired(repository: TestRepository, name: string, evidence: RegExp): void {
  const files = contentOf(repository.folder);
  const before = examine(repository);
  expect(contentOf(repository.folder), 'looking changes nothing').toEqual(files);
  expect(before.check(name)).toMatchObject({
    evidence: expect.stringMatching(evidence),
    fix: expect.any(String),
  });
  expect(before.notOk).toContain(name);
  const fixed = examine(repository, ['--fix']);
  expect(fixed.found.fixed).toContain(name);
  expect(examine(repository).notOk.filter((other) => other !== 'reports')).toEqual([]);
}

const home = (repository: TestRepository) => join(repository.folder, '.git/orchestration');

function makeOld(path: string): void {
  const before = new Date(Date.now() - 60_000);
  utimesSync(path, before, before);
}

describe('where nothing is wrong, orch doctor', () => {
  it('says so, with numbers, and changes nothing, not even a cache', async () => {
    const repository = makeRepositoryWithCommit();
    expect(runOrch(repository, ['doctor'])).toMatchObject({ status: 0, stderr: '' });
    expect(listFiles(home(repository))).toEqual([]);
    await save(repository, ['one', 'two']);
    writeConfig(repository, 'budget: 5\n');
    makeOld(join(repository.folder, '.orchestration/config.yaml'));
    const before = contentOf(repository.folder);
    const { status, found, notOk } = examine(repository);
    expect({ status, notOk, ok: found.ok }).toEqual({ status: 0, notOk: [], ok: true });
    expect(Object.keys(found)).toEqual(['ok', 'checks']);
    for (const check of found.checks)
      expect(Object.keys(check)).toEqual(['name', 'status', 'evidence', 'fix']);
    const said = runOrch(repository, ['doctor']);
    expect(said.stdout).toMatch(/^✓ git +\d+\.\d+.*, \/.*git$/m);
    expect(said.stdout).toMatch(/^✓ checkpoints +1 epic, newest 2 checkpoints read$/m);
    expect(said.stdout).toMatch(/\nNo problems found\.\n$/);
    // A config is only cached once it is older than a tick of the coarsest clock.
    const orch = await openOrch({ cwd: repository.folder, clock: { now: () => Date.now() + 60_000 } });
    expect(await runDoctor({}, orch)).toMatchObject({ ok: true });
    orch.close();
    expect(contentOf(repository.folder)).toEqual(before);
  });

  it('works in a bare repository, in SHA-256, in a subfolder, and without git', async () => {
    const bare = makeRepository('--bare');
    expect(runOrch(bare, ['doctor']).status).toBe(0);
    const other = makeRepositoryWithCommit('--object-format=sha256');
    await save(other, ['one']);
    mkdirSync(join(other.folder, 'deep'));
    const found = examine(other, [], { cwd: join(other.folder, 'deep') });
    expect([found.status, found.check('repository').evidence]).toEqual([0, 'sha256, refs in files']);
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const without = examine(repository, [], { env: { ORCH_ENGINE: 'isomorphic' } });
    expect([without.status, without.notOk]).toEqual([0, ['git']]);
  });

  it('says what it stands on: pinned ids, hooks of others, sync', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    repository.git('config', 'core.hooksPath', '/nowhere/hooks');
    const found = examine(repository, [], { env: { ORCH_WRITER: 'ci-7' } });
    expect(found.check('identity').evidence).toContain('ORCH_WRITER=ci-7');
    expect(found.check('foreign hooks')).toMatchObject({
      status: 'ok',
      evidence: expect.stringContaining('/nowhere/hooks'),
    });
    const first = repository.git('rev-parse', 'refs/orchestration/epics/x');
    repository.git('update-ref', 'refs/orchestration-local/remotes/origin/epics/x', first);
    expect(examine(repository).check('unpushed').status).toBe('ok');
    create(repository, 'two');
    expect(examine(repository).check('unpushed')).toMatchObject({
      status: 'warn',
      evidence: expect.stringContaining('x (origin)'),
    });
  });
});

describe('orch doctor finds, and --fix mends', () => {
  it('a session that was killed, and what it left running', async () => {
    const repository = makeRepositoryWithCommit();
    const supervisor = startSupervisor(repository, [
      'start',
      '-e',
      'x',
      '--no-baseline',
      '--',
      'sleep',
      '600',
    ]);
    await waitUntil(
      () => liveFiles(repository).length > 0 && statusOf(repository, 'x').session.status === 'running',
    );
    runOrch(repository, ['record', 'note', 'before the end', '-e', 'x']);
    await killWithGuard(supervisor);
    const found = examine(repository);
    expect(found.status).toBe(1);
    expect(errorOf(found)).toMatchObject({ code: 'DOCTOR_FAILED', data: { checks: ['processes'] } });
    expect(found.check('sessions')).toMatchObject({
      status: 'warn',
      evidence: expect.stringMatching(/1 interrupted: sess-\w+ of x/),
    });
    const pid = Number(/pid (\d+) of sess-/.exec(found.check('processes').evidence)?.[1]);
    expect(isAlive(pid)).toBe(true);
    const fixed = examine(repository, ['--fix']);
    expect([fixed.status, fixed.found.fixed]).toEqual([0, ['sessions', 'processes']]);
    expect(isAlive(pid)).toBe(false);
    expect(statusOf(repository, 'x')).toMatchObject({ session: { status: 'failed' }, pendingEvents: 0 });
    expect(runOrch(repository, ['brief', '-e', 'x']).stdout).toContain('before the end');
  });

  it('locks whose holders are gone', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const lock = join(repository.folder, '.git/refs/orchestration/epics/x.lock');
    const queue = join(home(repository), 'locks/x.lock');
    for (const path of [lock, queue]) writeFileSync(path, '');
    expect(examine(repository).notOk).toEqual([]); // they may just be held
    for (const path of [lock, queue]) makeOld(path);
    expectRepaired(
      repository,
      'locks',
      /locks\/x\.lock.*refs\/orchestration\/epics\/x\.lock \(untouched for 1m\)/,
    );
    expect(create(repository, 'two').seq).toBe(2);
  });

  it('events that are in no checkpoint, and a journal that never began', async () => {
    const repository = makeRepositoryWithCommit();
    const [first] = await save(repository, ['one']);
    create(repository, 'two');
    // As after a power loss: the ref is back where it was, the journal is not.
    repository.git('update-ref', 'refs/orchestration/epics/x', first.commit);
    const begun = join(home(repository), 'journal/sess-never.jsonl');
    writeFileSync(begun, '\n{"sum":"');
    makeOld(begun);
    expectRepaired(
      repository,
      'journals',
      /2 events of x not in a checkpoint yet, .*sess-never\.jsonl \(9 bytes\) has no header/,
    );
    expect(readFileSync(join(home(repository), 'damaged/sess-never.jsonl'), 'utf8')).toBe('\n{"sum":"');
    const { checkpoints } = orchJson<{ checkpoints: { reason: string }[] }>(repository, [
      'checkpoint',
      'list',
      '-e',
      'x',
    ]);
    expect(checkpoints.map(({ reason }) => reason)).toEqual(['Saved by orch doctor', 'one']);
    // It holds no code of its own: what was saved last is still found.
    for (const name of ['latest', 's1'])
      expect(orchJson(repository, ['diff', name, '-e', 'x'])).toMatchObject({ from: first.id, files: [] });
    expectSound(repository);
  });

  it('a copied clone', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const folder = join(makeFolder(), 'copy');
    cpSync(repository.folder, folder, { recursive: true });
    const copy = repositoryAt(repository.home, folder);
    expectRepaired(copy, 'identity', /this clone is a copy of it/);
    expect(examine(repository).notOk).toEqual([]);
    rmSync(join(folder, '.git/orchestration/writer.json'));
    cpSync(join(home(repository), 'writer.json'), join(folder, '.git/orchestration/writer.json'));
    rmSync(repository.folder, { recursive: true });
    expectRepaired(copy, 'identity', /was moved/);
  });

  it('the newest checkpoint, made again from the one before it and the journals', async () => {
    const repository = makeRepositoryWithCommit();
    const [, , three] = await save(repository, ['one', 'two', 'three']);
    const object = damage(repository, three, 'document', 'flipped');
    expectRepaired(repository, 'checkpoints', new RegExp(`x: git object ${object} is `));
    expect(listFiles(join(home(repository), 'damaged')).some((path) => path.includes(object))).toBe(true);
    expectSound(repository);
  });

  it.each(['remembered', 'forgotten'])(
    'refs that a power loss left empty, where they stood being %s',
    async (how) => {
      const repository = makeRepositoryWithCommit();
      await save(repository, ['one', 'two']);
      repository.git('pack-refs', '--all');
      repository.write('README', 'changed\n');
      const three = create(repository, 'three');
      const snapshot = repository.git('for-each-ref', `refs/orchestration/snapshots/x/${three.sessionId}`);
      const before = repository.git('for-each-ref', 'refs/orchestration');
      for (const ref of ['epics/x', `snapshots/x/${three.sessionId}`])
        writeFileSync(join(repository.folder, '.git/refs/orchestration', ref), '');
      if (how === 'forgotten') rmSync(join(home(repository), 'tips'), { recursive: true });
      expect(snapshot).not.toBe('');
      expectRepaired(repository, 'refs', /no commit id in refs\/orchestration\/epics\/x, /);
      expect(repository.git('for-each-ref', 'refs/orchestration')).toBe(before);
      expect(listFiles(join(home(repository), 'damaged'))).toHaveLength(2);
      expectSound(repository);
    },
  );

  it('a brief, made again to the byte', async () => {
    const repository = makeRepositoryWithCommit();
    // A brief that has nothing to report is the same in each checkpoint.
    runOrch(repository, ['record', 'note', 'The key is missing', '-e', 'x']);
    const [, two] = await save(repository, ['one', 'two', 'three']);
    const brief = repository.git('rev-parse', `${two.commit}:.orchestration/checkpoints/x/brief.md`);
    loseObject(repository, brief);
    const verified = runOrch(repository, ['checkpoint', 'verify', '--json']);
    expect([verified.status, JSON.parse(verified.stdout).damaged]).toEqual([
      6,
      [expect.objectContaining({ id: two.id, problem: expect.stringContaining('its brief') })],
    ]);
    expectRepaired(repository, 'checkpoints', /its brief: git object/);
    expect(runOrch(repository, ['checkpoint', 'verify']).status).toBe(0);
    expectSound(repository);
  });

  it('an older checkpoint only by what it says: the remote has it', async () => {
    const repository = makeRepositoryWithCommit();
    const [, two] = await save(repository, ['one', 'two', 'three']);
    const remote = join(makeFolder(), 'remote.git');
    repository.git('init', '--quiet', '--bare', remote);
    repository.git('remote', 'add', 'origin', remote);
    repository.git('push', '--quiet', 'origin', 'refs/orchestration/epics/*');
    const object = damage(repository, two, 'document', 'deleted');
    const { status, check } = examine(repository, ['--fix']);
    expect(status).toBe(1);
    expect(check('objects')).toMatchObject({ status: 'fail', evidence: expect.stringContaining(object) });
    const { fix } = check('checkpoints');
    const command = /(git fetch --refetch origin) '(\+refs\/\S+)'$/.exec(fix ?? '');
    const before = repository.git('for-each-ref', 'refs/orchestration', 'refs/heads');
    repository.git('fetch', '--quiet', '--refetch', 'origin', command?.[2] ?? '');
    expect(repository.git('for-each-ref', 'refs/orchestration', 'refs/heads')).toBe(before);
    expect(examine(repository).notOk).toEqual([]);
  });
});

describe('orch doctor says, and leaves to the user', () => {
  it('a config that is wrong: the rest is looked at, and mended, all the same', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    writeConfig(repository, 'budgett: 5\n');
    const lock = join(repository.folder, '.git/refs/orchestration/epics/x.lock');
    writeFileSync(lock, '');
    makeOld(lock);
    const { status, found, check } = examine(repository, ['--fix']);
    expect([status, found.fixed]).toEqual([1, ['locks']]);
    expect(check('config')).toMatchObject({
      status: 'fail',
      evidence: expect.stringMatching(/config\.yaml:1:1: budgett/),
      fix: expect.stringContaining('line 1'),
    });
  });

  it('an ORCHESTRATION.yaml that cannot be read', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('ORCHESTRATION.yaml', 'a: [\n');
    expect(examine(repository).check('ORCHESTRATION.yaml').status).toBe('warn');
  });

  it('hooks of agents that lead nowhere, or to another orch', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, '.claude'));
    expect(runOrch(repository, ['init', '-y', '--no-codex']).status).toBe(0);
    expect(examine(repository).check('agent hooks')).toMatchObject({
      status: 'ok',
      evidence: expect.stringContaining('this orch'),
    });
    const settings = join(repository.folder, '.claude/settings.local.json');
    const text = readFileSync(settings, 'utf8');
    writeFileSync(settings, text.replaceAll(orchBin, '/gone/bin/orch.js'));
    const gone = examine(repository);
    expect([gone.status, gone.check('agent hooks')]).toMatchObject([
      1,
      { status: 'fail', evidence: expect.stringContaining('/gone/bin/orch.js, which is gone') },
    ]);
    const other = join(repository.home, 'orch.js');
    writeFileSync(other, '');
    writeFileSync(settings, text.replaceAll(orchBin, other));
    expect(examine(repository).check('agent hooks')).toMatchObject({
      status: 'warn',
      evidence: expect.stringContaining(`another orch: ${other}`),
    });
    rmSync(other);
    symlinkSync(orchBin, other);
    expect(examine(repository).check('agent hooks').status).toBe('ok');
  });

  it('a hook of others that may refuse our refs', () => {
    const repository = makeRepositoryWithCommit();
    const hook = join(repository.folder, '.git/hooks/reference-transaction');
    mkdirSync(join(hook, '..'), { recursive: true });
    writeFileSync(hook, '#!/bin/sh\nexit 1\n');
    chmodSync(hook, 0o755);
    expect(examine(repository).check('foreign hooks')).toMatchObject({
      status: 'warn',
      evidence: expect.stringContaining(hook),
    });
    expect(create(repository, 'they do not run').seq).toBe(1);
  });

  it.runIf(canMount)('a repository that cannot be written to', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const script = 'mount --bind .git .git; mount -o remount,ro,bind .git; "$NODE" "$ORCH" doctor --json';
    const { status, stdout } = spawnSync('unshare', ['-rm', 'sh', '-c', script], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home, { NODE: process.execPath, ORCH: orchBin }),
      encoding: 'utf8',
    });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; evidence: string }[] };
    expect({ status, failing: checks.filter((check) => check.status === 'fail') }).toMatchObject({
      status: 1,
      failing: [{ name: 'disk', evidence: expect.stringMatching(/objects cannot be written to$/) }],
    });
  });

  it('objects that nobody packs, where git is told not to', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('config', 'gc.auto', '0');
    const folder = join(repository.folder, '.git/objects/17');
    mkdirSync(folder, { recursive: true });
    for (let made = 0; made < 80; made++) writeFileSync(join(folder, `${made}`.padStart(38, 'a')), '');
    expect(examine(repository).check('loose objects')).toMatchObject({
      status: 'warn',
      evidence: expect.stringContaining('about 20480, and gc.auto is 0'),
    });
  });

  it('a clock that is behind, by how much', () => {
    const repository = makeRepositoryWithCommit();
    const ahead = { ORCH_NOW: new Date(Date.now() + 3 * 3_600_000 + 60_000).toISOString() };
    create(repository, 'from the future', { env: ahead });
    expect(examine(repository).check('clock')).toMatchObject({
      status: 'warn',
      evidence: expect.stringContaining('x by 3h'),
    });
  });

  it('what a newer orch wrote, without hiding the rest', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const journal = join(home(repository), 'journal/sess-newer.jsonl');
    const body = '"format":2,"epic":"x","session":"sess-newer","writer":"w-1"}';
    const { hash } = await import('node:crypto');
    writeFileSync(journal, `\n{"sum":"${hash('sha256', body).slice(0, 8)}",${body}`);
    makeOld(journal);
    const { status, check, found } = examine(repository);
    expect([status, check('journals').status, found.checks.length]).toEqual([1, 'fail', 25]);
    expect(check('journals').fix).toBe('Update orch');
  });
});
