import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { afterTest } from './cleanup.ts';
import { runOrch } from './orch.ts';
import type { TestRepository } from './repository.ts';

/** An agent that is not this process: a person who raises its budget must not be found below it. */
export function processOfItsOwn(): { CLAUDE_PID: string } {
  const agent = spawn('sleep', ['120'], { stdio: 'ignore' });
  afterTest(() => agent.kill('SIGKILL'));
  return { CLAUDE_PID: String(agent.pid) };
}

/** An agent that calls its hooks by hand: what it says of itself, and the file its messages go to. */
export function makeAgent(repository: TestRepository, id = 'agent-1', env: Record<string, string> = {}) {
  const transcript = join(repository.home, `${id}.jsonl`);
  writeFileSync(transcript, '');
  let messages = 0;
  const call = (event: string, fields: object = {}, as = id) => {
    const input = JSON.stringify({
      session_id: as,
      transcript_path: transcript,
      cwd: repository.folder,
      hook_event_name: event,
      ...fields,
    });
    // The test's own process stands for the agent's.
    const ran = runOrch(repository, ['hook', 'claude'], {
      input,
      env: { CLAUDE_PID: String(process.pid), ...env },
    });
    expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 0, stderr: '' });
    return ran.stdout === '' ? null : JSON.parse(ran.stdout);
  };
  /** A million output tokens of Sonnet cost fifteen dollars. */
  const spend = (output: number) => {
    const message = {
      id: `msg-${++messages}`,
      model: 'claude-sonnet-4-5',
      usage: { input_tokens: 0, output_tokens: output },
    };
    appendFileSync(
      transcript,
      `${JSON.stringify({ type: 'assistant', requestId: `r-${messages}`, message })}\n`,
    );
  };
  return { call, spend, transcript };
}

/** What an agent tells when it has written a file. */
export const wrote = (repository: TestRepository, name: string) => ({
  tool_name: 'Write',
  tool_input: { file_path: join(repository.folder, name), content: 'one\n' },
  tool_response: { type: 'create', structuredPatch: [] },
});
