import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { useOwnProcesses } from '../support/hosted.ts';
import { canHideGroups, hasGroups, withoutGroups } from '../support/limits.ts';
import { orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import {
  callOrch,
  isAlive,
  killWithGuard,
  readWhenThere,
  startSupervisor,
  waitUntil,
  writeConfig,
  writeScript,
} from '../support/supervised.ts';

useOwnProcesses();

const escaped: number[] = [];

afterEach(() => {
  for (const pid of escaped.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

/** A process with another parent, session and environment than the agent it came from. */
const orphanLine = (pid: string) => `(env -i setsid sh -c 'echo $$ >"${pid}"; exec sleep 600' &)`;

function makeAgents(stopGrace = '200ms') {
  const repository = makeRepositoryWithCommit();
  writeConfig(repository, `checkpoint: { stopGrace: ${stopGrace} }\n`);
  const orphan = join(repository.home, 'orphan');
  const spend = callOrch('record cost 9 >/dev/null 2>&1');
  const wait = `while [ ! -s '${orphan}' ]; do sleep 0.02; done`;
  return { repository, orphan, spend, wait };
}

async function readEscaped(path: string): Promise<number> {
  const pid = Number(await readWhenThere(path));
  escaped.push(pid);
  return pid;
}

/** A script whose every generation starts the next and ends; it ends by itself after a while. */
function writeChain(repository: TestRepository, orphan: string): string {
  const count = join(repository.home, 'generations');
  const next = 'setsid "$0" $(($1 + 1)) & exit 0';
  const script = [`echo $1 >'${count}'`, `[ $1 = 5 ] && echo $$ >'${orphan}'`];
  return writeScript(repository, 'chain', ...script, '[ $1 -gt 5000 ] && exit', next);
}

const budget = ['start', '-e', 'a', '--budget', '5', '--no-baseline', '--'];

describe.runIf(hasGroups)('a stop, where there are control groups', () => {
  it('I7: at the budget reaches an orphan with a cleared environment, and says so', async () => {
    const { repository, orphan, spend, wait } = makeAgents();
    const agent = writeScript(repository, 'agent', orphanLine(orphan), wait, spend, 'sleep 600');
    const orch = startSupervisor(repository, [...budget, agent]);
    const pid = await readEscaped(orphan);
    expect(await orch.ended).toBe(4);
    expect(isAlive(pid)).toBe(false);
    expect(orch.stderr()).toMatch(/stopped agent and everything it started \(SIG\w+\)\. The code/);
  });

  it('I7: reaches a chain of processes, each of which forks and ends', async () => {
    const { repository, orphan, spend, wait } = makeAgents();
    const chain = writeChain(repository, orphan);
    const begin = `(env -i PATH="$PATH" setsid '${chain}' 1 &)`;
    const agent = writeScript(repository, 'agent', begin, wait, spend, 'sleep 600');
    const orch = startSupervisor(repository, [...budget, agent]);
    expect(await orch.ended).toBe(4);
    expect(orch.stderr()).toMatch(/and everything it started \(SIG\w+\)/);
    const read = () => readFileSync(join(repository.home, 'generations'), 'utf8');
    const last = read();
    // A generation takes a few milliseconds; this takes a hundred.
    runOrch(repository, ['status']);
    expect(read()).toBe(last);
  });

  it.each(['end', 'pause', 'SIGTERM'] as const)('reaches it at: %s', async (how) => {
    const { repository, orphan, wait } = makeAgents();
    const rest = how === 'end' ? 'exit 0' : 'sleep 600';
    const agent = writeScript(repository, 'agent', orphanLine(orphan), wait, rest);
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--no-baseline', '--', agent]);
    const pid = await readEscaped(orphan);
    if (how === 'pause') expect(runOrch(repository, ['session', 'pause', '-e', 'a']).status).toBe(0);
    if (how === 'SIGTERM') orch.signal(how);
    expect(await orch.ended).toBe(how === 'SIGTERM' ? 143 : 0);
    expect(isAlive(pid)).toBe(false);
    expect(orch.stderr()).not.toContain('running');
  });

  it('reaches what a supervisor left that was killed with its guard', async () => {
    const { repository, orphan } = makeAgents();
    const agent = writeScript(repository, 'agent', orphanLine(orphan), 'sleep 600');
    const orch = startSupervisor(repository, ['start', '-e', 'a', '--no-baseline', '--', agent]);
    const pid = await readEscaped(orphan);
    await killWithGuard(orch);
    expect(isAlive(pid)).toBe(true);
    const resumed = runOrch(repository, ['resume', '-e', 'a', '--no-baseline', '--', 'true']);
    expect(resumed.stderr).toContain('Its command was still running unsupervised; orch stopped it.');
    expect(isAlive(pid)).toBe(false);
  });

  it('of a gate, or a task, that takes too long reaches it too', async () => {
    const { repository, orphan } = makeAgents();
    const gate = writeScript(repository, 'gate', orphanLine(orphan), 'sleep 600');
    writeConfig(repository, `gates: [{ name: test, run: '${gate}', timeout: 1s }]\n`);
    expect(runOrch(repository, ['baseline', '-e', 'a']).status).toBe(3);
    expect(isAlive(await readEscaped(orphan))).toBe(false);
    const second = join(repository.home, 'second');
    const task = writeScript(repository, 'task', orphanLine(second), 'sleep 600');
    repository.write('plan.yaml', `tasks: [{ id: t, run: ['${task}'], timeout: 1s }]\n`);
    expect(runOrch(repository, ['run', 'plan.yaml', '-e', 'b']).status).toBe(3);
    expect(isAlive(await readEscaped(second))).toBe(false);
  });
});

describe.runIf(canHideGroups)('a stop, where there are no control groups', () => {
  it('claims nothing of what it cannot know, and names what may be left', async () => {
    const { repository, orphan, spend, wait } = makeAgents();
    const agent = writeScript(repository, 'agent', orphanLine(orphan), wait, spend, 'sleep 600');
    const [program, ...before] = withoutGroups;
    const child = spawn(program, [...before, process.execPath, orchBin, ...budget, agent], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const ended = new Promise((resolve) => child.on('exit', resolve));
    const pid = await readEscaped(orphan);
    expect(await ended).toBe(4);
    await waitUntil(() => said.includes('Review'));
    expect(isAlive(pid)).toBe(true);
    expect(said).toMatch(/stopped agent \(SIG\w+\)\. The code/);
    expect(said).toContain(`Still running, and possibly started by it: pid ${pid} (sleep 600)`);
  });
});
