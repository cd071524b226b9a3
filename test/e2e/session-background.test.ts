import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endAfterwards } from '../support/background.ts';
import { useOwnProcesses } from '../support/hosted.ts';
import { errorOf, orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';
import {
  callOrch,
  isAlive,
  liveFiles,
  readWhenThere,
  startSupervisor,
  statusOf,
  waitUntil,
  writeConfig,
  writeScript,
} from '../support/supervised.ts';

useOwnProcesses();

describe('in the background', () => {
  it('works on, prints into a log that is followed to its end, and keeps its own settings to itself', () => {
    const repository = makeRepositoryWithCommit();
    const inner = callOrch('start -e inner --background -- true 2>&1');
    const agent = writeScript(
      repository,
      'agent',
      'env | grep ^ORCH_ | cut -d= -f1 | sort',
      'printf ä…',
      inner,
    );
    const ran = runOrch(repository, ['start', '-e', 'a', '--background', '--', agent]);
    expect(ran.status).toBe(0);
    expect(ran.stdout).toMatch(/^● a, session 1, runs in the background \(pid \d+\)\n$/);
    const followed = runOrch(repository, ['session', 'logs', '-f', '-e', 'a']);
    expect(followed.status).toBe(0);
    expect(followed.stdout).toContain('ORCH_BRIEF_FILE\nORCH_EPIC\nORCH_SESSION\nä…● inner, session 1');
    expect(followed.stdout.trimEnd()).toMatch(
      /✓ agent ended ok: session 1 of a, ckpt 2 saved\.\n {2}Continue .*$/,
    );
    expect(statusOf(repository, 'a').session.status).toBe('paused');
  });

  it('keeps the log bounded and its end readable, however much is printed', () => {
    const repository = makeRepositoryWithCommit();
    const agent = writeScript(
      repository,
      'agent',
      'head -c 35000000 /dev/zero | tr "\\0" x',
      'echo',
      'echo last',
    );
    runOrch(repository, ['start', '-e', 'a', '--background', '--', agent]);
    const node = `'${process.execPath}' '${orchBin}'`;
    const env = cleanEnvironment(repository.home);
    const sh = (line: string) =>
      spawnSync('bash', ['-c', line], { cwd: repository.folder, env, encoding: 'utf8' });
    const followed = sh(`${node} session logs -f -e a | tail -n 3`);
    expect(followed.stdout).toMatch(/^last\n✓ agent ended ok: .*\n {2}Continue /);
    const logs = join(repository.folder, '.git/orchestration/logs');
    const sizes = readdirSync(logs).map((name) => statSync(join(logs, name)).size);
    expect(Math.max(...sizes)).toBeLessThan(11 * 1024 * 1024);
    expect(sizes.length).toBeLessThan(4);
    const left = sh(`${node} session logs -e a | head -c 3; echo " \${PIPESTATUS[0]}"`);
    expect(left).toMatchObject({ stdout: 'xxx 0\n', stderr: '' });
  });

  it('says why it could not begin, with the status of that', () => {
    const repository = makeRepositoryWithCommit();
    const start = (...args: string[]) =>
      runOrch(repository, ['start', '-e', 'a', '--background', '--json', ...args]);
    const wrong = start('--budget', 'abc');
    expect([wrong.status, errorOf(wrong).code, wrong.stdout]).toEqual([2, 'USAGE', '']);
    const begun = start();
    expect(JSON.parse(begun.stdout).session).toMatchObject({ number: 1, status: 'running' });
    const second = start();
    expect([second.status, errorOf(second).code]).toEqual([5, 'SESSION_ACTIVE']);
    expect(runOrch(repository, ['session', 'pause', '-e', 'a']).status).toBe(0);
    expect(liveFiles(repository)).toEqual([]);
  });

  it('is completed from another shell, once a command that ignores signals is gone', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
    const pid = join(repository.home, 'pid');
    const agent = writeScript(
      repository,
      'agent',
      'trap "" INT TERM HUP',
      `echo $$ >'${pid}'`,
      'while :; do sleep 0.1; done',
    );
    runOrch(repository, ['start', '-e', 'a', '--background', '--', agent]);
    const agentPid = Number(await readWhenThere(pid));
    const ended = orchJson<{ session: object; checkpoint: object }>(repository, [
      ...['session', 'complete', '-e', 'a', '--reason', 'Enough'],
    ]);
    expect(isAlive(agentPid)).toBe(false);
    expect(ended.session).toMatchObject({ status: 'completed' });
    expect(ended.checkpoint).toMatchObject({ trigger: 'complete', reason: 'Enough' });
  });
});

describe('two starts at the same instant', () => {
  it('have one winner, ten times', async () => {
    const repository = makeRepositoryWithCommit();
    for (let round = 0; round < 10; round++) {
      const args = ['start', '-e', `e${round}`, '--json'];
      const both = [startSupervisor(repository, args), startSupervisor(repository, args)];
      const loser = await Promise.race(both.map((each) => each.ended.then((status) => ({ each, status }))));
      expect(loser.status).toBe(5);
      expect(loser.each.stderr()).toContain('SESSION_ACTIVE');
      const winner = both.find((each) => each !== loser.each);
      await waitUntil(() => winner?.stdout().includes('\n'));
      winner?.signal('SIGTERM');
      expect(await winner?.ended).toBe(143);
    }
  });
});

it('works in the folder that -C names, and its files are meant from there', () => {
  const repository = makeRepositoryWithCommit();
  const { home: cwd } = repository;
  const folder = relative(cwd, repository.folder);
  endAfterwards(repository, 'x');
  const ran = runOrch(repository, ['-C', folder, 'start', '-e', 'x', '--background'], { cwd });
  expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
  runOrch(repository, ['session', 'pause', '-e', 'x']);
  const result = ['--result', 'ended.json', '--', 'true'];
  expect(runOrch(repository, ['-C', folder, 'start', '-e', 'x', ...result], { cwd }).status).toBe(0);
  runOrch(repository, ['-C', folder, 'cleanup', '--report', 'cleaned.md'], { cwd });
  repository.write('p.yaml', 'tasks: [{ id: a, run: "true" }]');
  runOrch(repository, ['-C', folder, 'run', 'p.yaml', '-e', 'x', '--report', 'ran.md'], { cwd });
  for (const file of ['ended.json', 'cleaned.md', 'ran.md'])
    expect([file, existsSync(join(repository.folder, file))]).toEqual([file, true]);
});
