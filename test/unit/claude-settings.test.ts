import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import {
  addOrch,
  readChainedStatusLine,
  readOwnEntries,
  removeOrch,
} from '../../src/agents/claude/claude-settings.ts';
import { wrapToolHook } from '../../src/agents/claude/tool-hook-line.ts';
import { readOwnLine, readOwnProgram } from '../../src/agents/orch-command.ts';
import { listOwnLines } from '../../src/agents/settings/hook-entries.ts';
import { makeFolder } from '../support/repository.ts';

const local = { command: ['/opt/orch/bin/orch'], shared: false, version: '2.1.325' };
const shared = { ...local, shared: true };

function add(text: string | null, options: Parameters<typeof addOrch>[1] = local): string {
  const result = addOrch(text, options);
  if ('problem' in result) throw new Error(result.problem);
  return result.text;
}

function remove(text: string): string | null {
  const result = removeOrch(text);
  if ('problem' in result) throw new Error(result.problem);
  return result.text;
}

/** The arguments a shell would start our status line with. */
function argumentsOf(text: string): string[] {
  const line: string = JSON.parse(text).statusLine.command;
  return execFileSync('sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

const theirs = `{
  "permissions": {"allow": ["Bash(ls)",  "Read"]},
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine.sh"}]}
    ],
    "Elicitation": []
  },
  "statusLine": { "type": "command",
     "command": "echo 'it''s \\"mine\\"' | cat", "padding": 0 },
  "x-unknown": 1.50
}
`;

const commented = `// Settings of this clone
{
  "permissions": {
    "allow": [
      "Bash(ls)", // harmless
    ], /* more
          to come */
  },
  "hooks": {
    // Nothing before tools.
    "Stop": [
      {"hooks": [{"type": "command", "command": "./mine.sh"}]} // mine
      // , {"hooks": []}
    ]
    /* "SessionEnd": [] */
  },
  "model": "opus" // the large one
  // "theme": "dark"
}
`;

/** What an orch wrote that was started at every tool call. */
function writtenBefore(text: string): string {
  const settings = JSON.parse(text);
  const { command } = settings.hooks.Stop[0].hooks[0];
  for (const groups of Object.values<{ hooks: { command: string }[] }[]>(settings.hooks))
    for (const hook of groups.flatMap(({ hooks }) => hooks)) hook.command = command;
  return JSON.stringify(settings, null, 2);
}

describe('the line of a tool call', () => {
  it.each([
    ['local', local],
    ['shared', shared],
    ['with a strange path', { ...local, command: ['/usr/bin/node', '/it\'s a; }; o "$(place)"/orch.js'] }],
  ])('%s: replaces that of an older orch, is known as ours, and is taken out', (_, options) => {
    const text = add(null, options);
    expect(add(`${writtenBefore(text)}\n`, options)).toBe(text);
    expect(add(text, options)).toBe(text);
    expect(remove(text)).toBeNull();
    const lines = listOwnLines(text, 'claude');
    expect(lines).toHaveLength(2);
    const program = options.shared ? null : options.command;
    expect(lines.map(readOwnProgram)).toEqual([program, program]);
  });

  it('is not ours where anything in it was changed', () => {
    const line = wrapToolHook('/opt/orch/bin/orch hook claude');
    expect(readOwnLine(line)).toEqual(['hook', 'claude']);
    for (const other of [
      `${line}; x`,
      line.replace('hook claude', 'hook claude; x'),
      line.replace('-lt', '-gt'),
    ])
      expect(readOwnLine(other)).toBeNull();
  });
});

describe('orch in the settings of Claude Code', () => {
  it('is a new file where there was none, and no file when it is taken out', () => {
    const text = add(null);
    const settings = JSON.parse(text);
    expect(Object.keys(settings.hooks)).toEqual([
      'SessionStart',
      'UserPromptSubmit',
      'PreToolUse',
      'PostToolUse',
      'PostToolUseFailure',
      'PermissionRequest',
      'Notification',
      'SubagentStop',
      'PreCompact',
      'PostCompact',
      'Stop',
      'StopFailure',
      'SessionEnd',
    ]);
    expect(settings.hooks.Stop).toEqual([
      { hooks: [{ type: 'command', command: '/opt/orch/bin/orch hook claude', timeout: 30 }] },
    ]);
    expect(settings.statusLine).toEqual({ type: 'command', command: '/opt/orch/bin/orch statusline' });
    expect(text).toBe(`${JSON.stringify(settings, null, 2)}\n`);
    expect(remove(text)).toBeNull();
  });

  it('stands beside what is there, whose status line goes on', () => {
    const text = add(theirs);
    const { hooks, statusLine, ...rest } = JSON.parse(text);
    expect(rest).toEqual({ permissions: { allow: ['Bash(ls)', 'Read'] }, 'x-unknown': 1.5 });
    expect(hooks.PreToolUse).toHaveLength(2);
    expect(hooks.PreToolUse[0].hooks[0].command).toBe('./mine.sh');
    expect(hooks.Elicitation).toEqual([]);
    expect(statusLine).toMatchObject({ type: 'command', padding: 0 });
    expect(readChainedStatusLine(argumentsOf(text))).toEqual({
      command: JSON.parse(theirs).statusLine.command,
    });
    expect(text).toContain('{"allow": ["Bash(ls)",  "Read"]}');
    expect(remove(text)).toBe(theirs);
  });

  it.each([
    theirs,
    theirs.replaceAll('\n', '\r\n'),
    theirs.replaceAll('  ', '\t'),
    `\uFEFF${theirs}`,
    theirs.trimEnd(),
    '{}',
    '{}\n',
    '{\n}\n',
    ' { } ',
    '{"a":1}',
    '{"hooks":{}}',
    '{"hooks": {\n}, "statusLine": null}',
    '{"hooks": {"Stop": []}}',
    '{\n  "hooks": {\n    "Stop": [\n    ]\n  }\n}',
    '{"hooks": {"Stop": [{"hooks": []}, {"matcher": "x", "hooks": [ ]}]}}',
    '{"hooks": {"Stop": ["odd", 7, null, {}]}, "statusLine": "odd"}',
    '{"statusLine": {"type": "command", "command": "orch statusline | tr a b"}}',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "orch hook claude; true"}]}]}}',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "orchestra hook claude"}]}]}}',
    commented,
    commented.replaceAll('\n', '\r\n'),
    '{"a": 1,}',
    '{"a": 1 /* one */ , // two\n}',
    '// mine\n{\n}\n// end',
    '{ // nothing yet\n}',
    '{"hooks": {"Stop": [ /* none */ ], /* none */},}',
    '{"statusLine": {"type": "command", // mine\n"command": "x",}}',
  ])('adding and taking out leaves the very same bytes: %j', (text) => {
    for (const options of [local, shared, { ...local, version: null }]) {
      const added = add(text, options);
      expect(add(added, options)).toBe(added);
      expect(remove(added)).toBe(text);
    }
    expect(remove(text)).toBe(text);
  });

  it('stands behind comments, each of which stays where it was', () => {
    const text = add(commented);
    for (const [comment] of commented.matchAll(/\/\/.*|\/\*[\s\S]*?\*\//g)) expect(text).toContain(comment);
    expect(text).toContain('"model": "opus", // the large one\n  // "theme": "dark"\n  "statusLine": {');
    expect(text).toContain('"./mine.sh"}]}, // mine\n      // , {"hooks": []}\n      {\n');
    const { hooks, model } = parse(text);
    expect(model).toBe('opus');
    expect(hooks.Stop).toHaveLength(2);
    expect(Object.keys(hooks)).toHaveLength(13);
  });

  it('replaces an older one, and keeps what it had chained', () => {
    const older = add(theirs, {
      ...local,
      command: ['/usr/bin/node', "/old place/it's/bin/orch.js"],
      version: null,
    });
    const text = add(older);
    expect(text).toBe(add(theirs));
    expect(text).not.toContain('/old');
    expect(remove(text)).toBe(theirs);
    expect(add(add(theirs, shared))).toBe(add(theirs));
    expect(add(add(theirs), shared)).toBe(add(theirs, shared));
  });

  it('is taken out though others rewrote the file and added to it', () => {
    const settings = JSON.parse(add(theirs));
    settings.hooks.Stop.push({ hooks: [{ type: 'command', command: 'mine' }] });
    settings.hooks.SessionEnd[0].hooks.push({ type: 'command', command: 'mine too' });
    settings.later = true;
    for (const step of [0, 2, 4]) {
      const rewritten = remove(JSON.stringify(settings, null, step)) ?? '';
      expect(JSON.parse(rewritten)).toMatchObject({ 'x-unknown': 1.5, later: true });
      expect(JSON.parse(rewritten).statusLine).toEqual(JSON.parse(theirs).statusLine);
      expect(JSON.parse(rewritten).hooks.Stop).toEqual([{ hooks: [{ type: 'command', command: 'mine' }] }]);
      expect(JSON.parse(rewritten).hooks.SessionEnd[0].hooks).toHaveLength(1);
      expect(rewritten).not.toContain('orch');
    }
  });

  it('changes nothing where all is there, wherever others put their own since', () => {
    const settings = JSON.parse(add(null));
    const text = JSON.stringify({ ...settings, later: true }, null, 2);
    expect(add(text)).toBe(text);
  });

  it('names only events the version knows: one unknown makes Claude Code skip the file', () => {
    const eventsOf = (options: typeof local | { version: string | null }) =>
      Object.keys(JSON.parse(add(null, { ...local, ...options })).hooks);
    for (const old of [null, 'what', '1.0.90', '2.0.44']) expect(eventsOf({ version: old })).toHaveLength(9);
    for (const old of ['2.1.75 (Claude Code)', '2.0.99']) expect(eventsOf({ version: old })).toHaveLength(10);
    expect(eventsOf({ version: '2.1.76 (Claude Code)' })).toContain('PostCompact');
    expect(eventsOf({ version: '2.1.76' })).not.toContain('StopFailure');
    for (const fresh of ['2.1.78', '2.2.0', '3.0.0']) expect(eventsOf({ version: fresh })).toHaveLength(13);
    expect(eventsOf(shared)).toEqual(eventsOf(local));
    // Whoever hooks into this one has to make the worktree.
    expect(eventsOf({ ...local, version: '99.0.0' })).not.toContain('WorktreeCreate');
  });

  it('is refused, with a reason, where the settings are not what they should be', () => {
    for (const [text, problem] of [
      ['', /empty/],
      [' \n', /empty/],
      ['{\n  "a": 1,,\n}', /line 2, column 10 is not valid JSON/],
      ['{"a": 1 /* mine }', /line 1, column 9 is not valid JSON/],
      ['{"a": \'x\'}', /line 1, column 7 is not valid JSON/],
      ['{', /not valid JSON/],
      ['[]', /not a JSON object/],
      ['null', /not a JSON object/],
      ['{"hooks": []}', /hooks are not an object/],
      ['{"hooks": {"Stop": {}}}', /Stop are not a list/],
      ['{"hooks": {}, // one\n  "hooks": {}}', /hooks twice, the second time at line 2, column 3/],
      ['{"hooks": {"Stop": [], "Stop": []}}', /Stop twice, the second time at line 1, column 24/],
      [`{"a": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`, /nested too deeply/],
      [`{"a": "${'x'.repeat(2 ** 20)}"}`, /too large/],
    ] as const)
      expect(addOrch(text, local)).toEqual({ problem: expect.stringMatching(problem) });
    expect(removeOrch('{"a": 1,,}')).toEqual({ problem: expect.stringMatching(/not valid JSON/) });
  });

  it('has no status line and no path in what a team shares', () => {
    const text = add(theirs, shared);
    expect(text).not.toContain('/opt');
    expect(JSON.parse(text).statusLine).toEqual(JSON.parse(theirs).statusLine);
  });

  it('is called through a real shell as it should be, whatever its path', () => {
    const folder = join(makeFolder(), `a 'b" $c;d`);
    mkdirSync(folder);
    const program = join(folder, 'orch');
    writeFileSync(program, '#!/bin/sh\nprintf "%s|" "$@"; cat; exit 3\n');
    chmodSync(program, 0o755);
    const run = (line: string, path: string) =>
      spawnSync('/bin/sh', ['-c', line], { encoding: 'utf8', input: 'in', env: { PATH: path } });
    const lineOf = (options: Parameters<typeof addOrch>[1]) =>
      JSON.parse(add(null, options)).hooks.Stop[0].hooks[0].command;

    const direct = run(lineOf({ ...local, command: [program] }), '/usr/bin:/bin');
    expect(direct).toMatchObject({ stdout: 'hook|claude|in', stderr: '', status: 3 });
    expect(run(lineOf(shared), '/nonexistent')).toMatchObject({ stdout: '', stderr: '', status: 0 });
    const guarded = run(lineOf(shared), `${folder}:/usr/bin:/bin`);
    expect(guarded).toMatchObject({ stdout: 'hook|claude|in', stderr: '', status: 0 });
  });

  it.each([[[]], [['--then=']], [['--then=%%%']], [['--then=bnVsbA']], [['statusline']]])(
    'chains nothing where there is nothing to chain: %j',
    (args) => {
      expect(readChainedStatusLine(args)).toBeNull();
    },
  );

  it('runs the status line of other settings that it hides, and does not leave it here', () => {
    const inheritedStatusLine = '{"type": "command", "command": "echo theirs", "padding": 2}';
    const options = { ...local, inheritedStatusLine };
    for (const before of [null, '{"a": 1}\n', theirs.replace('statusLine', 'other')]) {
      const text = add(before, options);
      expect(readChainedStatusLine(argumentsOf(text))).toEqual({ command: 'echo theirs' });
      expect(JSON.parse(text).statusLine.padding).toBe(2);
      expect(add(text, options)).toBe(text);
      expect(remove(text)).toBe(before);
      const later = add(text, { ...local, inheritedStatusLine: null });
      expect(readChainedStatusLine(argumentsOf(later))).toBeNull();
    }
    // The one in the file itself comes first.
    expect(readChainedStatusLine(argumentsOf(add(theirs, options)))?.command).toContain('mine');
    expect(remove(add(theirs, options))).toBe(theirs);
  });

  it('is only the status line where other settings have the hooks', () => {
    const options = { ...local, isHookedElsewhere: true };
    for (const before of [null, '{"a": 1}\n', theirs]) {
      const text = add(before, options);
      expect(readOwnEntries(text)).toMatchObject({ hooks: 0, hasStatusLine: true });
      expect(add(add(before), options)).toBe(text);
      expect(add(text, options)).toBe(text);
      expect(remove(text)).toBe(before);
    }
  });
});
