import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/** Starts what it is told to, and tells when it is interrupted. */
const program = `
  const { spawn } = require('node:child_process');
  const [self, argv0, command, ...args] = process.argv.slice(1);
  process.on('SIGINT', () => console.log(self + ' was interrupted'));
  const env = { ...process.env, ...(self === 'claude' && { CLAUDE_PID: String(process.pid) }) };
  spawn(command, args, { argv0, env, stdio: 'inherit' }).on('close', () => setTimeout(() => {}, 100));
`;

/** Calls a hook of Codex from a tree of processes with these names, and gives what they said. */
async function callFrom(repository: TestRepository, names: readonly string[], event: string, more = {}) {
  const words = names.flatMap((name, at) => {
    return ['-e', program, name, names[at + 1] ?? 'node', process.execPath];
  });
  const child = spawn(process.execPath, [...words, orchBin, 'hook', 'codex'], {
    argv0: names[0],
    cwd: repository.folder,
    env: cleanEnvironment(repository.home, { ORCH_EPIC: 'x' }),
  });
  const input = { session_id: 'thread-1', turn_id: 'turn-1', cwd: repository.folder };
  child.stdin.end(JSON.stringify({ ...input, hook_event_name: event, transcript_path: null, ...more }));
  let said = '';
  child.stdout.on('data', (text) => {
    said += text;
  });
  await new Promise((resolve) => child.on('close', resolve));
  return said;
}

/** A tool that Codex calls when the budget is used up. */
async function haltFrom(names: readonly string[]) {
  const repository = makeRepositoryWithCommit();
  expect(await callFrom(repository, names, 'SessionStart', { source: 'startup' })).toContain('orch: x');
  await callFrom(repository, names, 'UserPromptSubmit', { prompt: 'Make login redirect to /home' });
  expect(runOrch(repository, ['cost', 'budget', '1', '-e', 'x']).status).toBe(0);
  expect(runOrch(repository, ['record', 'cost', '2', '-e', 'x']).status).toBe(4);
  const tool = { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 'call-1' };
  const said = await callFrom(repository, names, 'PreToolUse', tool);
  expect(said).toContain('"permissionDecision":"deny"');
  const log = readFileSync(join(repository.folder, '.git', 'orchestration', 'logs', 'orch.log'), 'utf8');
  return { interrupted: said.match(/\w+(?= was interrupted)/g), log };
}

describe('a hook of Codex that ends its turn', () => {
  it('interrupts the Codex that called it, and not the Claude Code that runs it', async () => {
    expect((await haltFrom(['codex'])).interrupted).toEqual(['codex']);
    expect((await haltFrom(['claude', 'codex'])).interrupted).toEqual(['codex']);
  });

  it('interrupts no other program that calls it', async () => {
    const { interrupted, log } = await haltFrom(['terminal']);
    expect(interrupted).toBeNull();
    expect(log).toContain('codex (conversation thread-1) could not be stopped: its tools are denied');
  });
});
