import { samples } from './targets/documents.ts';

/*
 * Inputs that found something, made as small as they can be. What they found is fixed, and stays so: the smoke test
 * runs them all.
 */
export type Seed = { readonly target: string; readonly found: string; readonly input: string };

const header = '\n{"format":1,"epic":"x","session":"sess-abcd","writer":"w-test"}';
const journal = (...lines: readonly string[]) => header + lines.map((line) => `\n${line}`).join('');
const note = '{"kind":"note","id":"n","text":"x"}';
const deep = `${'['.repeat(2_000)}1${']'.repeat(2_000)}`;
const message = (session: string) =>
  `ckpt 2: x\n\nSession 2\n\nOrch-Checkpoint: ckpt-00000002-abcdef\nOrch-Epic: x\nOrch-Session: ${session}\nOrch-Trigger: manual\nOrch-Cost: 1.000000\nOrch-Gates: red\n`;
const commit = (undo: string) =>
  `tree ${'1'.repeat(40)}\nauthor a <b> 1 +0000\ncommitter a <b> 1 +0000\n\nundo\n\nOrch-Undo: ${undo}\n`;
const hook = (tool: object) =>
  JSON.stringify({ session_id: 's', cwd: '/r', hook_event_name: 'PostToolUse', ...tool });
const live = (more: object) =>
  JSON.stringify({ session: 'sess-abcd', epic: 'x', kind: 'supervised', command: null, since: 1, ...more });
const flood = (unit: string) => unit.repeat(Math.ceil(200_000 / unit.length));

/** A whole document with something more in one of its objects. */
const forged = (object: string, more: string) =>
  String(samples[0]).replace(`"${object}":{`, `"${object}":{${more},`);

