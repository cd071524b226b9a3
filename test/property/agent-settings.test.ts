import fc from 'fast-check';
import { type ParseError, parse } from 'jsonc-parser';
import { expect, it } from 'vitest';
import { addOrch, removeOrch } from '../../src/agents/claude/claude-settings.ts';
import * as codexHooks from '../../src/agents/codex/codex-hooks.ts';
import * as tools from '../../src/agents/settings/plugin-and-tools.ts';

const word = fc.constantFrom('a', 'hooks', 'statusLine', 'Stop', 'é"\\', '', 'command');
const line = fc.constantFrom(
  'mine',
  'orch hook claude',
  '/x/orch hook codex',
  "'/a b/orch' statusline",
  'orch x | y',
);
const handler = fc.oneof(
  fc.record({ type: fc.constant('command'), command: line }),
  fc.jsonValue({ maxDepth: 1 }),
);
const group = fc.oneof(
  fc.record(
    { matcher: fc.constantFrom('', 'Bash'), hooks: fc.array(handler, { maxLength: 2 }) },
    { requiredKeys: [] },
  ),
  fc.jsonValue({ maxDepth: 1 }),
);
const event = fc.constantFrom('Stop', 'PreToolUse', 'SessionEnd', 'Other');
const settings = fc
  .tuple(
    fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    fc.record(
      {
        hooks: fc.dictionary(event, fc.array(group, { maxLength: 2 }), { maxKeys: 3 }),
        statusLine: fc.oneof(handler, fc.constant(null)),
      },
      { requiredKeys: [] },
    ),
    fc.boolean(),
  )
  .map(([some, own, isFirst]) => {
    const { hooks: _, ...rest } = some;
    return isFirst ? { ...own, ...rest, ...own } : { ...rest, ...own };
  });

/** The same value, with the white space, comments and trailing commas that others may have put in. */
function writeLoosely(value: unknown, gaps: Iterator<string>): string {
  const gap = () => String(gaps.next().value ?? '');
  const trail = () => (gap().includes('/') ? `${gap()},` : '');
  if (Array.isArray(value))
    return `[${gap()}${value.map((one) => writeLoosely(one, gaps)).join(`${gap()},${gap()}`)}${value.length > 0 ? trail() : ''}${gap()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}${gap()}:${gap()}${writeLoosely(one, gaps)}`,
  );
  return `{${gap()}${members.join(`${gap()},${gap()}`)}${members.length > 0 ? trail() : ''}${gap()}}`;
}

const gaps = fc.infiniteStream(
  fc.constantFrom('', '', ' ', '\n', '\n  ', '\r\n\t', ' // "a": {,\n', '/* [ */', '\n//\r\n  '),
);
const file = fc
  .tuple(settings, gaps, fc.constantFrom('', '\n', '\uFEFF'))
  .map(([value, gaps, around]) =>
    around === '\uFEFF' ? around + writeLoosely(value, gaps) : writeLoosely(value, gaps) + around,
  );
const options = fc.record({
  command: fc.constantFrom(['/opt/orch'], ['/usr/bin/node', "/it's here/orch.js"]),
  shared: fc.boolean(),
  version: fc.constantFrom(null, '2.1.325'),
  isHookedElsewhere: fc.boolean(),
  inheritedStatusLine: fc.constantFrom(null, '{"type": "command", "command": "x", "padding": 1}', '{}'),
});

type Edited = { readonly text: string | null } | { readonly problem: string };

function textOf(edited: Edited): string {
  if ('problem' in edited) throw new Error(edited.problem);
  return edited.text ?? '(none)';
}

/** What the user has without any orch in it: the start of all that follows. */
it.each([
  ['Claude Code', addOrch, removeOrch],
  ['Codex', codexHooks.addOrch, codexHooks.removeOrch],
])(
  'taking orch out of settings of %s leaves what was there before, and adding it twice is adding it once',
  (_, add, remove) => {
    fc.assert(
      fc.property(file, options, options, (text, first, second) => {
        const clean = remove(text);
        // Somebody may have had an orch already, and nothing else.
        fc.pre(!('problem' in clean) && clean.text !== null);
        const mine = textOf(clean);
        const added = textOf(add(mine, first));
        expect(textOf(remove(added))).toBe(mine);
        expect(textOf(add(added, first))).toBe(added);
        expect(textOf(add(added, second))).toBe(textOf(add(mine, second)));
        expect(textOf(remove(mine))).toBe(mine);
        const errors: ParseError[] = [];
        parse(added.replace('\uFEFF', ''), errors, { allowTrailingComma: true });
        expect(errors).toEqual([]);
      }),
      { numRuns: 150 },
    );
  },
);

const tomlLine: fc.Arbitrary<string> = fc.constantFrom(
  '',
  '# notify = ["x"]',
  'a = 1',
  'b.c = "notify = []" # x',
  'd = """\n[t]\nnotify = [1]\n"""',
  "e = [ # x\n  'y', ]",
  'f = { g = [1] }',
);
const toml = fc
  .record({
    top: fc.uniqueArray(tomlLine, { maxLength: 4 }),
    notify: fc.constantFrom(null, 'notify = ["x", \'y\']', '"notify"=[\n"z" # c\n,]', 'notify = []'),
    at: fc.nat(4),
    tables: fc.uniqueArray(fc.constantFrom('[t]', '[[u."v.w"]]', 'notify = "x"', '# end', ''), {
      maxLength: 3,
    }),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    last: fc.boolean(),
  })
  .map(({ top, notify, at, tables, lineEnd, last }) => {
    const lines = notify === null ? top : top.toSpliced(at, 0, notify);
    const below = tables.length > 0 && !tables[0]?.startsWith('[') ? ['[first]', ...tables] : tables;
    return [...lines, ...below].join('\n').replaceAll('\n', lineEnd) + (last ? lineEnd : '');
  });

const names = fc.constantFrom('Bash', 'mcp__other', 'é"\\');
const answered = fc
  .tuple(
    fc.record(
      {
        permissions: fc.record(
          { allow: fc.array(names, { maxLength: 2 }), deny: fc.array(names, { maxLength: 2 }) },
          { requiredKeys: [] },
        ),
        enabledMcpjsonServers: fc.array(names, { maxLength: 2 }),
        other: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: [] },
    ),
    gaps,
  )
  .map(([value, gaps]) => writeLoosely(value, gaps));

it('what lets Claude Code use the tools is taken out with the hooks, and leaves what was there before', () => {
  fc.assert(
    fc.property(answered, options, (mine, given) => {
      const added = textOf(tools.allowTools(textOf(addOrch(mine, given))));
      expect(tools.allowsTools(added)).toBe(true);
      expect(textOf(tools.allowTools(added))).toBe(added);
      expect(textOf(removeOrch(tools.disallowTools(added) ?? ''))).toBe(mine);
      expect(tools.disallowTools(mine)).toBe(mine);
    }),
    { numRuns: 200 },
  );
});

it("taking orch's server out of a configuration of Codex leaves what was there before", () => {
  fc.assert(
    fc.property(toml, options, options, (text, { command }, other) => {
      const start = { command, variables: ['A', 'B'] };
      const added = textOf(tools.addServer(text, start));
      expect(tools.hasServer(added)).toBe(true);
      expect(tools.removeServer(added)).toBe(text);
      expect(textOf(tools.addServer(added, start))).toBe(added);
      const moved = { ...start, command: other.command };
      expect(textOf(tools.addServer(added, moved))).toBe(textOf(tools.addServer(text, moved)));
    }),
    { numRuns: 300 },
  );
});
