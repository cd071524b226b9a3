// Makes the samples of Claude Code anew, from real runs: ORCH_RECORD_FIXTURES=1 npm run test:agents
import { basename } from 'node:path';
import { describe, it } from 'vitest';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { type AnthropicTurn, startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, readTranscripts, runClaude } from './support/claude.ts';
import { type HookCall, recordHooks } from './support/hooks.ts';
import { keepJson, keepLines } from './support/samples.ts';
import { bashTool, writeTool } from './support/script.ts';
import { openClaude } from './support/terminal.ts';
import { until } from './support/until.ts';

/** Keeps what hooks got, one sample a kind: the event, and what tells its kinds apart. */
function keepHooks(repository: TestRepository, calls: readonly HookCall[], suffix = ''): void {
  for (const { event, input } of calls) {
    const kind = input.tool_name ?? input.source ?? input.reason ?? input.trigger ?? input.error;
    const status = input.tool_name === 'TaskUpdate' ? input.tool_input.status : undefined;
    const name = [event, kind, status].filter((part) => typeof part === 'string').join('-');
    if (event !== 'StatusLine') keepJson(repository, `claude/hooks/${name}${suffix}`, input);
  }
}

/** Keeps the transcripts of a run; those of subagents have the number of the agent in their name. */
function keepTranscripts(repository: TestRepository, name: string): void {
  let count = 0;
  for (const { path, lines } of readTranscripts(repository)) {
    const isSubagent = basename(path).startsWith('agent-');
    if (!isSubagent) count += 1;
    const ending = isSubagent ? '-subagent' : count > 1 ? `-${count}` : '';
    keepLines(repository, `claude/transcripts/${name}${ending}`, lines);
  }
}

async function record(
  name: string,
  turns: (folder: string) => AnthropicTurn[],
  options: { env?: Record<string, string>; args?: string[]; answers?: Record<string, object> } = {},
) {
  const repository = makeRepositoryWithCommit();
  const hooks = recordHooks(repository);
  for (const [event, answer] of Object.entries(options.answers ?? {})) hooks.answer(event, answer);
  const model = await startAnthropicModel(turns(repository.folder));
  const run = (prompt: string, args: string[] = []) =>
    runClaude(repository, prompt, {
      url: model.url,
      env: options.env ?? {},
      args: ['--allowedTools', 'Bash', ...args],
    });
  const ran = await run('Write a file.', options.args);
  keepLines(repository, `claude/stream/${name}`, ran.lines);
  keepTranscripts(repository, name);
  return { repository, hooks, run, id: ran.result.session_id };
}

const cached = {
  input_tokens: 12,
  output_tokens: 345,
  cache_read_input_tokens: 15_000,
  cache_creation_input_tokens: 5_000,
  cache_creation: { ephemeral_5m_input_tokens: 2_000, ephemeral_1h_input_tokens: 3_000 },
};

