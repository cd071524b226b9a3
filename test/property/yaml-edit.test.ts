import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { setYamlValues } from '../../src/config/yaml/yaml-edit.ts';

const keys = ['latest_checkpoint_id', 'fill_percentage', 'tier', 'checkpoint_timestamp'] as const;
const word = fc.stringMatching(/^[a-z][a-z0-9]{0,6}$/);
const comment = fc.oneof(
  fc.constant(''),
  fc.string().map((text) => ` # ${text.replace(/[\r\n]/g, '')}`),
);
/** A value as somebody may have spelled it, on one line. */
const spelling = fc.oneof(
  word,
  word.map((text) => `"${text} \\"x\\" # y"`),
  word.map((text) => `'${text} ''x'': {'`),
  fc.constantFrom(
    '',
    '~',
    'null',
    '1',
    '0.50',
    '.5',
    '1e3',
    'true',
    '2026-02-17T12:34:56Z',
    '"é\\n"',
    "''",
    '*anchor',
  ),
);
const values = fc.record({
  latest_checkpoint_id: fc.oneof(word, fc.string()),
  fill_percentage: fc.oneof(
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
  ),
  tier: fc.constantFrom('NOMINAL', 'EMERGENCY', null),
  checkpoint_timestamp: fc.integer({ min: 0, max: 4e12 }).map((at) => new Date(at).toISOString()),
});
/** What stands around: the lines of another part of the file, to be indented. */
const part = fc.tuple(
  comment,
  fc.constantFrom(
    ['{a: 1,  b: [x ,y]}'],
    ['|+', ' text', '', '  # no comment', ''],
    ['>-', ' folded', ' more'],
    ['- one', '-   two: 2', '', '# between'],
    ['"a', '  b"'],
    ['', ' deep:', '   deeper: [ ]', ' # below'],
    ['&other', ' tier: HIGH'],
    [''],
  ),
);

type Field = { readonly key: string; readonly gap: string; readonly old: string; readonly tail: string };
const field = (key: string): fc.Arbitrary<Field> =>
  fc.record({ key: fc.constant(key), gap: fc.constantFrom(' ', '   ', ' \t'), old: spelling, tail: comment });

const file = fc.record({
  bom: fc.boolean(),
  lineEnd: fc.constantFrom('\n', '\r\n'),
  step: fc.constantFrom(' ', '  ', '    '),
  before: fc.array(part, { maxLength: 3 }),
  after: fc.array(part, { maxLength: 3 }),
  head: comment,
  fields: fc.subarray([...keys]).chain((some) => fc.tuple(...some.map(field))),
  others: fc.array(part, { maxLength: 2 }),
  rotate: fc.nat(3),
  hasSection: fc.boolean(),
  endsOpen: fc.boolean(),
});
type File = typeof file extends fc.Arbitrary<infer T> ? T : never;

function nameParts(parts: File['before'], name: string, indent: string): string[] {
  return parts.flatMap(([after, [first = '', ...rest]], index) => {
    const isBlock = first.startsWith('-') || first === '';
    const lines = isBlock
      ? [`${name}${index}:${after}`, first, ...rest]
      : [`${name}${index}: ${first}`, ...rest];
    return lines
      .filter((line, at) => at !== 1 || line !== '' || !isBlock)
      .map((line) => (line === '' ? '' : indent + line));
  });
}

/** The text, and the same with holes where the values of the four keys are. */
function write(shape: File): { text: string; pieces: string[]; missing: string[] } {
  const { step, lineEnd, fields, rotate } = shape;
  const hole = '\u0001';
  // Where there is no value yet, it goes right behind the colon.
  const own = fields.map(({ key, gap, old, tail }) =>
    old === ''
      ? `${step}${key}:${hole}${hole}${gap}${tail}`
      : `${step}${key}:${gap}${hole}${old}${hole}${tail}`,
  );
  const others = nameParts(shape.others, 'other', step);
  const body = rotate % 2 ? [...others, ...own] : [...own, ...others];
  const section = shape.hasSection ? [`resumption:${shape.head}`, ...body] : [];
  const anchored = ['# top', 'anchor: &anchor 7'];
  const lines = [
    ...anchored,
    ...nameParts(shape.before, 'before', ''),
    ...section,
    ...nameParts(shape.after, 'after', ''),
  ];
  const marked = `${shape.bom ? '\uFEFF' : ''}${lines.join(lineEnd)}${shape.endsOpen ? '' : lineEnd}`;
  const there = shape.hasSection ? fields.map(({ key }) => key) : [];
  return {
    text: marked.replaceAll(hole, ''),
    pieces: marked.split(new RegExp(`${hole}[^${hole}]*${hole}`)),
    missing: keys.filter((key) => !there.includes(key)),
  };
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

it('only the four values change, they are read back, and setting them again changes nothing', () => {
  let edited = 0;
  fc.assert(
    fc.property(file, values, (shape, set) => {
      const { text, pieces, missing } = write(shape);
      let before: unknown;
      try {
        before = parse(text);
      } catch {
        // Some of what is put together is no YAML: then it has to stay as it is.
        expect(setYamlValues(text, 'resumption', set)).toHaveProperty('problem');
        return;
      }
      const result = setYamlValues(text, 'resumption', set);
      if ('problem' in result) {
        // Where the last text is open, a line end would become a part of it.
        expect(shape.endsOpen && !shape.hasSection, result.problem).toBe(true);
        return;
      }
      edited += 1;
      const { resumption: old, ...rest } = before as { resumption?: object };
      expect(parse(result.text)).toEqual({ ...rest, resumption: { ...old, ...set } });
      const kept = missing.length === 0 ? result.text : withoutAdded(result.text, missing, shape);
      expect(kept).toMatch(new RegExp(`^${pieces.map(escapePattern).join('[^\\r\\n]*')}$`));
      expect(setYamlValues(result.text, 'resumption', set)).toEqual(result);
    }),
    { numRuns: 200 },
  );
  expect(edited).toBeGreaterThan(140);
});

/** Takes the lines out that had to be added. */
function withoutAdded(
  text: string,
  missing: readonly string[],
  { hasSection, lineEnd, endsOpen }: File,
): string {
  const lines = text.split(lineEnd);
  const section = lines.findIndex((line) => /^\uFEFF?resumption:/.test(line));
  const first = hasSection ? section + 1 : section;
  const count = missing.length + (hasSection ? 0 : 1);
  const gone = lines.splice(first, count);
  expect(gone.slice(hasSection ? 0 : 1).map((line) => line.trim().split(':')[0])).toEqual(missing);
  expect(endsOpen || text.endsWith(lineEnd)).toBe(true);
  return lines.join(lineEnd);
}
