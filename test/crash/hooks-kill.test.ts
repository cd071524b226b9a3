import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { makeRandom, runs, seed } from '../support/depth.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** An agent with a process of its own, which goes on with its conversation after each of its deaths. */
function makeAgent(repository: TestRepository, id: string, random: () => number) {
  const transcript = join(repository.home, `${id}.jsonl`);
  writeFileSync(transcript, '');
  let messages = 0;
  let spent = 0;
  let agent: ChildProcess | null = null;
  const begin = () => {
    agent = spawn('sleep', ['1000'], { stdio: 'ignore' });
    children.push(agent);
  };
  /** A hook, which is killed at any moment where that is asked for. */
  const hook = async (hook_event_name: string, fields: object = {}, isKilled = false) => {
    const child = spawn(process.execPath, [orchBin, 'hook', 'claude'], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home, { CLAUDE_PID: String(agent?.pid) }),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const call = { session_id: id, transcript_path: transcript, cwd: repository.folder, hook_event_name };
    child.stdin.on('error', () => {}); // it may be dead by then
    child.stdin.end(JSON.stringify({ ...call, ...fields }));
    const end = setTimeout(() => isKilled && child.kill('SIGKILL'), 30 + random() * 120);
    await once(child, 'exit');
    clearTimeout(end);
  };
  return {
    hook,
    spent: () => spent,
    spend(output_tokens: number) {
      spent += output_tokens;
      const message = { id: `${id}-${++messages}`, model: 'claude-sonnet-4-5', usage: { output_tokens } };
      appendFileSync(transcript, `${JSON.stringify({ type: 'assistant', requestId: messages, message })}\n`);
    },
    async start(source: string, isKilled = false) {
      begin();
      await hook('SessionStart', { source }, isKilled);
      await hook('UserPromptSubmit', { prompt: 'Go on' });
    },
    async kill() {
      const ended = agent && once(agent, 'exit');
      agent?.kill('SIGKILL');
      await ended;
    },
  };
}

const tool = { tool_name: 'Bash', tool_input: {}, tool_response: { stdout: 'Tests  3 passed (3)' } };

it.runIf(process.platform === 'linux')(
  'agents and their hooks are killed at any moment, on whichever branch: what was used is billed, and once',
  async () => {
    const rounds = runs(18);
    const random = makeRandom();
    const chance = (part: number) => random() < part;
    const repository = makeRepositoryWithCommit();
    repository.git('branch', 'feat/a');
    repository.git('branch', 'feat/b');
    const agents = ['one', 'two'].map((id) => makeAgent(repository, id, random));
    for (const agent of agents) await agent.start('startup');
    for (let round = 0; round < rounds; round++) {
      const agent = agents[chance(0.5) ? 0 : 1] ?? expect.fail('there are two');
      agent.spend(1_000 + Math.floor(random() * 9_000));
      if (chance(0.3)) repository.git('switch', '--quiet', chance(0.5) ? 'feat/a' : 'feat/b');
      const what = random();
      if (what < 0.25) {
        await agent.kill();
        await agent.start('resume', chance(0.4));
      } else if (what < 0.5) {
        await agent.hook('SessionEnd', { reason: 'other' }, chance(0.4));
        await agent.start('resume');
      } else if (what < 0.7) {
        const kills = [chance(0.4), chance(0.4), false];
        await Promise.all(kills.map((isKilled) => agent.hook('PostToolUse', tool, isKilled)));
      } else {
        // One that dies over a change of branches may leave its agent without a session until the next is called.
        await agent.hook('UserPromptSubmit', { prompt: 'More' });
        await agent.hook('Stop', { last_assistant_message: 'Done.' }, chance(0.4));
      }
    }
    for (const agent of agents) {
      await agent.hook('SessionEnd', { reason: 'other' });
      await agent.kill();
    }
    const { epics } = orchJson<{ epics: { epicId: string }[] }>(repository, ['status']);
    // Whoever goes on brings in what the dead have left.
    for (const { epicId } of epics) {
      expect(runOrch(repository, ['resume', '-e', epicId, '--', 'true']).status).toBe(0);
    }
    type Money = { epics: { budget: { spentUsd: number } }[] };
    const billed = orchJson<Money>(repository, ['status']).epics.reduce(
      (sum, { budget }) => sum + budget.spentUsd,
      0,
    );
    const used = agents.reduce((sum, agent) => sum + agent.spent(), 0);
    expect(billed, `seed ${seed}`).toBeCloseTo((used * 15) / 1_000_000, 6);
  },
);
