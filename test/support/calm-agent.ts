import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { wrapToolHook } from '../../src/agents/claude/tool-hook-line.ts';
import { quoteForShell } from '../../src/text.ts';
import { processOfItsOwn } from './hooked-agent.ts';
import { orchBin } from './orch.ts';
import { cleanEnvironment, type TestRepository } from './repository.ts';

/** Where the agent began, and the shell that runs its hooks. */
type Place = { readonly folder?: string; readonly shell?: string; readonly epic?: string };

/**
 * An agent whose hooks are the lines that `orch init` writes, run by a shell as Claude Code runs them. What its tools do
 * stands in its transcript, and `started` tells how often a hook started orch.
 */
export function makeCalmAgent(repository: TestRepository, id = 'conversation-1', place: Place = {}) {
  const { folder = repository.folder, shell = 'sh', epic = 'x' } = place;
  const transcript = join(repository.home, `${id}.jsonl`);
  writeFileSync(transcript, '');
  const log = join(repository.home, `${id}.started`);
  // It notes that it was started, and then is orch.
  const program = join(repository.home, "it's a bin", 'orch');
  mkdirSync(join(repository.home, "it's a bin"), { recursive: true });
  const orch = quoteForShell([process.execPath, orchBin]);
  writeFileSync(program, `#!/bin/sh\necho "$STARTED_BY" >>"$STARTED_LOG"\nexec ${orch} "$@"\n`, {
    mode: 0o755,
  });
  const plain = quoteForShell([program, 'hook', 'claude']);
  const agent = processOfItsOwn();
  const run = (event: string, fields: object = {}, env: Record<string, string> = {}) => {
    const input = {
      session_id: id,
      transcript_path: transcript,
      cwd: folder,
      hook_event_name: event,
      ...fields,
    };
    const ran = spawnSync(shell, ['-c', event.includes('ToolUse') ? wrapToolHook(plain) : plain], {
      cwd: folder,
      env: cleanEnvironment(repository.home, {
        ...agent,
        CLAUDE_PROJECT_DIR: folder,
        CLAUDE_CODE_SESSION_ID: id,
        ORCH_EPIC: epic,
        STARTED_LOG: log,
        STARTED_BY: event,
        ...env,
      }),
      input: JSON.stringify(input),
      encoding: 'utf8',
    });
    expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 0, stderr: '' });
    return ran.stdout === '' ? null : JSON.parse(ran.stdout);
  };
  const write = (line: object) => {
    const about = { sessionId: id, cwd: folder, timestamp: new Date().toISOString() };
    appendFileSync(transcript, `${JSON.stringify({ ...about, ...line })}\n`);
  };
  let uses = 0;
  /** A tool that the model calls: its cost and its result are in the transcript, and its hooks run. */
  const use = (tool_name: string, tool_input: object, result: object | string, output = 0) => {
    const mark = `toolu-${id}-${++uses}`;
    const message = {
      id: `msg-${id}-${uses}`,
      model: 'claude-sonnet-4-5',
      content: [{ type: 'tool_use', id: mark, name: tool_name, input: tool_input }],
      usage: { input_tokens: 0, output_tokens: output },
    };
    write({ type: 'assistant', requestId: `r-${id}-${uses}`, message });
    const about = { tool_name, tool_input, tool_use_id: mark };
    const before = run('PreToolUse', about);
    if (before?.hookSpecificOutput?.permissionDecision === 'deny') return { before, after: null, mark };
    const isError = typeof result === 'string';
    const content = [
      { type: 'tool_result', tool_use_id: mark, content: isError ? result : '', is_error: isError },
    ];
    write({ type: 'user', message: { role: 'user', content }, toolUseResult: result });
    const after = isError
      ? run('PostToolUseFailure', { ...about, error: result })
      : run('PostToolUse', { ...about, tool_response: result });
    return { before, after, mark };
  };
  const home = join(repository.folder, '.git', 'orchestration');
  return {
    run,
    use,
    write,
    transcript,
    pid: Number(agent.CLAUDE_PID),
    /** The events whose hooks started orch since this was last asked. */
    started: () => {
      const events = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
      writeFileSync(log, '');
      return events.filter((event) => event !== '');
    },
    /** Lets the time come that a file of the agent's stands for. */
    lapse: (part: 'far' | 'due') => utimesSync(join(home, 'calm', `${id}.${part}`), 1, 1),
    begin: (prompt = 'Make login redirect to /home') => {
      run('SessionStart', { source: 'startup' });
      run('UserPromptSubmit', { prompt });
    },
    edit: (name: string, output = 0) =>
      use(
        'Write',
        { file_path: join(folder, name), content: 'one\n' },
        { type: 'create', filePath: join(folder, name), content: 'one\n', structuredPatch: [] },
        output,
      ),
  };
}
