import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { setYamlValues } from '../../src/config/yaml/yaml-edit.ts';

const values = { id: '41-k3', fill: 0.5, tier: 'LOW', at: null };

function edit(text: string, set: Parameters<typeof setYamlValues>[2] = values): string {
  const result = setYamlValues(text, 'state', set);
  if ('problem' in result) throw new Error(result.problem);
  return result.text;
}

describe('setting values in a YAML text', () => {
  it.each<[what: string, before: string, after: string]>([
    [
      'plain, quoted and missing values, comments and blank lines',
      "# top\nstate:   # here\n\n  # the id\n  id: 'x'   # old\n  tier: WARNING\n  other: [1,  2]\n\nlast: |+\n  a\n\n",
      "# top\nstate:   # here\n  fill: 0.5\n  at: null\n\n  # the id\n  id: '41-k3'   # old\n  tier: LOW\n  other: [1,  2]\n\nlast: |+\n  a\n\n",
    ],
    [
      'no final newline',
      'a: 1\nstate:\n    id: "x"',
      'a: 1\nstate:\n    fill: 0.5\n    tier: "LOW"\n    at: null\n    id: "41-k3"',
    ],
    ['no section', 'a: 1\n', 'a: 1\nstate:\n  id: "41-k3"\n  fill: 0.5\n  tier: "LOW"\n  at: null\n'],
    [
      'no section, no final newline',
      'a:\n   b: 1',
      'a:\n   b: 1\nstate:\n   id: "41-k3"\n   fill: 0.5\n   tier: "LOW"\n   at: null',
    ],
    ['an empty text', '', 'state:\n  id: "41-k3"\n  fill: 0.5\n  tier: "LOW"\n  at: null\n'],
    [
      'nothing but a comment',
      '# x\n',
      '# x\nstate:\n  id: "41-k3"\n  fill: 0.5\n  tier: "LOW"\n  at: null\n',
    ],
    [
      'an empty section with Windows line ends and a BOM',
      '\uFEFFstate: # none\r\nb: 2\r\n',
      '\uFEFFstate: # none\r\n  id: "41-k3"\r\n  fill: 0.5\r\n  tier: "LOW"\r\n  at: null\r\nb: 2\r\n',
    ],
    [
      'a section that is null',
      'state: null # c\n',
      'state:  # c\n  id: "41-k3"\n  fill: 0.5\n  tier: "LOW"\n  at: null\n',
    ],
    [
      'empty values',
      'state:\n  id:\n  fill:   # c\n  tier:\n  at:\n',
      'state:\n  id: "41-k3"\n  fill: 0.5   # c\n  tier: "LOW"\n  at:\n',
    ],
    [
      'flow style',
      'state: {id: 1, tier: , x: [a]} # c\n',
      'state: {fill: 0.5, at: null, id: "41-k3", tier: "LOW" , x: [a]} # c\n',
    ],
    [
      'spaced flow style, a key alone',
      'state: { tier, id: "a" }\n',
      'state: { fill: 0.5, at: null, tier: "LOW", id: "41-k3" }\n',
    ],
    ['an empty flow section', 'state: {}\n', 'state: {id: "41-k3", fill: 0.5, tier: "LOW", at: null}\n'],
    ['JSON', '{"a": 1}', '{state: {id: "41-k3", fill: 0.5, tier: "LOW", at: null}, "a": 1}'],
    [
      'an alias as a value',
      'x: &x 7\nstate: {id: *x, fill: 0.5, tier: LOW, at: ~}\n',
      'x: &x 7\nstate: {id: "41-k3", fill: 0.5, tier: LOW, at: ~}\n',
    ],
    [
      'an anchor nobody refers to',
      'state: {id: &x 7, fill: 0.5, tier: LOW, at: ~}\n',
      'state: {id: &x "41-k3", fill: 0.5, tier: LOW, at: ~}\n',
    ],
    [
      'tabs beside values',
      'state:\n  id:\t"a"\t# c\n  fill: 0.5\n  tier: LOW\n  at:\n',
      'state:\n  id:\t"41-k3"\t# c\n  fill: 0.5\n  tier: LOW\n  at:\n',
    ],
    [
      'a value over several lines',
      'state:\n  id: "a\n    b"\n  fill: 0.5\n  tier: # c\n    HIGH\n  at:\n',
      'state:\n  id: "41-k3"\n  fill: 0.5\n  tier: # c\n    LOW\n  at:\n',
    ],
    [
      'an indented top',
      '  a: 1\n',
      '  a: 1\n  state:\n    id: "41-k3"\n    fill: 0.5\n    tier: "LOW"\n    at: null\n',
    ],
  ])('%s', (_, before, after) => {
    expect(edit(before)).toBe(after);
    expect(parse(after).state).toMatchObject(values);
    expect(edit(after)).toBe(after);
  });

  it.each<[what: string, text: string, problem: RegExp]>([
    ['an alias as the section', 'x: &x {id: 1}\nstate: *x\n', /alias/],
    ['an anchor others refer to', 'state: {id: &x 7}\ny: *x\n', /without changing the rest/],
    ['a section others refer to', 'state: &s\n  id: 7\ny: *s\n', /without changing the rest/],
    ['a tag', 'state: {id: !!str 7}\n', /state\.id is not a plain value/],
    ['a block text', 'state:\n  id: |\n    a\n', /state\.id is not a plain value/],
    ['a list as a value', 'state:\n  id: [a]\n', /state\.id is not a plain value/],
    ['a list as the section', 'state: [a]\n', /state is not a mapping/],
    ['a text as the section', 'state: a\n', /state is not a mapping/],
    ['a list at the top', '- a\n', /not a mapping/],
    ['a text at the top', 'hello\n', /not a mapping/],
    ['a tab as indentation', 'state:\n\tid: 1\n', /line 2: Tabs/],
    ['a key twice', 'state:\n  id: 1\n  id: 2\n', /line 3: the key id appears twice/],
    ['the section twice', 'state: {}\nstate: {}\n', /line 2: the key state appears twice/],
    ['two documents', 'a: 1\n---\nb: 1\n', /line 2: a second document/],
    ['an ended document', 'a: 1\n...\n', /without changing the rest/],
    ['broken YAML', 'a: "\n', /line \d/],
    ['a merge conflict', '<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n', /line \d/],
    ['an alias without anchor', 'a: *b\n', /line 1/],
    ['brackets without end', `a: ${'['.repeat(100_000)}`, /nested too deeply/],
  ])('is refused for %s', (_, text, problem) => {
    expect(setYamlValues(text, 'state', values)).toEqual({ problem: expect.stringMatching(problem) });
  });

  it.each(['no', '1e5', '', 'a: b', "it's", '"', 'a\nb', '\u2028é\u0000', '2026-02-17T12:34:56Z', '~', '#'])(
    'a text like %j stays a text, whatever the quotes were',
    (id) => {
      for (const old of ['x', "'x'", '"x"', '1', '', 'null']) {
        const text = edit(`state:\n  id: ${old} # c\n`, { id });
        expect(parse(text)).toEqual({ state: { id } });
        expect(parse(text, { version: '1.1' })).toEqual(
          old === 'x' && id.includes('T') ? expect.anything() : { state: { id } },
        );
        expect(text).toMatch(/ # c\n$/);
      }
    },
  );
});