export const seeds: readonly Seed[] = [
  {
    target: 'spec',
    found: 'the lines before each of many mistakes were counted again',
    input: `tasks:\n${'  - id: core\n'.repeat(20_000)}`,
  },
  {
    target: 'spec checkpoint',
    found: 'bytes in a YAML text were written back as a text',
    input: `checkpoint:\n  branch: main\n  last_batch: 2\n  last_commit: "${'1'.repeat(40)}"\n  tasks: {completed: [], in_progress: [], pending: []}\n  deferred_issues: []\n  mine: !!binary \n`,
  },
  {
    target: 'ORCHESTRATION.yaml',
    found: 'braces that do not begin in the first column were taken for a lost line',
    input: '  {toString: 1, valueOf: 1}',
  },
  { target: 'document', found: 'a number that no JSON can hold', input: '{"format":1,"costUsd":1e999}' },

  {
    target: 'document',
    found: 'a list of a later orch without stamps',
    input: forged('state', '"later":{"a":1}'),
  },
  { target: 'document', found: 'a list that zod passes over', input: forged('state', '"__proto__":{"a":1}') },
  { target: 'document', found: 'an entry that zod passes over', input: forged('notes', '"__proto__":1') },

  { target: 'journal', found: 'a fact without a kind', input: journal(`{"at":1,"fact":{}}`) },
  { target: 'journal', found: 'no fact at all', input: journal(`{"at":1,"fact":null}`) },
  { target: 'journal', found: 'a kind that is no text', input: journal(`{"at":1,"fact":{"kind":5}}`) },
  {
    target: 'journal',
    found: 'a note without its text',
    input: journal('{"at":1,"fact":{"kind":"note","id":"n"}}'),
  },
  { target: 'journal', found: 'a time that never comes', input: journal(`{"at":1e999,"fact":${note}}`) },
  { target: 'journal', found: 'a time that is no number', input: journal(`{"at":"x","fact":${note}}`) },
  {
    target: 'journal',
    found: 'a session that is not counted',
    input: journal(
      '{"at":1,"fact":{"kind":"session_started","number":1.5,"agent":null,"parentSessionId":null}}',
    ),
  },
  {
    target: 'journal',
    found: 'a budget that is no money',
    input: journal('{"at":1,"fact":{"kind":"current_set","key":"budget","value":-1}}'),
  },
  {
    target: 'journal',
    found: 'a value nested so deep that its document could not be read',
    input: journal(`{"at":1,"fact":{"kind":"current_set","key":"k","value":${deep}}}`),
  },
  {
    target: 'journal',
    found: 'a group that cannot be made a number',
    input: journal(
      `{"group":"g","left":{"valueOf":1,"toString":1},"at":1,"fact":${note}}`,
      `{"group":"g","left":1,"at":1,"fact":${note}}`,
    ),
  },
  {
    target: 'journal',
    found: 'an epic that cannot be made a text',
    input: header.replace('"x"', '{"toString":1,"valueOf":1}'),
  },

  { target: 'message', found: 'a session without a number', input: message('sess-efgh x') },
  { target: 'commit', found: 'an undo that is no JSON', input: commit('{"epic":"x",}') },
  { target: 'commit', found: 'an undo of no epic', input: commit('{"place":null}') },
  {
    target: 'ref name',
    found: 'an undo of a number without end',
    input: `refs/orchestration-local/undo/main/${'9'.repeat(400)}`,
  },

  {
    target: 'hook call',
    found: 'a status that every object inherits',
    input: hook({ tool_name: 'TaskUpdate', tool_input: { taskId: '1', status: 'constructor' } }),
  },
  {
    target: 'hook call',
    found: 'a path that is too long to be kept',
    input: hook({ tool_name: 'Write', tool_input: { file_path: 'x'.repeat(1_100) } }),
  },

  { target: 'project files', found: 'lines without end, by a pattern', input: `test\n[${flood('\n')}` },
  { target: 'project files', found: 'a line without end', input: `test${flood(' ')}` },
  {
    target: 'project files',
    found: 'a package manager that cannot be made a text',
    input: '{"packageManager":{"toString":1,"valueOf":1}}',
  },
  {
    target: 'ORCHESTRATION.yaml',
    found: 'a comment that a pattern takes apart in every way',
    input: `resumption: { ${'#a '.repeat(40)}\n tier: LOW }\n`,
  },
  {
    target: 'spec checkpoint',
    found: 'a word of another tool that was lost',
    input:
      'checkpoint:\n  branch: main\n  last_batch: 1\n  last_commit: null\n  tasks: {completed: []}\n  deferred_issues:\n    - {batch: 1, severity: low, description: x, location: null, owner: me}\n',
  },
  {
    target: 'spec checkpoint',
    found: 'a commit that cannot be made a text',
    input: 'checkpoint: {last_commit: {toString: 1, valueOf: 1}}\n',
  },
  { target: 'ORCHESTRATION.yaml', found: 'nothing but mistakes', input: `${flood(']')}\na: 1\n` },
  { target: 'test output', found: 'lines without end', input: `Tests ${flood(' ')}\n${flood('\n')}` },
  {
    target: 'redaction',
    found: 'a connection string could be parted in many ways, and all were tried',
    input: `jdbc:mysql://h/db?user=a&pas${'sql://h/db?user=a&pas'.repeat(45)}`,
  },
  {
    target: 'redaction',
    found: 'a password in an address right behind another',
    input: `https://user:p4ss${'w0rdX9'}@h:https://user:p4ss${'w0rdY8'}@g`,
  },
  { target: 'text', found: 'spaces without end', input: `a${flood(' ')}b` },
  { target: 'remote words', found: 'an address without end', input: `remote: ${flood('a')}` },

  {
    target: 'codex config',
    found: 'settings that are too large to be read with orch in them',
    input: `notify = ["${'a'.repeat(800_000)}"]\n`,
  },
  {
    target: 'claude settings',
    found: 'settings that are too large to be read with orch in them',
    input: JSON.stringify({ statusLine: { type: 'command', command: 'a'.repeat(800_000) } }),
  },
  {
    target: 'codex hooks',
    found: 'settings that are too large to be read with orch in them',
    input: JSON.stringify({ a: 'a'.repeat(1024 * 1024 - 100) }),
  },

  { target: 'live record', found: 'no holder', input: live({}) },
  { target: 'live record', found: 'a holder that is nothing', input: live({ holder: null }) },
  { target: 'stop request', found: 'a wish nobody has', input: '{"want":"x","reason":5}' },
  { target: 'agent link', found: 'a link without its sessions', input: '{"session":"sess-abcd","epic":"x"}' },
  { target: 'writer file', found: 'a path that is none', input: '{"id":"w-a","machine":"m","path":true}' },
  {
    target: 'writer file',
    found: 'a path nothing can have',
    input: JSON.stringify({ id: 'w-a', machine: 'm', path: `/${'a'.repeat(300)}` }),
  },
  {
    target: 'writer file',
    found: 'a path with a NUL',
    input: '{"id":"w-a","machine":"m","path":"/a\\u0000b"}',
  },
  {
    target: 'held budget',
    found: 'a budget below nothing',
    input: '{"limit":-5,"stamp":[1794823200000,"w-abcd",3]}',
  },
  {
    target: 'hook faults',
    found: 'a count without end',
    input: '[{"at":"2026-11-16T10:00:00Z","agent":"claude","event":"stop","message":"no","count":1e999}]',
  },
  { target: 'lost snapshots', found: 'a line that is nothing', input: 'null\n{}\n' },
  {
    target: 'config cache',
    found: 'settings that are none',
    input: '{"/x/.orchestration/config.yaml":{"sum":"x","state":{},"config":{}}}',
  },
];
