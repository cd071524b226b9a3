import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useOwnProcesses } from '../support/hosted.ts';
import { hasLimits, runLimited } from '../support/limits.ts';
import { errorOf, orchJson, type Ran, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import {
  callOrch,
  isAlive,
  readWhenThere,
  startSupervisor,
  statusOf,
  waitUntil,
  writeConfig,
  writeScript,
} from '../support/supervised.ts';

useOwnProcesses();

/** An agent that spends a dollar at a time, and would go on for long; it is not bound by the limits of orch. */
function writeSpender(repository: TestRepository): string {
  return writeScript(
    repository,
    'agent',
    'prlimit --pid $$ --nofile=1024:1024 --nproc=unlimited:unlimited 2>/dev/null',
    `echo $$ >'${repository.home}/pid'`,
    `while [ -e '${repository.home}/wait' ]; do sleep 0.05; done`,
    'i=0',
    'while [ $i -lt 60 ]; do',
    `  ${callOrch('record cost 1 >/dev/null 2>&1')}`,
    `  i=$((i+1)); echo $i >'${repository.home}/count'`,
    '  sleep 0.1',
    'done',
  );
}

function readIn({ home }: TestRepository, name: string): string {
  const path = join(home, name);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}

/** It did its work, or said in its own words that it did not: nothing is left to itself. */
function expectSupervised(repository: TestRepository, ran: Ran, limit: string): void {
  const pid = readIn(repository, 'pid');
  expect([limit, pid !== '' && isAlive(Number(pid))]).toEqual([limit, false]);
  expect([limit, ran.status]).toEqual([limit, pid === '' ? 1 : expect.toBeOneOf([1, 4])]);
  expect(ran.stderr).not.toMatch(/^\s+at |node:internal/m);
  expect(ran.stderr).toMatch(/error: .*too many files are open|■ /);
  expect(Number(readIn(repository, 'count') || 0)).toBeLessThan(30);
}

describe.runIf(hasLimits)('I7: with few open files', () => {
  it.each([22, 25, 32, 48, 64, 72, 96])(
    'a session under %i of them is looked after, or not begun',
    (limit) => {
      const repository = makeRepositoryWithCommit();
      const agent = writeSpender(repository);
      const args = ['start', '-e', 'a', '--budget', '5', '--no-baseline', '--', agent];
      const ran = runLimited(repository, `--nofile=${limit}:${limit}`, args);
      expectSupervised(repository, ran, String(limit));
      if (limit >= 96) expect(ran.status).toBe(4);
    },
  );

  it.each([5, 22, 30])('a supervisor that is left with %i stops its command first', async (limit) => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
    const agent = writeSpender(repository);
    writeFileSync(join(repository.home, 'wait'), '');
    const args = ['start', '-e', 'a', '--budget', '5', '--no-baseline', '--', agent];
    const orch = startSupervisor(repository, args);
    await readWhenThere(join(repository.home, 'pid'));
    spawnSync('prlimit', ['--pid', String(orch.pid), `--nofile=${limit}:${limit}`]);
    spawnSync('rm', [join(repository.home, 'wait')]);
    const status = await orch.ended;
    expectSupervised(repository, { status, stdout: orch.stdout(), stderr: orch.stderr() }, String(limit));
    if (limit === 5)
      expect(orch.stderr()).toContain('error: orch could not supervise the command and killed it');
  });

  it('a record is made, or it is said that it was not; never both', () => {
    for (let limit = 19; limit <= 36; limit += limit < 24 ? 1 : 4) {
      const repository = makeRepositoryWithCommit();
      const cost = runLimited(repository, `--nofile=${limit}:${limit}`, ['record', 'cost', '1.5', '-e', 'a']);
      const args = ['record', 'note', 'remember this', '-e', 'b', '--json'];
      const note = runLimited(repository, `--nofile=${limit}:${limit}`, args);
      const known = orchJson<{ epics: { epicId: string }[] }>(repository, ['status']).epics;
      const names = known.map(({ epicId }) => epicId).sort();
      // What is said to be recorded counts too, though its checkpoint could not be made.
      const counts = ({ status, stderr }: Ran) => status === 0 || stderr.includes('recorded, but');
      const made = [counts(cost) && 'a', counts(note) && 'b'].filter((name) => name !== false);
      expect([limit, names]).toEqual([limit, made]);
      if (cost.status === 0) expect(statusOf(repository, 'a').budget.spentUsd).toBe(1.5);
      else expect(cost).toMatchObject({ status: 1, stdout: '' });
      if (note.status === 0) expect(runOrch(repository, ['brief', '-e', 'b']).stdout).toContain('remember');
      // Which it is depends on what came first: a file, or a git that could not be started.
      else
        expect(errorOf(note)).toMatchObject({
          code: expect.stringMatching(/^(WRITE_FAILED|SYSTEM_LIMIT)$/),
          data: { code: 'EMFILE' },
        });
      expect(cost.stderr + note.stderr).not.toMatch(/^\s+at /m);
    }
  });
});