describe.skipIf(!claudeProgram)('samples of Claude Code', () => {
  it('work', async () => {
    const { repository, hooks, run, id } = await record('work', (folder) => [
      { text: 'First a file.', tools: [writeTool(folder, 'a.txt', 'one\n')], usage: cached },
      {
        tools: [
          { tool: 'Edit', input: { file_path: `${folder}/a.txt`, old_string: 'one', new_string: 'two' } },
          bashTool('cat a.txt; echo "Tests  3 passed (3)"'),
        ],
        usage: { output_tokens: 40 },
      },
      { tools: [{ tool: 'TaskCreate', input: { subject: 'Test it', description: 'Run the tests.' } }] },
      { tools: [{ tool: 'TaskUpdate', input: { taskId: '1', status: 'in_progress' } }] },
      { tools: [{ tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } }] },
      { tools: [bashTool('echo "Tests  1 failed (3)"; exit 3')] },
      { text: 'All done.' },
    ]);
    keepHooks(repository, hooks.calls());
    const before = hooks.calls().length;
    await run('Go on.', ['--resume', id]);
    keepHooks(repository, hooks.calls().slice(before, before + 1));
    keepTranscripts(repository, 'resumed');
  });

  it('a list of things to do', async () => {
    const todos = [
      { content: 'Write it', status: 'completed', activeForm: 'Writing it' },
      { content: 'Test it', status: 'in_progress', activeForm: 'Testing it' },
    ];
    const turns = [{ tools: [{ tool: 'TodoWrite', input: { todos } }] }, { text: 'Noted.' }];
    const { repository, hooks } = await record('todo', () => turns, {
      env: { CLAUDE_CODE_ENABLE_TASKS: '0' },
    });
    keepHooks(repository, [...hooks.calls('PreToolUse'), ...hooks.calls('PostToolUse')]);
  });

  it('a subagent', async () => {
    const prompt = 'Look into the small matter.';
    const input = { description: 'look', prompt, subagent_type: 'general-purpose' };
    const { repository, hooks } = await record('agent', (folder) => [
      { tools: [{ tool: 'Agent', input }], usage: cached },
      {
        when: ({ body }) => body.messages.length === 1 && JSON.stringify(body.messages).includes(prompt),
        tools: [writeTool(folder, 'b.txt', 'by a subagent\n')],
        usage: cached,
      },
    ]);
    const own = hooks.calls().filter(({ event, input }) => event.startsWith('Subagent') || input.agent_id);
    keepHooks(repository, own, '-subagent');
    keepHooks(repository, [...hooks.calls('PreToolUse'), ...hooks.calls('PostToolUse')].slice(0, 1));
    keepHooks(repository, hooks.calls('PostToolUse').slice(0, 1));
    keepHooks(repository, hooks.calls('Stop').slice(0, 1), '-background');
    keepHooks(repository, hooks.calls('UserPromptSubmit').slice(1), '-notification');
  });

  it('halted, and refused', async () => {
    const answers = { PostToolUse: { continue: false, stopReason: 'The budget is spent.' } };
    await record('halted', (folder) => [{ tools: [writeTool(folder, 'a.txt', 'one\n')] }], { answers });
    const refusal = { status: 429, type: 'rate_limit_error', message: 'Slow down.' };
    await record('rate-limit', () => [refusal, refusal]);
  });

  it('in a terminal', async () => {
    const repository = makeRepositoryWithCommit();
    const hooks = recordHooks(repository);
    const refusal = { status: 429, type: 'rate_limit_error', message: 'Slow down.' };
    const model = await startAnthropicModel([
      { tools: [writeTool(repository.folder, 'a.txt', 'one\n')], usage: cached },
      { text: 'Written.', usage: { input_tokens: 150_000 } },
      {
        when: ({ body }) => JSON.stringify(body.messages.at(-1)).includes('<summary>'),
        text: '<analysis>Short.</analysis>\n<summary>A file was written.</summary>',
        usage: cached,
      },
      { text: 'Still here.' },
      refusal,
      refusal,
    ]);
    const terminal = await openClaude(repository, { url: model.url });
    const called = (event: string, times = 1) =>
      until(
        () => hooks.calls(event).length >= times,
        () => `${event}\n${terminal.screen()}`,
      );
    const filled = () =>
      hooks.calls('StatusLine').find(({ input }) => input.context_window.total_input_tokens > 100_000);
    await called('StatusLine');
    await terminal.type('write a file');
    await called('Stop');
    await until(
      () => filled() !== undefined,
      () => 'a filled window',
    );
    await terminal.type('/compact');
    await called('PostCompact');
    await terminal.shows('ompacted');
    await terminal.type('go on');
    await called('Stop', 2);
    await terminal.type('/clear');
    await called('SessionStart', 3);
    await terminal.type('go on again');
    await called('StopFailure');
    await terminal.type('/exit');
    await called('SessionEnd', 2);
    const startup = hooks.calls('SessionStart').slice(0, 1);
    keepHooks(repository, startup, '-terminal');
    const compaction = hooks.calls('SubagentStop');
    keepHooks(repository, compaction, '-compaction');
    keepHooks(
      repository,
      hooks
        .calls()
        .filter((call) => /^(SessionStart|PreCompact|PostCompact|StopFailure|SessionEnd)$/.test(call.event))
        .slice(1),
    );
    const lines = hooks.calls('StatusLine').map(({ input }) => input);
    keepJson(repository, 'claude/statusline/empty', lines[0]);
    keepJson(repository, 'claude/statusline/filled', filled()?.input);
    keepTranscripts(repository, 'terminal');
  });
});
