import { describe, expect, it } from 'vitest';
import { addOrch, readChainedNotify, removeOrch } from '../../src/integration/codex-config.ts';
import * as codexHooks from '../../src/integration/codex-hooks.ts';
import { readStrings, readToml } from '../../src/integration/toml-text.ts';

const local = { command: ['/opt/orch/bin/orch'] };

function add(text: string | null, options = local): string {
  const result = addOrch(text, options);
  if ('problem' in result) throw new Error(result.problem);
  return result.text;
}

function remove(text: string): string | null {
  const result = removeOrch(text);
  if ('problem' in result) throw new Error(result.problem);
  return result.text;
}

function notifyOf(text: string): string[] | null {
  const entries = readToml(text);
  const notify = 'problem' in entries ? null : entries.find(({ key }) => key === 'notify');
  return notify ? readStrings(text.slice(notify.valueStart, notify.valueEnd)) : null;
}

const theirs = `#:schema https://example.com/schema.json
model = "o # no comment"   # a comment
"quoted key" = 'C:\\dir'
dotted . key = { a = 1, "b c" = [1, 2,], d = { e = '''x''' } }
when = 1979-05-27 07:32:00Z
text = """
[no table]
notify = ["no"] \\"""
"""
[tui]
notify = "mine"
[[list."a.b"]]
x = [ # one
  "a]", # two
]
`;
const withNotify = `notify = [ # mine
  "python3", '/home/me/n.py',
  "a\\tb\\u00e9\\U0001F600",
]
${theirs}`;

describe('orch as the notify program of Codex', () => {
  it('is a new file where there was none', () => {
    expect(add(null)).toBe('notify = ["/opt/orch/bin/orch", "hook", "codex"]\n');
    expect(remove(add(null))).toBeNull();
  });

  it('stands before any table, behind the last key', () => {
    const text = add(theirs);
    expect(text).toBe(theirs.replace('\n[tui]', '\nnotify = ["/opt/orch/bin/orch", "hook", "codex"]\n[tui]'));
    expect(notifyOf(text)).toEqual(['/opt/orch/bin/orch', 'hook', 'codex']);
    expect(add('[tui]\n')).toBe('notify = ["/opt/orch/bin/orch", "hook", "codex"]\n[tui]\n');
  });

  it("runs the user's own too", () => {
    const words = notifyOf(add(withNotify)) ?? [];
    expect(words.slice(0, 3)).toEqual(['/opt/orch/bin/orch', 'hook', 'codex']);
    expect(readChainedNotify([...words.slice(1), '{"type":"agent-turn-complete"}'])).toEqual([
      'python3',
      '/home/me/n.py',
      'a\tbé😀',
    ]);
    expect(readChainedNotify(['hook', 'codex'])).toBeNull();
    expect(readChainedNotify(notifyOf(add('notify = []')) ?? [])).toBeNull();
  });

  it.each([
    theirs,
    withNotify,
    theirs.replaceAll('\n', '\r\n'),
    withNotify.replaceAll('\n', '\r\n'),
    `\uFEFF${theirs}`,
    theirs.trimEnd(),
    '',
    '\n',
    '\uFEFF',
    '# only\n',
    'a = 1',
    'a = 1\n',
    'a = 1 # c',
    '[t]',
    'notify = []\n',
    "notify=['orchestra','hook','codex']",
    '"notify" = ["x"] # mine\n',
  ])('adding and taking out leaves the very same bytes: %j', (text) => {
    const added = add(text);
    expect(notifyOf(added)?.slice(0, 3)).toEqual(['/opt/orch/bin/orch', 'hook', 'codex']);
    expect(add(added)).toBe(added);
    expect(remove(added)).toBe(text);
    expect(remove(text)).toBe(text);
  });

  it('replaces an older one, and keeps what it had chained', () => {
    for (const text of [theirs, withNotify]) {
      const older = add(text, { command: ['/usr/bin/node', `/old "place"/\\bin/orch.js`] });
      expect(add(older)).toBe(add(text));
      expect(remove(older)).toBe(text);
    }
  });

  it.each([
    ['a = \n', /line 1 /],
    ['a = 1\nb\n', /line 2 /],
    ['a = "x\n"\n', /line 1 /],
    ['a = [1, 2\n', /line 1 /],
    ['a = [1 2]\n', /line 1 /],
    ['a = 1 b = 2\n', /line 1 /],
    ['[t\n', /line 1 /],
    ['a = """x\n', /line 1 /],
    ['a = { b }\n', /line 1 /],
    ['<<<<<<< HEAD\n', /line 1 /],
    ['a = 1\rb = 2', /carriage returns/],
    ['notify = "x"\n', /no list of texts/],
    ['notify = [1]\n', /no list of texts/],
    ['notify = ["\\q"]\n', /no list of texts/],
    ['notify = []\nnotify = []\n', /twice/],
    [`a = ${'['.repeat(100_000)}`, /line 1 /],
    [`a = "${'x'.repeat(2 ** 20)}"`, /too large/],
  ])('is refused where the file is not what it should be: %.40j', (text, problem) => {
    expect(addOrch(text, local)).toEqual({ problem: expect.stringMatching(problem) });
  });
});

describe('orch in the hooks of Codex', () => {
  const options = { ...local, shared: false };

  it('are added behind those that are there, and taken out again', () => {
    const mine =
      '{"description": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n';
    for (const text of [mine, '{}', null]) {
      const added = codexHooks.addOrch(text, options);
      if ('problem' in added) throw new Error(added.problem);
      const { hooks } = JSON.parse(added.text);
      expect(Object.keys(hooks)).toHaveLength(8);
      expect(hooks.SessionEnd[0].hooks[0].timeout).toBe(3);
      expect(hooks.Stop.at(-1).hooks[0].command).toBe('/opt/orch/bin/orch hook codex');
      expect(hooks.Stop).toHaveLength(text === mine ? 2 : 1);
      expect(codexHooks.addOrch(added.text, options)).toEqual(added);
      expect(codexHooks.removeOrch(added.text)).toEqual({ text });
    }
    expect(codexHooks.addOrch('{,}', options)).toHaveProperty('problem');
    expect(codexHooks.removeOrch('{,}')).toHaveProperty('problem');
  });
});
