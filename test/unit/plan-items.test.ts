import { describe, expect, it } from 'vitest';
import { expandItems, nameTaskFile, readItems } from '../../src/plan/items.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { keepLastLine, maxValuesBytes, readValues, valueVariables } from '../../src/plan/task/task-values.ts';

const item = ['$', '{ORCH_ITEM}'].join('');
const plan = parsePlan(
  `tasks:
  - { id: a, run: x }
  - { id: t, run: x, foreach: values.L }
  - { id: made, run: x, foreach: values.L, files: ["src/${item}"], artifacts: ["out/${item}"] }
`,
  'p.yaml',
);
const [, list, maker] = plan.tasks;
const expand = (items: readonly unknown[], of = list) => (of ? expandItems(of, items).instances : []);
const idsOf = (items: readonly unknown[]) => expand(items).map(({ id }) => id);

describe('the items of a list', () => {
  it('keep their ids and digests when the list grows, wherever it does', () => {
    const before = new Map(expand(['a', 'b c', 'd']).map(({ id, digest }) => [id, digest]));
    const after = new Map(expand(['new', 'a', 'x', 'b c', 'd', 'y']).map(({ id, digest }) => [id, digest]));
    for (const [id, digest] of before) expect(after.get(id)).toBe(digest);
    expect(after.size).toBe(6);
  });

  it('have ids of their own, whatever they are', () => {
    const odd = ['a', 'a', 'a', 'A b', 'q\'uo"te', 'x\ny', '', '🙂', 'x'.repeat(300), 0, true, { a: 1 }, [1]];
    const ids = idsOf(odd);
    expect(new Set(ids).size).toBe(odd.length);
    expect(ids.slice(0, 3)).toEqual(['t[a]', 't[a#2]', 't[a#3]']);
    for (const id of ids) expect(id).toMatch(/^t\[[A-Za-z0-9._-]{1,40}(#\d+)?\]$/);
    expect(expand([{ b: 2, a: [1] }])[0]?.env.ORCH_ITEM).toBe('{"a":[1],"b":2}');
    const files = ids.map((id) => nameTaskFile(id, '.log'));
    expect(new Set(files).size).toBe(odd.length);
  });

  it('stand in files and artifacts, and lead nowhere outside', () => {
    const [one] = expand(['web/app'], maker);
    expect(one).toMatchObject({ files: ['src/web/app'], artifacts: ['out/web/app'] });
    for (const path of ['../../x', '..', '../.git/config'])
      expect(() => expand([path], maker), path).toThrow(/an item of made gives the artifact/);
  });

  it.each([
    ['["a", {"b": 1}, 2]', ['a', { b: 1 }, 2]],
    ['a\n\n  b  \r\n', ['a', 'b']],
    ['', []],
    ['[]', []],
    [null, 'no task before it has set it'],
    ['[1', 'it starts like a JSON list and is none'],
    ['[null]', 'it has an item that cannot be a variable'],
    ['["a\\u0000"]', 'it has an item that cannot be a variable'],
  ])('are read from %j', (text, expected) => {
    expect(readItems(text)).toEqual(expected);
  });
});

describe('the values a task sets', () => {
  it('are the lines of its file, and then the last line it prints', () => {
    expect(readValues('{"A": "1", "B": "x\\ny"}\n\n{"A": "2"}\n', '{"B": [1], "C": null}')).toEqual({
      values: { A: '2', B: '[1]', C: '' },
    });
  });

  it.each(['{"not a name": 1}', '{"__proto__": 1}', '[1]', '{"A": ', 'done', ''])(
    'are not the last line if it is %j',
    (line) => {
      expect(readValues('', line)).toEqual({ values: {} });
    },
  );

  it('are refused where the file has something else, and where they are too big', () => {
    expect(readValues('{"A": 1}\nnonsense\n', '')).toEqual({
      problem: 'line 2 of its file of values is not a JSON object of values',
    });
    const long = JSON.stringify({ A: 'x'.repeat(maxValuesBytes) });
    expect(readValues(long, '')).toHaveProperty('problem');
    // Programs print long JSON for other reasons too.
    expect(readValues('{"A": 1}', long)).toEqual({ values: { A: '1' } });
  });

  it('are found in the last line that has text, however the output arrives', () => {
    const output = 'building\n{"A": 1}\n{"B": "é"}\n\n  \n';
    for (const size of [1, 2, 3, 7, 100]) {
      const kept = keepLastLine();
      for (let at = 0; at < output.length; at += size) kept.add(output.slice(at, at + size));
      expect(kept.read()).toBe('{"B": "é"}');
    }
  });

  it('fit into the environment of a command', () => {
    expect(valueVariables({ A: 'a\0b\nc' })).toEqual({ ORCH_VALUE_A: 'ab\nc' });
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`V${n}`, 'x'.repeat(30_000)]));
    expect(JSON.stringify(valueVariables(many)).length).toBeLessThan(300_000);
  });
});
