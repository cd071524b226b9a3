import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readStatus, recordCost, type SuperviseEvent, superviseSession } from '../../src/index.ts';
import { makeFakeAgent } from '../support/agents.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';
import { isAlive, readWhenThere, waitUntil, writeScript } from '../support/supervised.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Supervises an agent twice: with too little money, and with more. */
const program = `
import { superviseSession } from '@create-something/orchestration';
const command = [process.argv[2], '-p', 'Go'];
const kinds = [];
const config = { epicId: 'a', command, gates: 'none', onOutput: () => {}, onEvent: ({ kind }) => kinds.push(kind) };
const stopped = await superviseSession({ ...config, budget: 1 });
const resumed = await superviseSession({ ...config, budget: '+5', resume: true, completes: true });
console.log(JSON.stringify({ stopped, resumed, kinds }));
`;

describe('a program that supervises a command with one call', () => {
  it('meters an agent, stops it at the budget, and continues its conversation with more', () => {
    const repository = makeRepositoryWithCommit();
    const claude = makeFakeAgent(repository, 'claude', ['spend 100000', 'hang'], ['spend 10000']);
    const scope = join(repository.folder, 'node_modules', '@create-something');
    mkdirSync(scope, { recursive: true });
    symlinkSync(root, join(scope, 'orchestration'));
    writeFileSync(join(repository.folder, 'program.mjs'), program);
    const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs', claude.program], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home),
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { stopped, resumed, kinds } = JSON.parse(stdout);
    expect(stopped).toMatchObject({
      why: { kind: 'budget', saved: 2 },
      stopped: { by: 'SIGINT', left: [] },
      exitStatus: 4,
      number: 1,
      session: { status: 'budget_exceeded', agent: 'claude', costUsd: 1.5 },
      error: { code: 'BUDGET_EXCEEDED' },
    });
    expect(resumed).toMatchObject({
      why: { kind: 'exit', exit: { status: 0, signal: null } },
      exitStatus: 0,
      number: 2,
      session: { status: 'completed', parentSessionId: stopped.sessionId },
      budget: { spentUsd: 1.65 },
    });
    expect(resumed.brief).toContain('a');
    expect(kinds).toEqual(expect.arrayContaining(['started', 'ready', 'conversation', 'stopping']));
    const [first = [], second = []] = claude.starts();
    const [conversation = ''] = first;
    expect(second[0]).toBe(conversation.replace('--session-id', '--resume'));
  });

  it('passes on what the command prints, tells it where it belongs, and ends with its status', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const events: SuperviseEvent[] = [];
    let printed = '';
    const ended = await superviseSession(
      {
        epicId: 'x',
        command: ['sh', '-c', 'echo "$ORCH_EPIC $ORCH_SESSION"; test -f "$ORCH_BRIEF_FILE"; exit 3'],
        onOutput: (chunk) => {
          printed += chunk;
        },
        onEvent: (event) => events.push(event),
      },
      { cwd },
    );
    expect(printed).toBe(`x ${ended.sessionId}\n`);
    expect(ended).toMatchObject({
      why: { kind: 'exit', exit: { status: 3, signal: null } },
      exitStatus: 3,
      session: { status: 'failed', agent: 'sh' },
      checkpoint: { trigger: 'error' },
      error: null,
    });
    expect(events[0]).toMatchObject({ kind: 'started', epicId: 'x', number: 1, brief: null });
  });

  it('ends the command when the program says so, and notices what others record', async () => {
    const repository = makeRepositoryWithCommit();
    const where = { cwd: repository.folder };
    const pid = join(repository.home, 'pid');
    const agent = writeScript(repository, 'agent', `echo $$ >'${pid}'`, 'while :; do sleep 0.1; done');
    const stop = new AbortController();
    const events: string[] = [];
    const running = superviseSession(
      {
        epicId: 'x',
        command: [agent],
        budget: 1,
        signals: stop.signal,
        onOutput: () => {},
        onEvent: ({ kind }) => events.push(kind),
      },
      where,
    );
    const agentPid = Number(await readWhenThere(pid));
    const { session } = await readStatus('x', where);
    if (session === null) throw new Error('no session runs');
    await recordCost(session, 0.9, {}, where);
    await waitUntil(() => events.includes('warning'));
    stop.abort();
    expect(await running).toMatchObject({
      why: { kind: 'signal', signal: 'SIGTERM' },
      session: { status: 'paused' },
    });
    expect(isAlive(agentPid)).toBe(false);
    const live = join(repository.folder, '.git/orchestration/live');
    expect(existsSync(join(live, `${session.id}.json`))).toBe(false);
  });

  it('refuses what cannot be run before anything is recorded', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const call = superviseSession({ epicId: 'x', command: ['no-such-program'] }, { cwd });
    await expect(call).rejects.toMatchObject({ code: 'USAGE' });
    expect((await readStatus('x', { cwd })).session).toBeNull();
  });
});
