import { describe, expect, it } from 'vitest';
import { findCommand } from '../../src/cli/commands.ts';
import { findWords, parseSimple } from '../../src/cli/spec.ts';

const parse = async (line: string) => {
  const argv = line.split(' ');
  const found = findCommand(findWords(argv));
  const simple = found && parseSimple(argv, found.place, await found.load());
  return simple && { name: found.place.path.join(' '), ...simple.call, ...simple.globals };
};

describe('a plain call', () => {
  it.each([
    [
      'checkpoint create --epic e --reason=a=b',
      { name: 'checkpoint create', options: { epic: 'e', reason: 'a=b' }, json: false },
    ],
    [
      '-C dir --json checkpoint list x -n 5 -q',
      { name: 'checkpoint list', argument: 'x', repo: 'dir', json: true, quiet: true },
    ],
    [
      'checkpoint list --no-color',
      { name: 'checkpoint list', options: { limit: '20', 'no-color': true }, color: false },
    ],
    ['cost -e e', { name: 'cost status', options: { epic: 'e' } }],
    ['cost -e e status', { name: 'cost status', options: { epic: 'e' } }],
    ['checkpoint show 58 -e e', { name: 'checkpoint show', argument: '58', options: { epic: 'e' } }],
  ])('%s', async (line, expected) => {
    expect(await parse(line)).toMatchObject(expected);
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
    'cost e',
    'constructor',
    '--version',
  ])('%j is none: commander reads it', async (line) => {
    expect(await parse(line)).toBeNull();
  });
});
