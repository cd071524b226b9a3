import { describe, expect, it } from 'vitest';
import { parseTestOutput } from '../../src/integration/test-output.ts';

const samples: { readonly [runner: string]: readonly [printed: string, expected: object | null] } = {
  vitest: [
    ' FAIL  test/login.test.ts > redirects to /home\n\n Test Files  1 failed | 3 passed (4)\n      Tests  1 failed | 12 passed (13)\n',
    {
      status: 'failed',
      passed: 12,
      failed: 1,
      total: 13,
      failing: ['test/login.test.ts > redirects to /home'],
    },
  ],
  jest: [
    'Tests:       2 failed, 10 passed, 12 total\nSnapshots:   0 total\n',
    { status: 'failed', passed: 10, failed: 2, total: 12 },
  ],
  'jest, all well': [
    'Tests:       10 passed, 10 total\n',
    { status: 'passed', passed: 10, failed: 0, total: 10, failing: [] },
  ],
  pytest: [
    'FAILED tests/test_a.py::test_b - AssertionError: x\n========= 1 failed, 5 passed in 0.12s =========\n',
    { status: 'failed', passed: 5, failed: 1, total: 6, failing: ['tests/test_a.py::test_b'] },
  ],
  'cargo, two crates': [
    'test a::b ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n',
    { status: 'failed', passed: 4, failed: 1, total: 5, failing: ['a::b'] },
  ],
  go: [
    '--- FAIL: TestLogin (0.00s)\nFAIL\nFAIL\texample.com/x\t0.1s\nok  \texample.com/y\t0.2s\n',
    { status: 'failed', passed: 1, failed: 1, failing: ['TestLogin'] },
  ],
  'node --test': [
    'not ok 2 - adds\n# tests 3\n# pass 2\n# fail 1\n',
    { status: 'failed', passed: 2, failed: 1, total: 3, failing: ['adds'] },
  ],
  mocha: ['  12 passing (1s)\n  1 failing\n', { status: 'failed', passed: 12, failed: 1, total: 13 }],
  'in colours': [
    '\u001b[32m      Tests  2 passed (2)\u001b[39m\n',
    { status: 'passed', passed: 2, total: 2 },
  ],
  'a build': ['webpack compiled successfully in 300 ms\n', null],
  'prose about tests': ['All tests passed, I think.\n', null],
  nothing: ['', null],
};

describe('what a test runner printed', () => {
  it.each(Object.entries(samples))('%s', (_, [printed, expected]) => {
    if (expected === null) expect(parseTestOutput(printed)).toBeNull();
    else expect(parseTestOutput(printed)).toMatchObject(expected);
  });

  it('is told from its end, however much came before', () => {
    const flood = 'x'.repeat(5_000_000);
    expect(parseTestOutput(`${flood}\n      Tests  2 passed (2)\n`)).toMatchObject({ passed: 2 });
  });
});
