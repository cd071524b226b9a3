import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startInBackground } from '../support/background.ts';
import { fail, repositoryAt } from '../support/checkpoints.ts';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

type Recorded = { event: { epicId: string; sessionId: string }; checkpoint: { sessionId: string } | null };
type Env = Record<string, string>;
const recordNote = (repository: TestRepository, env: Env = {}, ...more: string[]) =>
  orchJson<Recorded>(repository, ['record', 'note', 'n', ...more], { env });

describe('where a record goes', () => {
  it('into the session that runs; without one, into one of its own, which is paused with a checkpoint', () => {
    const repository = makeRepositoryWithCommit();
    const { id } = startInBackground(repository, 'a');
    expect(recordNote(repository)).toMatchObject({ event: { epicId: 'a', sessionId: id }, checkpoint: null });
    const { checkpoint } = orchJson<Recorded>(repository, ['checkpoint', 'create', '--reason', 'r']);
    expect(checkpoint).toMatchObject({ epicId: 'a', sessionId: id, trigger: 'manual' });
    const other = recordNote(repository, {}, '-e', 'b');
    expect(other.event.epicId).toBe('b');
    expect(other.checkpoint).toMatchObject({ sessionId: other.event.sessionId, trigger: 'pause' });
    expect(orchJson(repository, ['session', 'status', '-e', 'b'])).toMatchObject({
      session: { status: 'paused' },
    });
  });

  it('is acknowledged also where it cannot be remembered for the next one', () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, '.git/orchestration/last-used.json'), { recursive: true });
    const { status, stderr } = runOrch(repository, ['record', 'cost', '1', '-e', 'x']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('could not remember') });
    expect(orchJson(repository, ['cost', '-e', 'x'])).toMatchObject({ budget: { spentUsd: 1 } });
  });

  it('is asked where two run, unless an epic, a session or a worktree says which; every command alike', () => {
    const repository = makeRepositoryWithCommit();
    const a = startInBackground(repository, 'a');
    const tree = repositoryAt(repository.home, join(repository.home, 'tree'));
    repository.git('worktree', 'add', '--quiet', tree.folder, '-b', 'side');
    const b = startInBackground(tree, 'b');
    // Each in its own worktree.
    expect(recordNote(repository).event.epicId).toBe('a');
    expect(recordNote(tree).event.epicId).toBe('b');

    const bare = repositoryAt(repository.home, join(repository.home, 'third'));
    repository.git('worktree', 'add', '--quiet', bare.folder, '-b', 'third');
    for (const args of [['record', 'note', 'n'], ['cost'], ['brief'], ['log']]) {
      const error = fail(bare, args);
      expect(error).toMatchObject({ status: 2, code: 'SESSION_AMBIGUOUS' });
      expect(error.data.sessions).toEqual(expect.arrayContaining([a.id, b.id]));
    }
    expect(recordNote(bare, {}, '-e', 'b').event.sessionId).toBe(b.id);
    for (const env of [{ ORCH_SESSION: b.id }, { ORCH_EPIC: 'b' }] as Env[]) {
      expect(recordNote(bare, env).event).toMatchObject({ epicId: 'b', sessionId: b.id });
      expect(orchJson(bare, ['log'], { env })).toMatchObject({ epicId: 'b' });
      expect(orchJson(bare, ['session', 'status'], { env })).toMatchObject({ epicId: 'b' });
    }
    // What the environment names is not passed over for what happens to run here.
    expect(recordNote(repository, { ORCH_EPIC: 'c' }).event.epicId).toBe('c');
  });

  it('into the newest of several that work on the same epic here; only who ends one has to say which', () => {
    const repository = makeRepositoryWithCommit();
    const agents = ['agent-1', 'agent-2'].map((id) => makeAgent(repository, id, { ORCH_EPIC: 'a' }));
    for (const { call } of agents) {
      call('SessionStart', { source: 'startup' });
      call('UserPromptSubmit', { prompt: 'Begin' });
    }
    const { sessions } = orchJson<{ sessions: { id: string; number: number }[] }>(repository, [
      'session',
      'list',
    ]);
    const [second = { id: '' }, first = { id: '' }] = sessions;
    expect(recordNote(repository).event).toEqual(
      expect.objectContaining({ epicId: 'a', sessionId: second.id }),
    );
    for (const args of [
      ['cost', 'budget', '5', '-e', 'a'],
      ['checkpoint', 'create'],
      ['log'],
      ['session', 'show'],
    ])
      expect(runOrch(repository, args)).toMatchObject({ status: 0 });
    const error = fail(repository, ['session', 'pause', '-e', 'a']);
    expect(error).toMatchObject({ status: 2, code: 'SESSION_AMBIGUOUS' });
    expect(error.hint).toMatch(/ORCH_SESSION=sess-\w+ orch session pause -e a$/);
    const paused = runOrch(repository, ['session', 'pause', '-e', 'a'], { env: { ORCH_SESSION: first.id } });
    expect(paused).toMatchObject({ status: 0, stdout: expect.stringContaining('paused: session 1 of a') });
    expect(runOrch(repository, ['session', 'pause', '-e', 'a']).stdout).toContain('paused: session 2 of a');
  });

  it.runIf(process.platform === 'linux')(
    'into the session of the agent that calls, whatever others run here',
    () => {
      const repository = makeRepositoryWithCommit();
      startInBackground(repository, 'a');
      // Its process stands for an agent's, and says to its hook and to orch what an agent would.
      const source = `
      const { spawnSync } = require('node:child_process');
      const run = (args, input) => spawnSync(process.execPath, [${JSON.stringify(orchBin)}, ...args], { input, encoding: 'utf8' }).stdout;
      for (const hook_event_name of ['SessionStart', 'UserPromptSubmit'])
        run(['hook', 'claude'], JSON.stringify({ session_id: 's', cwd: process.cwd(), hook_event_name, source: 'startup', prompt: 'Go' }));
      console.log(spawnSync('sh', ['-c', '"$0" "$1" record note n --json', process.execPath, ${JSON.stringify(orchBin)}], { encoding: 'utf8' }).stdout);`;
      repository.git('switch', '--quiet', '--create', 'feat/b');
      const agent = spawnSync(process.execPath, ['-e', source], {
        cwd: repository.folder,
        env: cleanEnvironment(repository.home),
        encoding: 'utf8',
      });
      expect(JSON.parse(agent.stdout).event.epicId).toBe('feat-b');
    },
  );

  it('into a session that has ended, of which nothing is lost; and into none that was never here', () => {
    const repository = makeRepositoryWithCommit();
    const { id } = startInBackground(repository, 'a');
    expect(runOrch(repository, ['session', 'complete', '-e', 'a']).status).toBe(0);
    const env = { ORCH_SESSION: id };
    expect(recordNote(repository, env)).toMatchObject({ event: { sessionId: id }, checkpoint: null });
    expect(orchJson(repository, ['session', 'status', '-e', 'a'])).toMatchObject({
      session: { status: 'completed' },
      pendingEvents: 1,
    });
    expect(runOrch(repository, ['checkpoint', 'create', '-e', 'a']).status).toBe(0);
    expect(runOrch(repository, ['brief', '-e', 'a']).stdout).toMatch(/\*\*Notes:\*\* .*n/);

    const clone = repositoryAt(repository.home, join(repository.home, 'clone'));
    repository.git('clone', '--quiet', '.', clone.folder);
    expect(fail(clone, ['record', 'note', 'n'], { env })).toMatchObject({
      status: 1,
      code: 'SESSION_NOT_FOUND',
    });
    expect(recordNote(clone, env, '-e', 'z').event.epicId).toBe('z');
    const garbage = fail(repository, ['record', 'note', 'n'], { env: { ORCH_SESSION: '../x' } });
    expect(garbage).toMatchObject({
      status: 2,
      code: 'USAGE',
      message: expect.stringContaining('ORCH_SESSION'),
    });
  });
});