describe.runIf(process.platform === 'linux')('I7: an orch that dies', () => {
  it.each(['SIGKILL', 'SIGABRT', 'SIGSEGV'] as const)('of %s takes its command along', async (signal) => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
    const pid = join(repository.home, 'pid');
    const script = ['trap "" INT TERM', `echo $$ >'${pid}'`, 'while :; do sleep 0.1; done'];
    const agent = writeScript(repository, 'agent', ...script);
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--no-baseline', '--', agent]);
    const agentPid = Number(await readWhenThere(pid));
    orch.signal(signal);
    await waitUntil(() => !isAlive(agentPid));
    expect(runOrch(repository, ['resume', '-e', 'a', '--', 'true']).stderr).not.toContain('still running');
  });
});

describe('I7: an orch with a bug', () => {
  it.each([
    ['throws', 'throw new Error("boom")'],
    ['rejects', 'Promise.reject(new Error("boom"))'],
  ])('that %s where nobody catches it stops its command, and prints no stack', async (_, bug) => {
    const repository = makeRepositoryWithCommit();
    const [pid, now] = [join(repository.home, 'pid'), join(repository.home, 'now')];
    const script = ['trap "" INT TERM', `echo $$ >'${pid}'`, 'while :; do sleep 0.1; done'];
    const agent = writeScript(repository, 'agent', ...script);
    const code = `if (process.argv[2] === 'start') setInterval(() => { if (require('fs').existsSync('${now}')) { ${bug} } }, 20)`;
    writeFileSync(join(repository.home, 'bug.cjs'), code);
    const env = { NODE_OPTIONS: `--require ${join(repository.home, 'bug.cjs')}` };
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--no-baseline', '--', agent], { env });
    const agentPid = Number(await readWhenThere(pid));
    writeFileSync(now, '');
    expect(await orch.ended).toBe(70);
    expect(isAlive(agentPid)).toBe(false);
    expect(orch.stderr()).toContain('error: a bug in orch: boom\n');
    expect(orch.stderr()).not.toMatch(/^\s+at /m);
  });
});

describe.runIf(process.platform === 'linux')('I7: a supervisor that can see nothing any more', () => {
  it('stops its command, and says why', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
    const pid = join(repository.home, 'pid');
    const agent = writeScript(repository, 'agent', `echo $$ >'${pid}'`, 'while :; do sleep 0.1; done');
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--no-baseline', '--', agent]);
    const agentPid = Number(await readWhenThere(pid));
    // The epic's ref becomes something that cannot be read.
    const ref = join(repository.folder, '.git/refs/orchestration/epics/a');
    const was = readFileSync(ref);
    writeFileSync(ref, 'no ref\n');
    await waitUntil(() => orch.stderr().includes('stopping the command'));
    writeFileSync(ref, was);
    expect(await orch.ended).toBe(1);
    expect(isAlive(agentPid)).toBe(false);
    expect(orch.stderr()).toMatch(
      /■ orch could not supervise session 1 of a, and ended it: .+\n {2}Saved checkpoint \d+, then stopped agent /,
    );
    expect(statusOf(repository, 'a').session.status).toBe('failed');
  });
});
