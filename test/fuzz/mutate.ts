import { growTree, hostileStrings, mutateTree, writeTree } from './json-tree.ts';
import type { Random } from './random.ts';

/** What an input is by its nature, so that a mutation can keep to it. */
export type Form = 'json' | 'lines' | 'yaml' | 'text' | 'bytes';

/** The most an input has. */
export const maxInput = 1024 * 1024;

/** A new input, made of a sample and another one that parts are taken from. */
export function mutate(form: Form, sample: Buffer, donor: Buffer, random: Random): Buffer {
  const mutated = random.chance(0.25)
    ? mutateBytes(sample, donor, random)
    : mutateByForm(form, sample, donor, random);
  const again = random.chance(0.08) ? mutateBytes(mutated, donor, random) : mutated;
  return again.subarray(0, maxInput);
}

function mutateByForm(form: Form, sample: Buffer, donor: Buffer, random: Random): Buffer {
  if (form === 'json') return Buffer.from(mutateJson(sample.toString(), donor.toString(), random));
  if (form === 'bytes') return mutateBytes(sample, donor, random);
  const isJson = form === 'lines';
  return Buffer.from(mutateLines(sample.toString(), donor.toString(), random, isJson), 'utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

export function mutateJson(sample: string, donor: string, random: Random): string {
  return writeTree(mutateTree(growTree(parse(sample)), random, growTree(parse(donor))));
}

const bytesToPut = [
  Buffer.from([0]),
  Buffer.from([0xff]),
  Buffer.from([0xc3]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xef, 0xbb, 0xbf]),
  Buffer.from('\r\n'),
  Buffer.from('\n\n'),
  Buffer.from('\u2028'),
  Buffer.from('"'),
  Buffer.from('\\'),
  Buffer.from('{'),
  Buffer.from(']'),
  Buffer.from('1e999'),
  Buffer.from('-0'),
];

export function mutateBytes(sample: Buffer, donor: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(sample);
  for (let left = 1 + random.int(4); left > 0; left--) {
    const at = random.int(bytes.length + 1);
    const length = random.int(random.pick([2, 8, 64, 1_024]));
    const join = (put: Uint8Array, gone = 0) =>
      Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + gone)]);
    switch (random.int(8)) {
      case 0:
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(8));
        break;
      case 1:
        if (at < bytes.length) bytes[at] = random.int(256);
        break;
      case 2:
        bytes = bytes.subarray(0, at);
        break;
      case 3:
        bytes = join(Buffer.alloc(0), length);
        break;
      case 4:
        bytes = join(random.pick(bytesToPut));
        break;
      case 5: {
        const from = random.int(donor.length + 1);
        bytes = join(donor.subarray(from, from + length), random.int(2) * length);
        break;
      }
      case 6: {
        const times = random.pick([1, 2, 20]);
        bytes = join(Buffer.concat(new Array<Buffer>(times).fill(bytes.subarray(at, at + length))));
        break;
      }
      default: {
        // Rarely something really long: what takes its square, or every ending of it, is seen then.
        const unit = random.chance(0.3)
          ? bytes.subarray(at, at + 1 + random.int(6))
          : random.pick(bytesToPut);
        const size = random.chance(0.03) ? random.pick([200_000, 200_000, 900_000]) : 500;
        bytes = join(Buffer.alloc(size, unit.length > 0 ? unit : Buffer.from(' ')));
      }
    }
    bytes = bytes.subarray(0, maxInput);
  }
  return Buffer.from(bytes);
}

const lineParts = [
  '# c',
  '- ',
  '? ',
  ': ',
  ':',
  '&a ',
  '*a',
  '!!str ',
  '!!binary ',
  '!x ',
  '<<: *a',
  '<<: {a: 1}',
  '|',
  '>-',
  '"',
  "'",
  '{',
  '}',
  '[',
  ']',
  ', ',
  '---',
  '...',
  '%YAML 1.1',
  '\t',
  '  ',
  '~',
  '1e999',
  '-.inf',
  '.nan',
  '0o777',
  '2026-11-16',
  '=',
  '"""',
  "'''",
  '[[a.b]]',
  'a.b = 1',
  '__proto__: {x: 1}',
  'constructor: 1',
  '{toString: 1, valueOf: 1}',
  'a: &a [*a]',
  'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d]',
  '['.repeat(100),
  '{a: '.repeat(3_000),
  '- '.repeat(500),
  '\uFEFF',
  '\u0085',
  '\u2028',
];

/** Changes lines as lines: of YAML, TOML, text, or of JSON where each is a value of its own. */
function mutateLines(sample: string, donor: string, random: Random, isJson: boolean): string {
  let lines = sample.split('\n');
  const others = donor.split('\n');
  for (let left = 1 + random.int(4); left > 0; left--) {
    const at = random.int(lines.length);
    const line = lines[at] ?? '';
    if (isJson && random.chance(0.7)) {
      lines[at] = mutateJson(line, random.pick(others), random);
      continue;
    }
    switch (random.int(9)) {
      case 0:
        lines.splice(at, 1 + random.int(3));
        break;
      case 1:
        lines.splice(at, 0, line);
        break;
      case 2: {
        const from = random.int(others.length);
        lines.splice(at, random.int(2), ...others.slice(from, from + 1 + random.int(5)));
        break;
      }
      case 3:
        lines[at] = ' '.repeat(random.int(6)) + line.trimStart();
        break;
      case 4: {
        const place = random.int(line.length + 1);
        const put = random.chance(0.7) ? random.pick(lineParts) : random.pick(hostileStrings);
        lines[at] = line.slice(0, place) + put + line.slice(place);
        break;
      }
      case 5:
        // The value behind a key: what is set, not where.
        lines[at] = line.replace(/([:=]\s*).*$/, (_, colon: string) => {
          return (
            colon +
            (random.chance(0.5) ? random.pick(lineParts) : JSON.stringify(random.pick(hostileStrings)))
          );
        });
        break;
      case 6: {
        const other = random.int(lines.length);
        [lines[at], lines[other]] = [lines[other] ?? '', line];
        break;
      }
      case 7:
        lines.splice(at, 0, ...new Array<string>(random.pick([2, 20, 200])).fill(line));
        break;
      default:
        lines = lines
          .join('\n')
          .replaceAll('\n', random.pick(['\r\n', '\n', '\r']))
          .split('\n');
    }
    if (lines.length === 0) lines = [''];
  }
  return lines.join('\n');
}
