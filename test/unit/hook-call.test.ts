import { describe, expect, it } from 'vitest';
import { parseHookCall } from '../../src/agents/calls/hook-call.ts';

const base = { session_id: '3f0c3a1e', transcript_path: '/home/t.jsonl', cwd: '/repo' };
const event = (fields: object) => parseHookCall('claude', JSON.stringify({ ...base, ...fields }))?.event;
const tool = (tool_name: string, tool_input: object, tool_response: unknown = {}) => {
  const found = event({ hook_event_name: 'PostToolUse', tool_name, tool_input, tool_response });
  return found?.kind === 'tool' ? found.facts : null;
};

describe('what an agent hands to a hook', () => {
  it.each(['', '{', 'null', '[]', '{}', '{"session_id": 5}', '{"session_id": "../../etc"}'])(
    '%j is nothing',
    (text) => {
      expect(parseHookCall('claude', text)).toBeNull();
    },
  );

  it.each([
    [
      { hook_event_name: 'SessionStart', source: 'clear', model: 'm' },
      { kind: 'start', source: 'clear', model: 'm' },
    ],
    [
      { hook_event_name: 'SessionStart', source: 'fork' },
      { kind: 'start', source: 'startup', model: null },
    ],
    [
      { hook_event_name: 'UserPromptSubmit', prompt: 'Do it' },
      { kind: 'prompt', text: 'Do it' },
    ],
    [
      { hook_event_name: 'PreToolUse', tool_use_id: 'toolu_7' },
      { kind: 'before_tool', mark: 'toolu_7' },
    ],
    [{ hook_event_name: 'PreCompact', trigger: 'auto' }, { kind: 'before_compact' }],
    [
      { hook_event_name: 'PostCompact', compact_summary: 's' },
      { kind: 'after_compact', summary: 's' },
    ],
    [
      {
        hook_event_name: 'PostCompact',
        compact_summary: '<analysis>Long.\nThoughts.</analysis>\n<summary>\nAll so far.\n</summary>',
      },
      { kind: 'after_compact', summary: 'All so far.' },
    ],
    [
      { hook_event_name: 'PostCompact', compact_summary: '<analysis>x</analysis><summary>Cut off' },
      { kind: 'after_compact', summary: 'Cut off' },
    ],
    [
      { hook_event_name: 'Stop', last_assistant_message: 'Done.' },
      { kind: 'stop', lastMessage: 'Done.' },
    ],
    [
      { hook_event_name: 'StopFailure', error: 'rate_limit' },
      { kind: 'failure', error: 'rate_limit' },
    ],
    [
      { hook_event_name: 'SessionEnd', reason: 'logout' },
      { kind: 'end', reason: 'logout' },
    ],
    [{ hook_event_name: 'OfTheFuture' }, { kind: 'unknown', name: 'OfTheFuture' }],
  ])('%j', (fields, expected) => {
    expect(event(fields)).toEqual(expected);
  });

  it('tells of files, from the folder it is in', () => {
    const patch = [{ lines: ['+a', '+b', '-c', ' d'] }];
    expect(tool('Edit', { file_path: '/repo/src/a.ts' }, { structuredPatch: patch })).toMatchObject([
      { kind: 'file', path: 'src/a.ts', change: 'modified', added: 2, removed: 1 },
    ]);
    expect(tool('Write', { file_path: '/repo/b.ts', content: 'a\nb\n' }, { type: 'create' })).toMatchObject([
      { path: 'b.ts', change: 'added', added: 2, removed: 0 },
    ]);
    const applied =
      '*** Begin Patch\n*** Update File: src/c.ts\n@@\n-a\n+b\n*** Delete File: d.ts\n*** End Patch';
    expect(tool('apply_patch', { input: applied })).toMatchObject([
      { path: 'src/c.ts', change: 'modified' },
      { path: 'd.ts', change: 'deleted' },
    ]);
    expect(tool('Write', { file_path: '/other/c.ts' })).toMatchObject([{ path: '../other/c.ts' }]);
    expect(tool('Write', { file_path: 7 })).toEqual([]);
    expect(tool('Read', { file_path: '/repo/b.ts' })).toEqual([]);
  });

  it('tells of its list of things to do', () => {
    const todos = [
      { content: 'Form', status: 'completed' },
      { content: 'Redirect', status: 'in_progress' },
      { content: 'Logout', status: 'pending' },
      { content: '', status: 'pending' },
      null,
    ];
    expect(tool('TodoWrite', { todos })).toMatchObject([
      { kind: 'issue', id: 'todo: Form', status: 'done' },
      { kind: 'issue', id: 'todo: Redirect', status: 'in_progress' },
      { kind: 'current_set', key: 'currentTask', value: { text: 'Redirect', status: 'in_progress' } },
      { kind: 'issue', id: 'todo: Logout', status: 'open' },
    ]);
    expect(tool('TaskCreate', { subject: 'Form' }, { task: { id: '1', subject: 'Form' } })).toMatchObject([
      { kind: 'issue', id: 'task 3f0c3a1e/1', title: 'Form', status: 'open' },
    ]);
    expect(tool('TaskUpdate', { taskId: '1', status: 'completed' })).toMatchObject([
      { kind: 'issue', id: 'task 3f0c3a1e/1', title: null, status: 'done' },
    ]);
  });

  it('tells what the user decided: a plan that was approved, and answers to questions', () => {
    const plan = '# Limiter\n\n1. count\n2. lock';
    expect(tool('ExitPlanMode', { plan }, { plan, isAgent: false })).toMatchObject([
      { kind: 'current_set', key: 'approvedPlan', value: { text: plan } },
      { kind: 'decision', text: 'the plan “Limiter”', rationale: 'approved', by: 'user' },
    ]);
    expect(tool('ExitPlanMode', { plan }, { plan, isAgent: true })).toEqual([]);
    const answers = { 'Which store?': 'memory', 'Which colours?': ['red', 'blue'], 'And now?': '' };
    expect(tool('AskUserQuestion', { questions: [] }, { answers })).toMatchObject([
      { kind: 'decision', text: 'memory', rationale: 'answer to “Which store?”', by: 'user' },
      { kind: 'decision', text: 'red, blue', by: 'user' },
    ]);
    expect(tool('AskUserQuestion', { questions: [] }, { answers: 'none' })).toEqual([]);
  });

  it('tells what the tests said', () => {
    const stdout = '      Tests  1 failed | 12 passed (13)\n';
    expect(tool('Bash', { command: 'npm test' }, { stdout, stderr: '' })).toMatchObject([
      { kind: 'current_set', key: 'testState', value: { status: 'failed', failed: 1, total: 13 } },
    ]);
    expect(tool('Bash', { command: 'ls' }, { stdout: 'a b', stderr: '' })).toEqual([]);
  });
});
