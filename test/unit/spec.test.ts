import { describe, expect, it } from 'vitest';
import { checkpointGroup } from '../../src/cli/checkpoint.ts';
import { parseSimple } from '../../src/cli/spec.ts';

const parse = (line: string) => {
  const simple = parseSimple(line.split(' '), [checkpointGroup]);
  return simple && { name: simple.command.name, ...simple.call, ...simple.globals };
};

describe('a plain call', () => {
  it.each([
    [
      'checkpoint create --epic e --reason=a=b',
      { name: 'create', options: { epic: 'e', reason: 'a=b' }, json: false },
    ],
    [
      '-C dir --json checkpoint list x -n 5 -q',
      { name: 'list', argument: 'x', repo: 'dir', json: true, quiet: true },
    ],
    [
      'checkpoint list --no-color',
      { name: 'list', options: { limit: '20', 'no-color': true }, color: false },
    ],
    ['checkpoint show 58 -e e', { name: 'show', argument: '58', options: { epic: 'e' } }],
  ])('%s', (line, expected) => {
    expect(parse(line)).toMatchObject(expected);
  });

  it.each([
    '',
    'checkpoint',
    'checkpoint lst',
    'checkpoint create extra',
    'checkpoint create --epic',
    'checkpoint create --epic -x',
    'checkpoint create -ex',
    'checkpoint create --unknown',
    'checkpoint create --json=yes',
    'checkpoint --epic e create',
    'checkpoint show --help',
    'checkpoint show -- 58',
    'checkpoint list a b',
    '--version',
  ])('%j is none: commander reads it', (line) => {
    expect(parse(line)).toBeNull();
  });
});
