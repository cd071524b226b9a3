import { describe, expect, it } from 'vitest';
import {
  baselinePassed,
  formatBaselineResult,
  type GateOutcome,
  makeBaselineResult,
} from '../../src/gates/gate.ts';

import { keepTail } from '../../src/redact/output-tail.ts';

const passed: GateOutcome = {
  name: 'test',
  status: 'passed',
  durationMs: 3_234,
  output: 'noise',
  fixed: false,
};
const failed: GateOutcome = { ...passed, name: 'lint', status: 'failed', durationMs: 420 };
const timedOut: GateOutcome = { ...passed, name: 'build', status: 'timed_out', durationMs: 300_020 };
const skipped: GateOutcome = {
  ...passed,
  name: 'e2e',
  status: 'skipped',
  durationMs: 0,
  output: 'interrupted',
};

describe('a baseline', () => {
  it('passes where nothing failed or timed out', () => {
    expect(makeBaselineResult([passed, skipped]).passed).toBe(true);
    expect(makeBaselineResult([]).passed).toBe(true);
    expect(baselinePassed({ gates: [passed, failed] })).toBe(false);
    expect(baselinePassed({ gates: [passed, timedOut] })).toBe(false);
  });

  it('is shown a line a gate, and of a failed one the end of its output', () => {
    const output = Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n\n');
    const text = formatBaselineResult(
      makeBaselineResult([
        passed,
        { ...passed, fixed: true, durationMs: 61_500 },
        { ...failed, output },
        timedOut,
        skipped,
      ]),
    );
    expect(text.split('\n')).toEqual([
      '✓ test 3.2 s',
      '✓ test 1m 1s (after a fix)',
      '✗ lint 0.4 s',
      ...Array.from({ length: 10 }, (_, index) => `    line ${index + 20}`),
      '⧖ build timed out after 5m',
      '– e2e skipped: interrupted',
    ]);
  });

  it('says how to get gates where there are none', () => {
    expect(formatBaselineResult(makeBaselineResult([]))).toContain('`gates:` in .orchestration/config.yaml');
  });
});

describe('the end of an output', () => {
  const asIs = async (text: string) => text;

  it('is clean, bounded, and cut between characters', async () => {
    const tail = keepTail(100);
    tail.add('\u001b[31mred\u001b[0m\0\r\nnext\n');
    expect(await tail.read(asIs)).toBe('red\nnext');
    for (let count = 0; count < 5_000; count++) tail.add('😀');
    expect(await tail.read(asIs)).toMatch(/^…(😀){49}$/u);
    tail.add('x');
    expect(await tail.read(asIs)).toMatch(/^…(😀){49}x$/u);
  });

  it('is cut after what must not be kept is taken out of it, so that half of it is not left', async () => {
    const tail = keepTail(20);
    tail.add(`${'secret'.repeat(5)} the end`);
    expect(await tail.read(async (text) => text.replace(/(secret)+/, '[gone]'))).toBe('[gone] the end');
  });

  it.each(['half-a-token', 'lines\nof a key\n-----END RSA PRIVATE KEY-----'])(
    'does not begin with the rest of something: %#',
    async (rest) => {
      const tail = keepTail(100);
      const end = ' the end';
      // Colours take most of what is kept, so that all of the rest is shown.
      const colours = '\u001b[0m'.repeat(Math.floor((800 - rest.length - end.length) / 4));
      tail.add(`${'x'.repeat(1_000)}${rest}${colours}${end}`);
      expect(await tail.read(asIs)).toBe('… the end');
    },
  );
});
