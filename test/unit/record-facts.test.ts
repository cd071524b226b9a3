import { describe, expect, it } from 'vitest';
import { noUsage, totalUsage } from '../../src/cost/ledger.ts';
import { describeResults } from '../../src/gates/run-baseline.ts';
import {
  blockerFact,
  costFact,
  issueFact,
  noteFact,
  resolvedFact,
  testFact,
} from '../../src/record/fact-builders.ts';
import { locateFile } from '../../src/record/which/file-path.ts';
import { emptyState } from '../../src/state/lists.ts';
import { realRandom } from '../../src/system/clock.ts';
import { cutToEnd } from '../../src/text.ts';
import { maxMicros } from '../../src/units.ts';
import { facts, first, tellStories } from '../support/stories.ts';

const usage = { code: 'USAGE', hint: expect.any(String) };
const microsOf = (amount: string | number) => {
  const fact = costFact(amount);
  return fact.kind === 'cost' ? fact.usage.micros : null;
};

describe('an amount of money', () => {
  it.each<[string | number, number]>([
    ['0', 0],
    ['0.25', 250_000],
    ['$5', 5_000_000],
    ['.5', 500_000],
    [' 5 ', 5_000_000],
    ['1e-3', 1_000],
    [0.1 + 0.2, 300_000],
    ['0.0000001', 0],
    ['0.0000005', 1],
    ['1000000', 1_000_000_000_000],
  ])('%j is %d micro-dollars', (text, micros) => expect(microsOf(text)).toBe(micros));

  it.each([
    '',
    ' ',
    '-5',
    '-0',
    'NaN',
    'Infinity',
    '1e999',
    '1000000.01',
    '1,5',
    '0x10',
    '5 USD',
    '٣',
    Number.NaN,
    -1,
  ])('%j is none', (text) => expect(() => costFact(text)).toThrow(expect.objectContaining(usage)));

  it('adds up to no more than a trailer can hold, and never less', () => {
    const meters = { 's/a': { ...noUsage, micros: maxMicros }, 's/b': { ...noUsage, micros: 1 } };
    expect(totalUsage({ w: { value: { generation: 0, folded: {}, meters } } }).micros).toBe(maxMicros);
  });
});

describe('a text', () => {
  it.each(['', ' \n\t', '\u0001\u200B', '\u202E'])('%j is empty text, and is refused', (text) => {
    expect(() => noteFact(realRandom, text)).toThrow(expect.objectContaining(usage));
    expect(() => blockerFact(realRandom, text)).toThrow(expect.objectContaining(usage));
    expect(() => issueFact(emptyState, text, {})).toThrow(expect.objectContaining(usage));
  });
});

describe('a blocker is resolved', () => {
  const state = tellStories({
    session: first,
    number: 1,
    said: [
      ['10:00', facts.blocker('b-one', 'No access to Staging')],
      ['10:01', facts.blocker('b-two', 'No access to prod')],
      ['10:02', facts.blocker('b-old', 'staging was down', 1)],
    ],
  });
  it.each([
    ['b-one', 'b-one'],
    ['b-t', 'b-two'],
    ['staging', 'b-one'],
    ['to PROD', 'b-two'],
  ])('by %j', (name, id) => expect(resolvedFact(state, name, 5)).toMatchObject({ id, resolvedAt: 5 }));

  it.each(['access', 'b-', 'b-old', 'nobody', '', ' '])('by nothing like %j', (name) => {
    expect(() => resolvedFact(state, name, 5)).toThrow(expect.objectContaining(usage));
  });
});

describe('test results', () => {
  const tests = { status: 'failed', passed: 1, failed: 1, total: 2, failing: ['a'], text: null } as const;
  it('is kept', () => expect(testFact(tests)).toMatchObject({ value: tests }));
  it.each([
    ['failing tests, and none failed', { failed: 0 }],
    ['more named than failed', { failing: ['a', 'b'] }],
    ['more run than there are', { total: 1 }],
  ])('is refused where it contradicts itself: %s', (_, part) => {
    expect(() => testFact({ ...tests, ...part })).toThrow(expect.objectContaining(usage));
  });
});

describe('a path', () => {
  it.each([
    ['a.ts', '/r', 'a.ts'],
    ['a.ts', '/r/src', 'src/a.ts'],
    ['./x/../a.ts', '/r/src', 'src/a.ts'],
    ['../a.ts', '/r/src', 'a.ts'],
    ['/r/src/a.ts', '/r', 'src/a.ts'],
    ['..a', '/r', '..a'],
  ])('%s in %s is %s', (typed, folder, path) => expect(locateFile(typed, folder, '/r')).toBe(path));

  it.each(['', ' ', '.', '..', '../r2/x', '/etc/passwd', '../../../etc/passwd'])(
    '%j is none in here',
    (typed) => {
      expect(() => locateFile(typed, '/r', '/r')).toThrow(expect.objectContaining(usage));
    },
  );
});

describe('gate results', () => {
  const around = { state: emptyState, session: first, tree: null, atStart: false, at: 9 };
  const red = { name: 'test', status: 'failed', durationMs: 1, output: 'x', fixed: false } as const;

  it('keep the end of the output, which names the failure', () => {
    const output = `${'é'.repeat(5_000)}\nTHE REASON`;
    const [gate] = describeResults([{ ...red, output }], around);
    expect(gate).toMatchObject({ kind: 'gate', output: expect.stringMatching(/^…é+\nTHE REASON$/) });
    expect(Buffer.byteLength(cutToEnd(output, 4_096))).toBeLessThanOrEqual(4_096);
    expect(cutToEnd('short', 4_096)).toBe('short');
  });

  it('no longer block once the gate passes or is removed', () => {
    const state = tellStories({
      session: first,
      number: 1,
      said: [
        ['10:00', facts.gate('test', 'failed', 'x')],
        ['10:00', facts.blocker('gate:test', 'gate test fails')],
        ['10:00', facts.gate('gone', 'failed', 'x')],
        ['10:00', facts.blocker('gate:gone', 'gate gone fails')],
        ['10:00', facts.gate('fine', 'passed', 'x')],
      ],
    });
    expect(describeResults([{ ...red, status: 'passed' }], { ...around, state })).toMatchObject([
      { kind: 'gate', name: 'test', status: 'passed' },
      { kind: 'blocker', id: 'gate:test', resolvedAt: 9 },
      { kind: 'gate', name: 'gone', status: 'skipped' },
      { kind: 'blocker', id: 'gate:gone', resolvedAt: 9 },
    ]);
    expect(describeResults([red], { ...around, state })[0]).toMatchObject({ status: 'failed' });
  });
});
